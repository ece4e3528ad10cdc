"""A folder of a trial, read for a command: how its runs are read, and how a command ends where it cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, tell
from triage.cli.writing import refuse_input

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.trials.trial import Trial


@contextmanager
def refusing() -> Iterator[None]:
    """What is wrong with a trial's own files ends the command with 2 and one line."""
    from triage.knowledge.load import RuleError
    from triage.ledger.journal import JournalError
    from triage.trials.manifest import TrialError

    try:
        yield
    except (TrialError, JournalError, RuleError) as error:
        from triage.report.words import clean

        click.echo(f"triage: {clean(str(error))}", err=True)
        raise SystemExit(NOTHING_READ) from error


def read_folder(folder: str, known: Knowledge, tz: str, year: int | None, output: str | None) -> Trial:
    """The trial, its problems told on stderr; a command never writes over what it is made of."""
    from triage.trials.trial import read_trial

    with refusing():
        found = read_trial(Path(folder), known, look(known, tz, year), tz=tz, year=year)
    tell(found.problems)
    refuse_input(output, (file.as_posix() for file in Path(folder).rglob("*") if file.is_file()))
    return found


def look(known: Knowledge, tz: str, year: int | None) -> Callable[..., Any]:
    """Reads paths as `triage classify` does. Raises NothingToReadError like it."""
    from triage.parsers.options import Options
    from triage.pipeline import gather, judged

    def reading(paths: Sequence[str], since: float | None, until: float | None) -> tuple[Any, Any]:
        evidence = gather(paths, known, options=Options(tz=tz, year=year))
        return evidence.readings, judged(evidence, known, since=since, until=until)

    return reading


def ended(found: Trial, code: int = 0) -> None:
    """3 where part of the input could not be read, else `code`."""
    if any(problem.lost for problem in found.problems):
        raise SystemExit(PARTLY_READ)
    if code:
        raise SystemExit(code)
