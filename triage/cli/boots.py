"""`triage boots`: the lives of the engines, and what they really booted with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click

from triage.cli.options import PARTLY_READ, finish, gathered, input_options, knowledge, read, warn
from triage.cli.recording import WAIT, recorded, store_option
from triage.cli.writing import emit


class Listing(click.Group):
    """A group that lists where no command of it is named: `triage boots PATH` is `triage boots list PATH`."""

    standard = "list"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [self.standard, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Listing)
def boots() -> None:
    """List every boot, or keep what an engine booted with before its log is rotated away.

    \b
    Examples:
      triage boots vllm.log                 # the same as: triage boots list vllm.log
      docker logs -t --since 1h vllm 2>&1 | triage boots capture - --source vllm@gpu7
    """


@boots.command("list")
@input_options
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
def list_(paths: tuple[str, ...], form: str, **given: Any) -> None:
    """List every boot: start, ready, end, how it ended, and what separates it from the one before."""
    findings = read(paths, **given)
    emit(_rendered(findings, form), None)
    finish(findings)


@boots.command()
@input_options
@store_option
@click.option("--source", default="", metavar="NAME", help="What the log is called in the history: needed for pipes.")
@click.option("--environ", type=click.File("rb"), metavar="FILE", help="/proc/PID/environ of the engine.")
@click.option("--inspect", type=click.File("rb"), metavar="FILE", help="What `docker inspect NAME` printed.")
@click.option("--wait", type=click.FloatRange(min=0), default=WAIT, show_default=True, metavar="SECONDS", help="How long to wait for another run.")
@click.option("--quiet", "-q", is_flag=True, help="Say nothing.")
def capture(paths: tuple[str, ...], store: str | None, source: str, environ: Any, inspect: Any, wait: float, quiet: bool, **given: Any) -> None:
    """Record the boots of a log with their configuration, and with the engine's environment and container where they are given.

    Values whose names look like secrets are not kept.
    """
    known = knowledge(given["rules"])
    facts, started = _facts(environ, inspect)
    kept: dict[str, Any] = {}

    def evidence() -> Any:
        kept["read"] = gathered(paths, known, **given)
        warn(kept["read"], quiet=quiet)
        return kept["read"]

    recorded(evidence, known, lambda _news, _findings: (), store=store, wait=wait, source=source, new=True)
    said = _captured(store, facts, started)
    if not quiet:
        emit(said, None)
    finish(kept["read"])


def _facts(environ: Any, inspect: Any) -> tuple[dict[str, str], float | None]:
    """What was told beside the log, and when the container was started."""
    from triage.history import capture as capturing

    facts = capturing.environ(environ.read()) if environ else {}
    if inspect is None:
        return facts, None
    try:
        facts |= capturing.inspected(inspect.read())
    except ValueError as error:
        raise click.UsageError(f"--inspect: {error}") from error
    began = facts.get("StartedAt", "")[:19]
    try:
        return facts, datetime.fromisoformat(began).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return facts, None


def _captured(store: str | None, facts: dict[str, str], started: float | None) -> str:
    from triage.cli.recording import opened
    from triage.history.capture import capture as keep
    from triage.report.words import number

    with opened(store, write=True) as history, history.transaction() as db:
        boot = keep(db, None, facts, started) if facts else ""
        count = db.execute("SELECT count(*) FROM boots").fetchone()[0]
    if facts and not boot:
        click.echo("triage: no boot on record began when the container did: nothing was added to any", err=True)
        raise SystemExit(PARTLY_READ)
    return f"{number(count, 'boot')} on record" + (f"; {number(len(facts), 'fact')} added to {boot}" if boot else "")


def _rendered(findings: Any, form: str) -> str:
    if form == "json":
        from triage.report.document import boot
        from triage.report.inert import as_json

        return as_json([boot(b) for b in findings.boots])
    from triage.report.lists import boots_table

    return boots_table(findings, style="github" if form == "markdown" else "simple")
