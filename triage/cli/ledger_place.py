"""--ledger: where the journal of mitigations lies, and how a command ends when it cannot be used."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from triage.ledger.book import Mitigation
    from triage.ledger.evidence import Evidence

F = TypeVar("F", bound=Callable[..., Any])
DRIFT_OR_VOID = 4
WRONG = 2


def evidence_options(command: F) -> F:
    """[PATH…] and how they are to be read, and the store that is asked where no path is given."""
    from triage.cli.options import input_options
    from triage.cli.recording import store_option

    decorated = store_option(input_options(command))
    for parameter in decorated.__click_params__:  # type: ignore[attr-defined]
        if parameter.name == "paths":
            parameter.required, parameter.metavar = False, "[PATH]..."
    return decorated


def evidence(paths: tuple[str, ...], store: str | None, given: dict[str, Any]) -> tuple[Evidence, Any]:
    """What a ledger is held against, from the logs given or else from the history; and what was read, for the exit code."""
    return _read(paths, given) if paths else (_remembered(store, given), None)


def _read(paths: tuple[str, ...], given: dict[str, Any]) -> tuple[Evidence, Any]:
    from triage.cli.options import gathered, knowledge, warn
    from triage.ledger.evidence import evidence_of
    from triage.ledger.idleness import idle
    from triage.pipeline import judged

    known = knowledge(given["rules"])
    read = gathered(paths, known, **given)
    findings = judged(read, known, since=given["since"], until=given["until"])
    warn(findings)
    return evidence_of(findings, idle=idle(read.readings, findings.boots), since=given["since"], until=given["until"]), findings


def _remembered(store: str | None, given: dict[str, Any]) -> Evidence:
    from triage.cli.recording import opened
    from triage.ledger.remembered import remembered

    with opened(store) as kept:
        return remembered(kept.db, since=given["since"], until=given["until"])


def ledger_option(command: F) -> F:
    """--ledger, also as TRIAGE_LEDGER."""
    shown = "The journal of mitigations (default: ledger.jsonl beside the history)."
    return click.option("--ledger", "journal", metavar="FILE", envvar="TRIAGE_LEDGER", help=shown)(command)


def journal_path(journal: str | None, store: str | None = None) -> Path:
    """Where the journal lies: as named, else beside the history."""
    from triage.cli.recording import path_of
    from triage.ledger.journal import default_journal

    return Path(journal) if journal else default_journal(path_of(store))


@contextlib.contextmanager
def journalled() -> Iterator[None]:
    """Exits with a word where a journal cannot be used: with 4 where its past is not as it was written, with 2 where it cannot be had."""
    from triage.ledger.journal import JournalError, RefusedError

    try:
        yield
    except JournalError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(WRONG if isinstance(error, RefusedError) else DRIFT_OR_VOID) from error


def all_of(path: Path, *, until: float | None = None) -> list[Mitigation]:
    """Every mitigation of a journal, as it stood at a time; exits with 4 where it cannot be trusted."""
    from triage.ledger.book import mitigations
    from triage.ledger.journal import read

    with journalled():
        return mitigations([record for record in read(path) if until is None or record.at <= until])


def one_of(path: Path, name: str) -> Mitigation:
    """The mitigation of that name (or its first letters); exits with 2 and the names there are."""
    from triage.ledger.book import one
    from triage.report.words import clean

    known = all_of(path)
    found = one(known, name)
    if found is None:
        names = ", ".join(m.name for m in known) or "none was registered"
        click.echo(f"triage: no mitigation {clean(name)!r} in {path}: {names}", err=True)
        raise SystemExit(WRONG)
    return found
