"""`triage history`: the memory, and what people may say to it."""

from __future__ import annotations

import time
from typing import Any

import click

from triage.cli.options import knowledge
from triage.cli.recording import one_of, opened, store_option
from triage.cli.values import Moment, OutputFile, check_names
from triage.cli.writing import emit

REASON = click.option("--reason", required=True, help="Why; kept with the incident.")


@click.group()
def history() -> None:
    """Ask the history what was recorded, correct it, and hand it out.

    \b
    Examples:
      triage history list --since 30d
      triage history show 3fa2b1c0
      triage history dismiss 3fa2b1c0 --reason 'load test'
      triage history sql 'SELECT class, count(*) FROM crashes GROUP BY class'
    """


def _span(command: Any) -> Any:
    command = click.option("--until", type=Moment(), help="Only what happened at or before this time.")(command)
    return click.option("--since", type=Moment(), help="Only what happened at or after this time: 30d, 2026-11-12.")(command)


@history.command("list")
@_span
@click.option("--all", "every", is_flag=True, help="Also what was dismissed.")
@click.option("--class", "only", multiple=True, metavar="CLASS", help="Only incidents of this class; may be given several times.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json", "jsonl", "csv"]), default="table", show_default=True)
@store_option
def list_(since: float | None, until: float | None, every: bool, only: tuple[str, ...], form: str, store: str | None) -> None:
    """List the incidents on record, oldest first."""
    from triage.history.query import entries
    from triage.report import document
    from triage.report.history import findings_of, listed

    with opened(store) as kept:
        found = entries(kept.db, since=since, until=until, dismissed=every)
        if only:
            check_names(only, {*knowledge(()).classes, *(e.fault_class for e in found)}, "--class")
            found = [e for e in found if e.fault_class in only]
    if form in ("table", "markdown"):
        emit(listed(found, style="github" if form == "markdown" else "simple"), None)
    else:
        writers = {"json": document.as_json, "jsonl": document.as_jsonl, "csv": document.as_csv}
        emit(writers[form](findings_of(found)), None)


@history.command()
@click.argument("incident")
@store_option
def show(incident: str, store: str | None) -> None:
    """Show one incident with the lines that were kept of it and all that was said of it.

    INCIDENT is an id, its first digits, or an id that it had before more of its log was read.
    """
    from triage.history.query import labels_of
    from triage.report.history import shown

    with opened(store) as kept:
        entry = one_of(kept, incident)
        emit(shown(entry, labels_of(kept.db, entry.number)), None)


@history.command("counts")
@click.pass_context
@_span
@click.option("--by", type=click.Choice(["day", "week", "host", "engine", "boot", "version"]), help="Count separately by this.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True)
@store_option
def counts_(ctx: click.Context, **given: Any) -> None:
    """Count the incidents on record by class: the same as `triage counts`."""
    from triage.cli.counts import counts

    ctx.invoke(counts, **given)


@history.command()
@click.argument("statement")
@click.option("--format", "form", type=click.Choice(["table", "csv", "jsonl"]), default="table", show_default=True)
@store_option
def sql(statement: str, form: str, store: str | None) -> None:
    """Ask the store in SQL; nothing can be changed that way. docs/history.md explains the tables."""
    from triage.history.export import SqlError, as_csv, as_jsonl, ask
    from triage.report.inert import escaped
    from triage.report.words import clean

    with opened(store) as kept:
        try:
            rows = ask(kept.db, statement)
        except SqlError as error:
            raise click.UsageError(f"SQLite says: {error}") from error
    if form == "table":
        from tabulate import tabulate

        emit(tabulate([[clean(str(v), 120) if v is not None else "-" for v in row] for row in rows[1]], rows[0], disable_numparse=True), None)
    else:
        emit(as_csv(rows) if form == "csv" else escaped("\n".join(as_jsonl(rows))), None)


@history.command()
@click.option("--format", "form", type=click.Choice(["csv", "jsonl", "parquet"]), default="csv", show_default=True)
@click.option("--table", "name", type=click.Choice(["incidents", "evidence", "boots", "outages", "dumps", "labels", "coverage", "runs"]),
              default="incidents", show_default=True)  # fmt: skip
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout; needed for parquet.")
@click.option("--parquet", "folder", metavar="DIR", type=click.Path(file_okay=False), help="Write what `triage fleet` reads below this folder.")
@click.option("--host", default="", metavar="NAME", help="With --parquet: what this host is called (default: its own name).")
@store_option
def export(form: str, name: str, output: str | None, folder: str | None, host: str, store: str | None) -> None:
    """Hand out a table of the history as CSV, JSON lines or Parquet, or this host's part of a fleet.

    \b
    Examples:
      triage history export > incidents.csv
      triage history export --parquet /srv/triage && aws s3 sync /srv/triage s3://ops/triage
    """
    if folder is not None:
        _export_fleet(folder, host, store)
        return
    from triage.history.export import as_csv, as_jsonl, as_parquet, table, types
    from triage.report.inert import escaped
    from triage.report.writing import write_whole

    if form == "parquet" and not output:
        raise click.UsageError("parquet is no text: give a file with --output")
    with opened(store) as kept:
        rows, declared = table(kept.db, name), types(kept.db, name)
    if form != "parquet":
        emit(as_csv(rows) if form == "csv" else escaped("\n".join(as_jsonl(rows))), output)
        return
    try:
        write_whole(output or "", as_parquet(rows, declared))
    except ModuleNotFoundError as error:
        raise click.UsageError("parquet needs duckdb: pip install 'crash-triage[fleet]'") from error


def _export_fleet(folder: str, host: str, store: str | None) -> None:
    import os
    import socket

    from triage import __version__
    from triage.history import fleet
    from triage.report.words import clean
    from triage.report.writing import write_whole

    host = host or socket.gethostname()
    below = os.path.join(folder, fleet.folder_of(host))
    try:
        with opened(store) as kept:
            made = list(fleet.files(kept.db, host, triage=__version__, rules=knowledge(()).version, at=time.time()))
        os.makedirs(below, exist_ok=True)
        for name, content in reversed(made):  # `about` comes last: who finds it finds the others
            write_whole(os.path.join(below, name), content)
    except ModuleNotFoundError as error:
        raise click.UsageError("parquet needs duckdb: pip install 'crash-triage[fleet]'") from error
    except OSError as error:
        click.echo(f"triage: {clean(below)}: cannot be written: {error.strerror or error}", err=True)
        raise SystemExit(2) from error
    click.echo(f"{clean(below)}: {len(made)} files")


@history.command()
@click.argument("incident")
@click.argument("fault_class", metavar="CLASS")
@REASON
@store_option
def relabel(incident: str, fault_class: str, reason: str, store: str | None) -> None:
    """Say that an incident is of another CLASS; that holds whatever rules or later readings say."""
    from triage.history import labels

    known = knowledge(()).classes.get(fault_class)
    if known is None:
        raise click.UsageError(f"no class {fault_class!r}: {', '.join(sorted(knowledge(()).classes))}")
    with opened(store, write=True) as kept, kept.transaction() as db:
        entry = one_of(kept, incident)
        labels.relabel(db, entry, fault_class=known.id, family=known.family, fault=known.fault, reason=reason, at=time.time())
    click.echo(f"{entry.id} is {known.id} now; the rules said {entry.judged}")


@history.command()
@click.argument("incident")
@REASON
@click.option("--undo", is_flag=True, help="Let a dismissed incident count again.")
@store_option
def dismiss(incident: str, reason: str, undo: bool, store: str | None) -> None:
    """Say that an incident does not count: a load test, a false alarm."""
    from triage.history import labels

    with opened(store, write=True) as kept, kept.transaction() as db:
        entry = one_of(kept, incident)
        (labels.restore if undo else labels.dismiss)(db, entry, reason=reason, at=time.time())
    click.echo(f"{entry.id} ({entry.fault_class}) {'counts again' if undo else 'is dismissed'}")


@history.command()
@click.argument("incident", required=False)
@click.option("--before", type=Moment(), help="Everything older than this, evidence too: 400d, 2026-01-01.")
@click.option("--reason", default="", help="Why; kept.")
@store_option
def forget(incident: str | None, before: float | None, reason: str, store: str | None) -> None:
    """Remove an incident for good, or everything before a time."""
    from triage.history import labels

    if (incident is None) == (before is None):
        raise click.UsageError("give an incident, or --before a time")
    with opened(store, write=True) as kept, kept.transaction() as db:
        if incident is not None:
            entry = one_of(kept, incident)
            labels.forget(db, entry, reason=reason, at=time.time())
            said = f"{entry.id} ({entry.fault_class}) is forgotten"
        else:
            gone = labels.forget_before(db, before or 0.0)
            said = f"{gone} incident{'' if gone == 1 else 's'} and all evidence of that time are forgotten"
    click.echo(said)


@history.command()
@click.option("--rules", multiple=True, type=click.Path(file_okay=False), help="A folder of rules to add; may override.")
@click.option("--dry-run", is_flag=True, help="Show what would change and change nothing.")
@store_option
def rejudge(rules: tuple[str, ...], dry_run: bool, store: str | None) -> None:
    """Judge everything on record again, by the present rules, from the lines that were kept; show what changed."""
    from triage.rejudging import rejudge as judge_again

    with opened(store, write=True) as kept:
        changed = judge_again(kept, knowledge(rules), dry_run=dry_run)
    for change in changed:
        click.echo(f"{change.id}  {change.before or '(none)'} -> {change.now or '(none)'}")
    if not changed:
        click.echo("nothing changed")
