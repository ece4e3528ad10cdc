"""`triage rate`: how often each class comes."""

from __future__ import annotations

from typing import Any

import click

from triage.cli.ledger_place import evidence, evidence_options
from triage.cli.options import finish
from triage.cli.writing import emit


@click.command()
@evidence_options
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
def rate(paths: tuple[str, ...], form: str, store: str | None, **given: Any) -> None:
    """Say how often each class comes, by logs or by the history: exact intervals, clustering, trend, and what quiet would tell.

    \b
    Examples:
      triage rate logs/
      triage rate --since 30d               # by the history
    """
    from triage.ledger.frequency import frequencies
    from triage.report.rate import as_json, rate_table

    seen, findings = evidence(paths, store, given)
    found = frequencies(seen)
    emit(as_json(found, seen) if form == "json" else rate_table(found, seen, style="github" if form == "markdown" else "simple"), None)
    if findings is not None:
        finish(findings)
