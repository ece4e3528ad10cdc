"""Strata of one cell held against each other: what exact tests say of a difference, and why none of it allows pooling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import msgspec

from triage.trials.exact import ALPHA, at_least, at_most, boschloo, fisher
from triage.trials.verdicts import Cell, Counted, Stratum


class Against(msgspec.Struct, frozen=True, kw_only=True):
    """Two strata: how many of how many survived in each, and the p of two exact tests."""

    one: str
    other: str
    survived: tuple[int, int]
    ran: tuple[int, int]
    fisher: float
    boschloo: float

    @property
    def is_shown(self) -> bool:
        """Whether a difference is shown by the more careful of the two tests."""
        return self.fisher <= ALPHA

    @property
    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Of each stratum the shares of survivors that are not refuted, each side at 2.5 %."""
        return tuple((at_least(k, n, ALPHA / 2), at_most(k, n, ALPHA / 2)) for k, n in zip(self.survived, self.ran, strict=True))  # type: ignore[return-value]


class ByShape(msgspec.Struct, frozen=True):
    """How many of the runs of one shape survived, over all strata of a cell."""

    state: str
    survived: int
    ran: int


def against(cell: Cell) -> list[Against]:
    """Each two strata of a cell that carry different instruments and ran at all."""
    ran = [stratum for stratum in cell.strata if stratum.ran]
    return [_against(one, other) for one, other in combinations(ran, 2) if one.heavy != other.heavy]


def by_shape(cell: Cell) -> list[ByShape]:
    """The runs of a cell by how the burst met the engine; nothing where the shape does not matter."""
    every = [one for stratum in cell.strata for one in stratum.ran] if cell.item.whole else []
    return [_of_shape(state, [one for one in every if one.run.shape.state == state]) for state in dict.fromkeys(one.run.shape.state for one in every)]


def _of_shape(state: str, runs: Sequence[Counted]) -> ByShape:
    return ByShape(state, sum(one.run.ended == "survived" for one in runs), len(runs))


def _against(one: Stratum, other: Stratum) -> Against:
    survived, ran = (one.survived, other.survived), (len(one.ran), len(other.ran))
    return Against(one=one.name, other=other.name, survived=survived, ran=ran, fisher=fisher(survived, ran), boschloo=boschloo(survived, ran))
