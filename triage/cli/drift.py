"""`triage drift`: what was asked for against what was booted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, finish, gathered, input_options, knowledge, warn
from triage.cli.values import OutputFile
from triage.cli.writing import emit, refuse_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from triage.knowledge.load import Knowledge
    from triage.ledger.drift.read import Asked
    from triage.model import Boot, Findings
    from triage.report.drift import Compared

DRIFTED = 4
INCONCLUSIVE = 5
EXISTING = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("asked", metavar="ASKED")
@input_options
@click.option("--override", "overrides", multiple=True, type=EXISTING, metavar="FILE", help="A file laid over ASKED, in order: compose, drop-ins.")
@click.option("--env-file", "env_files", multiple=True, type=EXISTING, metavar="FILE", help="Variables for ${...} in a compose file (default: .env).")
@click.option("--service", default="", metavar="NAME", help="Which service, container or unit, where several start an engine.")
@click.option("--environ", type=click.File("rb"), metavar="FILE", help="/proc/PID/environ of the engine in the last boot: what it really had.")
@click.option("--boot", default="last", show_default=True, metavar="last|all|ID", help="Which boots to compare with.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True, help="How to print it.")
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout.")
def drift(asked: str, paths: tuple[str, ...], overrides: tuple[str, ...], env_files: tuple[str, ...], service: str, environ: Any, boot: str,
          form: str, output: str | None, **given: Any) -> None:  # fmt: skip
    """Compare what was asked for with what an engine booted with, by its own log.

    ASKED is a compose file, a Kubernetes manifest, a systemd unit (its drop-ins are found), a script, a command line in quotes, what
    `docker inspect` printed, or a copy of /proc/PID/environ or cmdline. PATH are the logs. Values of secrets are never shown.

    \b
    Examples:
      triage drift compose.yaml logs/
      triage drift compose.yaml --override compose.prod.yaml --service vllm --boot all logs/
      triage drift /etc/systemd/system/vllm.service vllm.log
      docker inspect vllm | triage drift - logs/
      triage drift 'vllm serve acme/oak-8b -tp 8' logs/

    \b
    Exit codes: 0 no drift, 4 drift, 5 nothing could be compared,
    2 nothing readable or wrong usage, 3 part of the input could not be read.
    """
    from triage.report.drift import drift_document, drift_table, drift_text

    known = knowledge(given["rules"])
    told = _asked(asked, overrides, env_files, service, known, paths)
    refuse_input(output, paths)
    evidence = gathered(paths, known, **given)
    warn(evidence)
    from triage.pipeline import judged

    findings = judged(evidence, known, since=given["since"], until=given["until"])
    compared = _compared(told, findings, boot, environ, known)
    if form == "json":
        import orjson

        emit(orjson.dumps(drift_document(told, _name(asked), compared), option=orjson.OPT_INDENT_2).decode(), output)
    else:
        emit(drift_table(compared) if form == "markdown" else drift_text(told, _name(asked), compared, len(findings.boots)), output)
    _leave(compared)
    finish(evidence)


def _asked(
    asked: str, overrides: tuple[str, ...], env_files: tuple[str, ...], service: str, known: Knowledge, paths: tuple[str, ...]
) -> Asked:
    """What was asked for; exits with 2 and a word that names file and line where it cannot be read."""
    from pathlib import Path

    from triage.ledger.drift.asked import AskedError
    from triage.ledger.drift.read import Source, asked_of
    from triage.report.words import clean

    if asked == "-" and "-" in paths:
        raise click.UsageError("stdin can be what was asked for or a log, not both")
    source = Source(content=_content(asked), file=_name(asked), overrides=tuple(map(Path, overrides)), env_files=tuple(map(Path, env_files)))
    try:
        return asked_of(source, known.flags, service)
    except AskedError as error:
        click.echo(f"triage: {clean(str(error))}", err=True)
        raise SystemExit(NOTHING_READ) from error


def _is_command(asked: str) -> bool:
    """Whether the words are a command line themselves, and no file."""
    import os

    return asked != "-" and " " in asked.strip() and not os.path.exists(asked)


def _name(asked: str) -> str:
    """What the output calls it: a command line is not shown again, since it may hold keys."""
    return "command" if _is_command(asked) else asked


def _content(asked: str) -> bytes:
    import sys

    from triage.ledger.drift.read import LARGEST

    if _is_command(asked):
        return asked.encode(errors="surrogateescape")
    if asked == "-":
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with open(asked, "rb") as file:
            return file.read(LARGEST + 1)
    except OSError as error:
        click.echo(f"triage: {asked}: {error.strerror or error}", err=True)
        raise SystemExit(NOTHING_READ) from error


def _compared(told: Asked, findings: Findings, chosen: str, environ: Any, known: Knowledge) -> list[Compared]:
    from triage.ledger.booted import booted
    from triage.ledger.drift.compare import compared
    from triage.report.drift import Compared

    boots = _boots(findings, chosen, told.engine)
    kept = _environment(environ)
    last = _last(findings.boots)
    made = []
    for boot in boots:
        one = booted(boot, kept if last is not None and boot.id == last.id else None)
        made.append(Compared(boot=boot, rows=tuple(compared(told, one, known.flags))))
    return made


def _boots(findings: Findings, chosen: str, engine: str) -> Sequence[Boot]:
    """The boots that were asked for, oldest first; exits with 2 and a word where there is none."""
    from triage.report.words import clean

    boots = [boot for boot in findings.boots if not engine or boot.engine in ("", engine)]
    if not boots:
        other = f" of {engine}; there are boots of {', '.join(sorted({b.engine for b in findings.boots}))}" if findings.boots else ""
        click.echo(f"triage: no boot{other} in these logs, so nothing to compare with", err=True)
        raise SystemExit(NOTHING_READ)
    ordered = sorted(boots, key=lambda boot: boot.start.earliest if boot.start else 0.0)
    if chosen == "all":
        return ordered
    if chosen == "last":
        return ordered[-1:]
    found = [boot for boot in ordered if boot.id.startswith(chosen)]
    if len(found) != 1:
        raise click.BadParameter(f"{'no' if not found else 'more than one'} boot {clean(chosen)!r}; `triage boots` lists them", param_hint="--boot")
    return found


def _last(boots: Sequence[Boot]) -> Boot | None:
    return max(boots, key=lambda boot: boot.start.earliest if boot.start else 0.0, default=None)


def _environment(environ: Any) -> dict[str, str] | None:
    """Every variable of a capture."""
    if environ is None:
        return None
    from triage.ledger.drift.captures import of_process

    found = {setting.name: str(setting.value) for setting in of_process(environ.read(), environ.name).variables}
    if not found:
        raise click.UsageError("--environ: no NAME=value in it, so it is no copy of /proc/PID/environ")
    return found


def _leave(compared: Sequence[Compared]) -> None:
    """The exit code that says whether anything drifted; nothing where all that can be seen is as it was asked for."""
    from triage.ledger.drift.compare import DRIFT

    outcomes = {row.outcome for one in compared for row in one.rows}
    if outcomes & set(DRIFT):
        raise SystemExit(DRIFTED)
    if "same" not in outcomes:
        raise SystemExit(INCONCLUSIVE)
