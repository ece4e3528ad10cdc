"""Arithmetic of time, on one axis and on several."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.stretches import AXIS, elapsed, holds, less, merged, reached, total, within, without

TIMES = st.integers(0, 200).map(float)
STRETCHES = st.lists(st.tuples(TIMES, TIMES), max_size=8)


def seconds(stretches: list[tuple[float, float]]) -> set[int]:
    return {second for start, end in stretches for second in range(int(start), int(end))}


@given(STRETCHES, STRETCHES)
def test_as_sets_of_seconds(some: list[tuple[float, float]], others: list[tuple[float, float]]) -> None:
    made = merged(some)
    assert seconds(made) == seconds(some)
    assert all(a[1] < b[0] for a, b in pairwise(made))
    assert seconds(without(some, others)) == seconds(some) - seconds(others)
    assert seconds(less(some, others)) == seconds(some) - seconds(others)
    assert total(made) == len(seconds(some))


@given(STRETCHES, TIMES)
def test_a_clock_that_runs_only_inside(some: list[tuple[float, float]], at: float) -> None:
    made = merged(some)
    assert elapsed(made, at) == len({s for s in seconds(made) if s < at})
    assert seconds(within(made, 0.0, at)) == {s for s in seconds(made) if s < at}


@given(STRETCHES, st.floats(0, 1))
def test_when_so_much_had_passed(some: list[tuple[float, float]], share: float) -> None:
    made = merged(some)
    length = share * total(made)
    at = reached(made, length)
    assert (at is not None) == bool(made)
    if at is not None:
        assert holds(made, at)
        assert abs(elapsed(made, at) - length) < 1e-6
    assert reached(made, total(made) + 1) is None


def test_two_engines_at_once_make_twice_the_time() -> None:
    both = [(10.0, 20.0), (AXIS + 10.0, AXIS + 20.0)]
    assert total(merged(both)) == 20.0
    assert total(less(both, [(12.0, 14.0)])) == 16.0
    assert within(both, 15.0, 30.0) == [(15.0, 20.0), (AXIS + 15.0, AXIS + 20.0)]
