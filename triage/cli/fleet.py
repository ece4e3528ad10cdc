"""`triage fleet`: what many hosts have exported, compared."""

from __future__ import annotations

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, tell
from triage.cli.values import Moment, OutputFile
from triage.cli.writing import emit

BY = ("host", "driver", "engine", "version")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="DIR_OR_URL...")
@click.option("--by", multiple=True, type=click.Choice(BY), help="Count by this instead; may be given several times.")
@click.option("--class", "only", multiple=True, metavar="CLASS", help="Only incidents of this class; may be given several times.")
@click.option("--since", type=Moment(), help="Only what happened at or after this time: 30d, 2026-11-12.")
@click.option("--until", type=Moment(), help="Only what happened at or before this time.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "csv", "json", "jsonl"]), default="table", show_default=True,
              help="How to print the answer; csv and jsonl have one row a class, host, driver, engine and version.")  # fmt: skip
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout.")
def fleet(paths: tuple[str, ...], by: tuple[str, ...], only: tuple[str, ...], since: float | None, until: float | None, form: str,
          output: str | None) -> None:  # fmt: skip
    """Count the incidents of many hosts, and say which hosts carry more of a class than chance gives them.

    Reads what `triage history export --parquet DIR` wrote on each host: below a folder, or an address (s3://, https://).

    \b
    Examples:
      triage fleet /srv/triage
      triage fleet s3://ops/triage --since 30d --by driver --by version
      triage fleet /srv/triage --format json | jq '.classes[] | select(.stands_out)'
    """
    from triage.fleet import FleetError, load
    from triage.fleet.carriers import carriers
    from triage.report import fleet as report

    try:
        found = load(paths, since=since, until=until, classes=only)
    except FleetError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error
    tell(found.problems)
    if form == "json":
        emit(report.document(found, carriers(found)), output)
    elif form in ("csv", "jsonl"):
        emit(report.as_csv(found) if form == "csv" else report.as_jsonl(found), output)
    else:
        emit(report.text(found, carriers(found), by, style="github" if form == "markdown" else "simple"), output)
    if any(problem.lost for problem in found.problems):
        raise SystemExit(PARTLY_READ)
