"""What a recording run says of the ledger: refutations, each once, and where every mitigation stands as metrics."""

from __future__ import annotations

import os
from typing import Any

import click

from triage.cli.ledger_place import journal_path


def held_against(history: Any, journal: str | None, store: str | None, *, note: bool) -> tuple[list[str], list[Any]]:
    """The refutations that no run has told yet, in words, and the metrics of the ledger; nothing where there is no journal.

    With `note` each is written into the journal, so that it is told once and outlives the logs. A journal that cannot be trusted is a warning
    and a metric: the run goes on.
    """
    path = journal_path(journal, store)
    if not any(os.path.exists(each) for each in (path, f"{path}.head")):  # a journal that was taken away leaves its head
        return [], []
    from triage.ledger.book import mitigations
    from triage.ledger.journal import JournalError, read
    from triage.ledger.metrics import metrics
    from triage.ledger.remembered import remembered
    from triage.ledger.standing import standings

    try:
        found = standings(mitigations(read(path)), remembered(history.db))
    except JournalError as error:
        click.echo(f"triage: {error}", err=True)
        return [], metrics([], intact=False)
    fresh = _fresh(found) if note else []
    try:
        _noted(path, fresh)
    except JournalError as error:
        click.echo(f"triage: {error}", err=True)
    return _lines(fresh, journal), metrics(found, intact=True)


def _fresh(found: list[Any]) -> list[Any]:
    """Those that are refuted by an incident that the journal does not name yet."""
    return [s for s in found if s.refuted_by is not None and s.refuted_by.id not in {w.incident for w in s.mitigation.words if w.said == "refuted"}]


def _noted(path: Any, fresh: list[Any]) -> None:
    from triage.ledger.journal import append

    for standing in fresh:
        death = standing.refuted_by
        append(path, "mitigation.refuted", standing.name, {"incident": death.id, "since": death.at, "reason": death.fault_class})


def _lines(fresh: list[Any], journal: str | None) -> list[str]:
    from triage.report.ledger import refutation
    from triage.report.words import clean

    return [refutation(standing, f" --ledger {clean(journal)}" if journal else "") for standing in fresh]
