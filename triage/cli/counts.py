"""`triage counts`: how often each class came, from the history."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from triage.cli.recording import opened, store_option
from triage.cli.values import Moment
from triage.cli.writing import emit

if TYPE_CHECKING:
    from triage.model import Findings


@click.command()
@click.option("--since", type=Moment(), help="Only what happened at or after this time: 30d, 2026-11-12.")
@click.option("--until", type=Moment(), help="Only what happened at or before this time.")
@click.option("--by", type=click.Choice(["day", "week", "host", "engine", "boot", "version"]), help="Count separately by this.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@store_option
def counts(since: float | None, until: float | None, by: str | None, form: str, store: str | None) -> None:
    """Count the incidents on record by class, with the outages and probes they were seen by and the time that nobody saw.

    \b
    Examples:
      triage counts --since 30d --by week
      triage counts --since 2026-11-12 --until 2026-11-29
    """
    from triage.history import query
    from triage.report import document, table
    from triage.report.history import findings_of, heading

    with opened(store) as kept:
        found = findings_of(
            query.entries(kept.db, since=since, until=until),
            boots=tuple(query.boots(kept.db, since=since, until=until)),
            outages=tuple(query.outages(kept.db, since=since, until=until)),
            sources=tuple(query.sources(kept.db)),
            coverage=query.covered(kept.db, since=since, until=until),
        )
    if form == "json":
        emit(document.as_json(found, by or ""), None)
    else:
        style = "github" if form == "markdown" else "simple"
        emit(table.text_table(found, by or "", style=style, heading=heading(found), more="triage history show ID"), None)
        if form == "table" and (drawn := _drawn(found)):
            emit(f"\n{drawn}", None)


def _drawn(found: Findings) -> str:
    """The raster, on a terminal that is wide enough and can show it."""
    from triage.report.fitting import columns
    from triage.report.sparks import BARS, WIDE, sparks

    if not sys.stdout.isatty() or columns() < WIDE:
        return ""
    with contextlib.suppress(UnicodeEncodeError, LookupError):
        BARS.encode(sys.stdout.encoding)
        return sparks(found, columns())
    return ""
