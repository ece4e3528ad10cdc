"""A trial as a postmortem shows it: what may be concluded in a few sentences, what may not, and its ladders of margins."""

from __future__ import annotations

from collections.abc import Iterator

from triage.report.postmortem.given import Trial as Given
from triage.report.postmortem.records import trial as record
from triage.report.trial import blindness, head, tests, title
from triage.report.trial_memory import chosen
from triage.trials.comparing import against
from triage.trials.ladder import Ladder, ladders
from triage.trials.trial import Trial
from triage.trials.verdicts import Cell

RESULTS = ("fail", "inconclusive", "void", "not run", "pass")


def records(trial: Trial, name: str) -> list[Given]:
    """The trial with its first ladder, then one record for each other ladder. What was tried at one setting only is no ladder."""
    climbed = [one for one in ladders(trial.counted) if len(one.values) > 1]
    first = climbed[0] if climbed else None
    told = record(name, first, question=trial.manifest.question, verdict=". ".join(_verdict(trial, first)), note=". ".join(_note(trial)))
    return [told, *(record(f"{name}: {one.item}", one, verdict=_rung(trial, one)) for one in climbed[1:])]


def _verdict(trial: Trial, first: Ladder | None) -> Iterator[str]:
    """The cells of the matrix by their result, failures first; then the rung that leaves the reserve."""
    for result in RESULTS:
        cells = [_cell(cell, trial) for cell in trial.cells if cell.result == result]
        if cells:
            yield f"{result}: {'; '.join(cells)}"
    if first is not None and (rung := _rung(trial, first)):
        yield rung


def _cell(cell: Cell, trial: Trial) -> str:
    """Item and build, of the configuration what tells it from the item's other lines, and the first reason why it is no pass."""
    lines = [config for item, config in trial.rows() if item.id == cell.item.id]
    own = " ".join(f"{name}={value}" for name, value in cell.config if not all((name, value) in line for line in lines))
    why = f" ({cell.reason.split('; ')[0]})" if cell.reason and cell.result in ("fail", "inconclusive", "void") else ""
    return f"{cell.item.id} on {cell.build}{f', {own}' if own else ''}{why}"


def _rung(trial: Trial, ladder: Ladder) -> str:
    reserve = trial.manifest.reserve_mib
    return "" if reserve is None else chosen(ladder, reserve)


def _note(trial: Trial) -> Iterator[str]:
    """What was read, and what must not be concluded from it."""
    yield list(head(trial))[1]
    for cell in trial.cells:
        for one in against(cell):
            yield f"{title(cell)}: {one.survived[1]} of {one.ran[1]} survived with {one.other}, {one.survived[0]} of {one.ran[0]} with {one.one}"
            yield from (line.rstrip(".") for line in tests(one))
    yield from blindness(trial)
    if trial.manifest.limits:
        yield trial.manifest.limits
