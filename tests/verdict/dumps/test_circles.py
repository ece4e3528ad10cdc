"""Circles of waits: who is part of every one of them, and that a great many ranks are no trouble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from triage.verdict.dumps.circles import Circle, circle
from triage.verdict.dumps.records import Wait


def waits(of: Mapping[int, tuple[str, Iterable[int]]]) -> dict[int, list[Wait]]:
    """Each rank in one operation of a group, waiting for ranks."""
    return {
        rank: [Wait(rank=rank, group=group, what="", sequence=1, created=1, absent=frozenset(absent), unseen=frozenset(), sibling=("", "", 1))]
        for rank, (group, absent) in of.items()
    }


def found(of: Mapping[int, tuple[str, Iterable[int]]]) -> Circle:
    return circle(waits(of), of)


def test_chains_that_end_are_no_circle() -> None:
    assert found({0: ("a", [1]), 1: ("b", [2]), 2: ("c", [9])}) == Circle()
    assert found({}) == Circle()


def test_parties_are_ranks_of_one_operation_the_biggest_first() -> None:
    assert found({0: ("a", [2]), 1: ("a", [2]), 2: ("b", [0, 1])}) == Circle((0, 1, 2), ((0, 1), (2,)))


def test_a_rank_that_only_passes_a_wait_on_is_no_party() -> None:
    told = found({0: ("tp", [2]), 1: ("tp", [2]), 2: ("all", [0, 1, 3, 4]), 3: ("a", [0]), 4: ("b", [1])})
    assert told == Circle((0, 1, 2, 3, 4), ((0, 1), (2,)))


def test_who_waits_for_a_circle_is_not_of_it() -> None:
    assert found({0: ("a", [1]), 1: ("b", [0]), 5: ("c", [0])}).ranks == (0, 1)


def test_circles_that_share_no_party_have_none() -> None:
    assert found({0: ("a", [1, 2]), 1: ("b", [0, 2]), 2: ("c", [0, 1])}) == Circle((0, 1, 2), ())


@pytest.mark.parametrize("everyone", [False, True])
def test_hundreds_of_ranks(everyone: bool) -> None:
    of = {rank: (str(rank), {*range(300)} - {rank} if everyone else [(rank + 1) % 300]) for rank in range(300)}
    told = found(of)
    assert len(told.ranks) == 300
    assert len(told.parties) == (0 if everyone else 300)
