"""`triage trial show`, `verdict` and `memory`: what the runs of a trial say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, knowledge, rules_option, tell
from triage.cli.trial_folder import ended, look, read_folder
from triage.cli.values import YEARS, OutputFile, Zone, check_names
from triage.cli.writing import emit, refuse_input

if TYPE_CHECKING:
    from triage.trials.trial import Trial

INCONCLUSIVE = 5
FORMATS = ("table", "markdown", "json")


def _how(command: Any) -> Any:
    """How runs are read and the answer is given."""
    for decorate in reversed(
        (
            rules_option,
            click.option("--tz", type=Zone(), default="UTC", show_default=True, help="Zone of stamps that name none: Europe/Berlin, +02:00."),
            click.option("--year", type=click.IntRange(*YEARS), help="Year of stamps that name none (default: by the file's time)."),
            click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the answer."),
            click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout."),
        )
    ):
        command = decorate(command)
    return command


def _reading(command: Any) -> Any:
    """The trial, and how it is read."""
    return click.argument("folder", metavar="TRIAL", type=click.Path())(_how(command))


def _read(folder: str, rules: tuple[str, ...], tz: str, year: int | None, output: str | None) -> Trial:
    return read_folder(folder, knowledge(rules), tz, year, output)


def _printed(found: Trial, form: str, output: str | None, text: Callable[[str], str]) -> None:
    if form == "json":
        from triage.report.trial_document import as_json

        emit(as_json(found), output)
    else:
        emit(text("github" if form == "markdown" else "simple"), output)


@click.command(short_help="Show runs, instruments, shapes, strata.")
@_reading
def show(folder: str, rules: tuple[str, ...], tz: str, year: int | None, form: str, output: str | None) -> None:
    """Show every run: what it carried, in which shape the burst arrived, how it ended, what it counts as; strata side by side.

    Runs with different heavy instruments are never added up. Below them stand exact tests, and what those do not show.

    \b
    Exit codes: 0 ran, 2 no such trial or it is wrong, 3 part of it could not be read.
    """
    from triage.report.trial import shown

    found = _read(folder, rules, tz, year, output)
    _printed(found, form, output, lambda style: shown(found, style=style))
    ended(found)


@click.command(short_help="Say what may be concluded, and what not.")
@_reading
@click.option("--item", "only", multiple=True, metavar="ITEM", help="Only this item; may be given several times.")
@click.option("--fail-on", multiple=True, metavar="ITEM|any", help="Exit with 1 when this item failed on some build.")
def verdict(folder: str, rules: tuple[str, ...], tz: str, year: int | None, form: str, output: str | None, only: tuple[str, ...],
            fail_on: tuple[str, ...]) -> None:  # fmt: skip
    """Say what may be concluded: items against builds, why a cell is no pass, what a pass is worth, predictions against measurements.

    \b
    Exit codes: 0 every cell is a pass or a fail, 1 --fail-on matched, 2 no such trial or it is wrong, 3 part of it could not be
    read, 5 some cell is inconclusive, void or not run.
    """
    from triage.report.trial_verdict import verdict as report
    from triage.trials.trial import narrowed

    found = _read(folder, rules, tz, year, output)
    items = [item.id for item in found.manifest.items]
    check_names(only, items, "--item")
    check_names(fail_on, [*items, "any"], "--fail-on")
    told = narrowed(found, only) if only else found
    _printed(told, form, output, lambda style: report(told, style=style))
    failed = {cell.item.id for cell in told.cells if cell.result == "fail"}
    if fail_on and (failed if "any" in fail_on else failed.intersection(fail_on)):
        raise SystemExit(1)
    ended(told, INCONCLUSIVE if any(cell.result not in ("pass", "fail") for cell in told.cells) else 0)


@click.command(short_help="Compare margins of device memory.")
@click.argument("paths", nargs=-1, required=True, metavar="TRIAL|RUN...", type=click.Path())
@_how
@click.option("--reserve", type=click.FloatRange(min=0), metavar="MIB", help="What must stay free at the worst step (default: trial.toml's).")
@click.option("--run", "only", multiple=True, metavar="RUN", help="Of a trial, only this run; may be given several times.")
def memory(paths: tuple[str, ...], rules: tuple[str, ...], tz: str, year: int | None, form: str, output: str | None, reserve: float | None,
           only: tuple[str, ...]) -> None:  # fmt: skip
    """Say how much device memory each build takes at rest and in its worst step, and which setting leaves the reserve.

    Read from samples of nvidia-smi beside the logs and from the text of allocations that failed. Give a trial, or some runs that belong
    to none: a folder (or log) each, whose build is the version that booted.

    \b
    Examples:
      triage trial memory move-to-0.31
      triage trial memory night/run-1/ night/run-2/ --reserve 128

    \b
    Exit codes: 0 ran, 2 nothing to read or a trial that is wrong, 3 part of it could not be read, 5 nothing was measured.
    """
    from triage.report.trial_document import memory_as_json
    from triage.report.trial_memory import memory as report
    from triage.trials.ladder import ladders

    counted, problems, stated = _measured(paths, rules, tz, year, output)
    check_names(only, [one.run.name for one in counted], "--run")
    counted = [one for one in counted if not only or one.run.name in only]
    wanted = stated if reserve is None else reserve
    climbed = ladders(counted)
    if form == "json":
        emit(memory_as_json(counted, climbed, wanted), output)
    else:
        emit(report(counted, climbed, wanted, style="github" if form == "markdown" else "simple"), output)
    if any(problem.lost for problem in problems):
        raise SystemExit(PARTLY_READ)
    if not any(one.run.memory for one in counted):
        raise SystemExit(INCONCLUSIVE)


def _measured(paths: tuple[str, ...], rules: tuple[str, ...], tz: str, year: int | None, output: str | None) -> tuple[list[Any], list[Any], Any]:
    """The runs of a trial, or those that were named, their problems, and the reserve that the trial states."""
    from pathlib import Path

    from triage.parsers.sorting import NothingToReadError
    from triage.trials.loose import loose_runs
    from triage.trials.manifest import TRIAL

    if len(paths) == 1 and (Path(paths[0]) / TRIAL).exists():
        found = _read(paths[0], rules, tz, year, output)
        return list(found.counted), list(found.problems), found.manifest.reserve_mib
    if whole := [path for path in paths if (Path(path) / TRIAL).exists()]:
        raise click.UsageError(f"{whole[0]} is a trial: give it alone, or runs that belong to none")
    refuse_input(output, paths)
    known = knowledge(rules)
    try:
        counted = loose_runs(paths, known, look(known, tz, year), tz=tz, year=year)
    except NothingToReadError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error
    problems = [problem for one in counted for problem in one.run.problems]
    tell(problems)
    return counted, problems, None
