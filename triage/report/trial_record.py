"""A trial as a postmortem shows it: what may be concluded in a few sentences, what may not, and its ladders of margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
        if told := _alike([cell for cell in trial.cells if cell.result == result], trial):
            yield f"{result.capitalize()}: {'; '.join(told)}"
    if first is not None and (rung := _rung(trial, first)):
        yield rung


def _alike(cells: Sequence[Cell], trial: Trial) -> list[str]:
    """Cells in words: those of one item and build that are what they are for one reason stand together."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        why = cell.reason.split("; ")[0] if cell.result in ("fail", "inconclusive", "void") else ""
        groups.setdefault((cell.item.id, cell.build, why), []).append(_own(cell, trial))
    return [f"{item} on {build}{_settings(own)}{f' ({why})' if why else ''}" for (item, build, why), own in groups.items()]


def _own(cell: Cell, trial: Trial) -> str:
    """Of a configuration what tells it from the item's other lines."""
    lines = [config for item, config in trial.rows() if item.id == cell.item.id]
    return " ".join(f"{name}={value}" for name, value in cell.config if not all((name, value) in line for line in lines))


def _settings(own: Sequence[str]) -> str:
    """` with u=0.95, 0.94` where one setting has several values, else each configuration in full."""
    told = [one for one in own if one]
    names = {one.partition("=")[0] for one in told}
    if len(names) == 1 and not any(" " in one for one in told):
        return f" with {names.pop()}={', '.join(one.partition('=')[2] for one in told)}"
    return f" with {' or '.join(told)}" if told else ""


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
