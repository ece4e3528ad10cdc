"""Predictions held against what was measured: registered before the first run they speak of, or not, and leaning to one side, or not.

A registered prediction is a record of the journal of the trial; what trial.toml says of it afterwards changes nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from triage.ledger.journal import JournalError, Record, WrittenError, append, read
from triage.model import Seconds
from triage.trials.exact import signs
from triage.trials.manifest import Manifest, Prediction, Quantity
from triage.trials.memory import Memory
from triage.trials.runs import Run

KIND = "trial.prediction"
UNITS: dict[Quantity, str] = {"free_at_worst_step": "free at the worst step", "used_at_rest": "used at rest", "step_cost": "cost of the worst step"}


class Tested(msgspec.Struct, frozen=True, kw_only=True):
    """One prediction and what came of it; MiB. `measured` is an upper bound where `is_bound`.

    `registered`: when (seconds since the epoch); None: never. `first_run`: when the first run of its arm began. `undated`: some run of it
    that nothing dates. `edited`: trial.toml says something else now.
    """

    prediction: Prediction
    measured: float | None = None
    is_bound: bool = False
    registered: Seconds | None = None
    hash: str = ""
    first_run: Seconds | None = None
    undated: bool = False
    edited: bool = False

    @property
    def residual(self) -> float | None:
        """Measured less predicted."""
        return None if self.measured is None else self.measured - self.prediction.value

    @property
    def is_before(self) -> bool:
        """Whether it was registered before the first run that it speaks of, or there is none yet; no where some run has no time."""
        return self.registered is not None and not self.undated and (self.first_run is None or self.registered < self.first_run)


class Lean(msgspec.Struct, frozen=True):
    """How the residuals of predictions made before lie: how many above and below, the least and the largest distance, and the chance of it."""

    above: int
    below: int
    least: float
    largest: float
    chance: float

    @property
    def is_one_sided(self) -> bool:
        return self.above + self.below > 1 and 0 in (self.above, self.below)


def register(manifest: Manifest, journal: Path, *, at: Seconds | None = None) -> list[Record]:
    """Write the predictions of a trial that are not registered yet into its journal, and return the records. Raises JournalError."""
    written = []
    for one in manifest.predictions:
        with contextlib.suppress(WrittenError):
            written.append(append(journal, KIND, one.id, msgspec.to_builtins(one), at=at, once=True))
    return written


def tested(manifest: Manifest, runs: Sequence[Run], journal: Path) -> tuple[Tested, ...]:
    """Every prediction, registered or not, with what its arm gave. Raises JournalError for a journal that was changed."""
    registered = {record.subject: record for record in reversed(read(journal)) if record.kind == KIND}  # of several under one name the first
    stated = {one.id: one for one in manifest.predictions}
    return tuple(_tested(registered.get(name), stated.get(name), runs) for name in dict.fromkeys((*stated, *registered)))


def lean(found: Sequence[Tested]) -> Lean | None:
    """To which side predictions made before their runs missed; None where fewer than two were measured.

    What is at most so much may be less: a bound above what was predicted says nothing of the side.
    """
    known = [one for one in found if one.is_before and one.residual is not None]
    missed = [one.residual for one in known if one.residual is not None and not (one.is_bound and one.residual > 0)]
    if len(missed) < 2:
        return None
    above, below = sum(miss > 0 for miss in missed), sum(miss < 0 for miss in missed)
    sizes = sorted(abs(miss) for miss in missed)
    return Lean(above, below, sizes[0], sizes[-1], signs(above, below))


def _tested(record: Record | None, stated: Prediction | None, runs: Sequence[Run]) -> Tested:
    prediction = _registered(record) if record else stated
    assert prediction is not None  # one of the two is why it is asked
    own = [run for run in runs if (run.item.id, run.arm.name) == (prediction.item, prediction.arm)]
    measured, is_bound = _measured(prediction.quantity, own)
    return Tested(
        prediction=prediction,
        measured=measured,
        is_bound=is_bound,
        registered=record.at if record else None,
        hash=record.hash[:12] if record else "",
        first_run=min((run.began for run in own if run.began is not None), default=None),
        undated=any(run.began is None and run.ended != "nothing ran" for run in own),
        edited=record is not None and stated != prediction,
    )


def _registered(record: Record) -> Prediction:
    try:
        return msgspec.convert(record.data, Prediction)
    except msgspec.ValidationError as error:
        raise JournalError(f"record {record.n} of the trial's journal is no prediction: {error}") from error


def _measured(quantity: Quantity, runs: Sequence[Run]) -> tuple[float | None, bool]:
    """The worst of the runs: the least that was free, the most that was used; and whether that is only an upper bound of what was free."""
    told = [memory for run in runs for memory in run.memory]
    if quantity == "free_at_worst_step":
        margins = [(memory.margin, memory.short is not None) for memory in told if memory.margin is not None]
        return min(margins, default=(None, False))
    pick: Callable[[Memory], float | None] = (lambda memory: memory.own_rest) if quantity == "used_at_rest" else (lambda memory: memory.step)
    return max((value for memory in told if (value := pick(memory)) is not None), default=None), False
