"""Exact tests on few runs: known figures, symmetries, and agreement with a second implementation where one is installed."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.trials import exact

small = st.integers(1, 7)


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[int, int], tuple[int, int]]:
    runs = draw(small), draw(small)
    return (draw(st.integers(0, runs[0])), draw(st.integers(0, runs[1]))), runs


def test_the_night_with_the_hook() -> None:
    assert exact.fisher((2, 0), (3, 5)) == pytest.approx(3 / 28)
    assert exact.boschloo((2, 0), (3, 5)) == pytest.approx(0.09272, abs=1e-5)


@pytest.mark.parametrize(("passed", "runs", "p"), [((3, 0), (3, 5), 1 / 56), ((2, 0), (2, 5), 1 / 21), ((1, 1), (2, 2), 1.0)])
def test_fisher_by_hand(passed: tuple[int, int], runs: tuple[int, int], p: float) -> None:
    assert exact.fisher(passed, runs) == pytest.approx(p)


@given(tables())
def test_neither_order_nor_the_name_of_a_pass_matters(table: tuple[tuple[int, int], tuple[int, int]]) -> None:
    passed, runs = table
    failed = (runs[0] - passed[0], runs[1] - passed[1])
    for test in (exact.fisher, exact.boschloo):
        assert test(passed, runs) == pytest.approx(test(passed[::-1], runs[::-1]), abs=1e-6)
        assert test(passed, runs) == pytest.approx(test(failed, runs), abs=1e-6)
        assert 0 < test(passed, runs) <= 1


@given(tables())
def test_against_scipy(table: tuple[tuple[int, int], tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    (a, b), (n, m) = table
    columns = [[a, b], [n - a, m - b]]  # the groups are the columns: their sizes are what scipy holds
    assert exact.fisher((a, b), (n, m)) == pytest.approx(stats.fisher_exact(columns)[1], abs=1e-9)
    expected = stats.boschloo_exact(columns, n=64).pvalue
    if expected == expected:  # it gives no number for a table with an empty margin
        assert exact.boschloo((a, b), (n, m)) == pytest.approx(min(1.0, expected), abs=2e-4)


@pytest.mark.parametrize(("events", "runs", "bound"), [(0, 5, 0.4507), (0, 12, 0.2209), (5, 5, 1.0)])
def test_the_largest_share_that_is_not_refuted(events: int, runs: int, bound: float) -> None:
    assert exact.at_most(events, runs) == pytest.approx(bound, abs=1e-4)


@pytest.mark.parametrize(("events", "runs", "bound"), [(5, 5, 0.5493), (3, 3, 0.3684), (8, 10, 0.4931), (2, 10, 0.0368), (0, 4, 0.0)])
def test_the_smallest_share_that_is_not_refuted(events: int, runs: int, bound: float) -> None:
    assert exact.at_least(events, runs) == pytest.approx(bound, abs=1e-4)


@given(st.integers(0, 8), st.integers(1, 8))
def test_at_a_bound_the_tail_is_what_was_asked_for(events: int, runs: int) -> None:
    if events < runs:
        assert exact.tail(runs, exact.at_most(events, runs), events) == pytest.approx(exact.ALPHA, abs=1e-6)


@pytest.mark.parametrize(("share", "runs"), [(0.01, 299), (0.05, 59), (0.10, 29), (0.20, 14), (0.50, 5), (1.0, 1), (0.0, None)])
def test_runs_that_a_bad_build_does_not_pass(share: float, runs: int | None) -> None:
    assert exact.runs_needed(share) == runs
    if runs is not None and share < 1:
        assert exact.luck(share, runs) <= exact.ALPHA < exact.luck(share, runs - 1)


def test_power_by_enumeration() -> None:
    assert exact.power((1.0, 0.0), (3, 3)) == 0.0  # 3 of 3 against 0 of 3 is p = 0.1: never shown
    assert exact.power((1.0, 0.0), (4, 4)) == pytest.approx(1.0)
    assert exact.power((0.5, 0.5), (5, 5)) < exact.ALPHA


@given(st.integers(0, 9), st.integers(0, 9))
def test_signs_is_a_coin(above: int, below: int) -> None:
    runs, fewer = above + below, min(above, below)
    expected = min(1.0, 2 * sum(comb(runs, k) for k in range(fewer + 1)) / 2**runs) if runs else 1.0
    assert exact.signs(above, below) == pytest.approx(expected)


@pytest.mark.parametrize(("events", "runs"), [(5000, 10_000), (3, 10**9), (0, 1_030)])
def test_a_share_of_very_many_runs_has_bounds_around_it(events: int, runs: int) -> None:
    low, high = exact.at_least(events, runs), exact.at_most(events, runs)
    assert low <= events / runs < high <= 5 * (events + 1) / runs
    assert exact.at_most(events, runs, 0.5) == pytest.approx((events + 0.7) / (runs + 0.4), rel=0.02)  # the median, by its approximation


def test_both_ways_to_a_bound_agree_where_one_takes_over() -> None:
    exactly = exact._bisected(lambda share: exact.tail(exact.MANY + 1, share, 7), 0.05)
    assert exact.at_most(7, exact.MANY + 1) == pytest.approx(exactly, rel=1e-9)


def test_boschloo_of_more_runs_than_a_double_counts_ways_of() -> None:
    assert exact.boschloo((3, 0), (1_100, 4)) == 1.0
