"""What a plan can tell before anything is run: how often a build that has the fault would pass it, and how many runs would tell."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from triage.trials.exact import ALPHA, at_least, luck, power, runs_needed
from triage.trials.manifest import Control, Item, Manifest

Grade = Literal["none", "weak", "some", "strong", "very strong"]
GRADES: tuple[tuple[float, Grade], ...] = ((0.90, "none"), (0.50, "weak"), (0.05, "some"), (0.01, "strong"))
MEANINGLESS = 0.50  # a pass that every second build with the fault would have, too
MINUTES_A_DAY = 1440.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One item planned in so many runs. Shares are of runs that a build with the fault fails: the likeliest, and the least that is not refuted.

    `lucky`: how often such a build passes all runs, at the likeliest share and at the least. `enough`: runs after which it does once in twenty
    times, at either. None where no control tells a share. `apart`: how often Fisher's test tells it, at the least share, from one that never fails.
    """

    item: str
    runs: int
    flaws: tuple[str, ...] = ()
    share: float | None = None
    least: float | None = None
    lucky: tuple[float, float] | None = None
    enough: tuple[int | None, int | None] = (None, None)
    apart: float | None = None
    grade: Grade | None = None

    @property
    def means_nothing(self) -> bool:
        return bool(self.flaws) or self.lucky is None or self.lucky[1] >= MEANINGLESS

    @property
    def bits(self) -> float | None:
        """The information of a pass, at least: the logarithm of how much likelier it is without the fault."""
        return None if self.lucky is None else math.inf if self.lucky[1] == 0 else -math.log2(self.lucky[1])


def plans(manifest: Manifest) -> list[Plan]:
    """One for each item of a trial, in its order."""
    return [plan(item) for item in manifest.items]


def plan(item: Item) -> Plan:
    """What the planned runs of an item can tell."""
    runs = item.runs or item.passes
    flaws = _flaws(item, runs)
    shares = share_of(item.control) if item.control else None
    if shares is None:
        return Plan(item=item.id, runs=runs, flaws=(*flaws, "no control: how often a build with the fault fails is not known"))
    share, least = shares
    lucky = (luck(share, runs), luck(least, runs))
    return Plan(
        item=item.id, runs=runs, flaws=flaws, share=share, least=least, lucky=lucky, enough=(runs_needed(share), runs_needed(least)),
        apart=power((least, 0.0), (runs, runs)) if runs <= 40 else None, grade=graded(lucky[1]),
    )  # fmt: skip


def share_of(control: Control) -> tuple[float, float] | None:
    """The share of runs that fail: the likeliest, and the least that is not refuted at 5 %. None where the control tells neither.

    Of a rate nothing tells how sure it is: both are the same.
    """
    if control.of > 0 and 0 <= control.failed <= control.of:
        return control.failed / control.of, at_least(control.failed, control.of, ALPHA)
    if control.per_day > 0 and control.minutes > 0:
        share = -math.expm1(-control.per_day * control.minutes / MINUTES_A_DAY)
        return share, share
    return None


def graded(lucky: float) -> Grade:
    """How much a pass says that a build with the fault has with this probability."""
    return next((grade for bound, grade in GRADES if lucky >= bound), "very strong")


def _flaws(item: Item, runs: int) -> tuple[str, ...]:
    """What keeps passes from meaning anything, however many there are."""
    flaws = [] if item.witnesses or item.whole else ["no witness: nothing in the logs would show that its path ran"]
    flaws += [f"needs {item.passes} passes and plans {runs} runs"] if runs < item.passes else []
    return tuple(flaws)
