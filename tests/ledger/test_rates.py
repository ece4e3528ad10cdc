"""Exact intervals and tests: the figures of the page, and counts that cluster, drift or are too few."""

from __future__ import annotations

import random

import pytest

from triage.ledger import rates

DAY = 86400.0


def test_seventeen_in_seventeen_days() -> None:
    found = rates.interval(17, 17)
    assert (found.rate, found.low, found.high) == (1.0, pytest.approx(0.58, abs=0.005), pytest.approx(1.60, abs=0.005))


def test_the_hangs_alone() -> None:
    found = rates.interval(4, 17)
    assert (found.rate, found.low, found.high) == pytest.approx((0.24, 0.06, 0.60), abs=0.005)
    assert rates.share_interval(13, 17) == pytest.approx((0.50, 0.93), abs=0.005)


def test_no_event_leaves_an_upper_bound() -> None:
    assert rates.interval(0, 6).low == 0.0
    assert rates.upper(0, 6) == pytest.approx(0.50, abs=0.005)
    assert rates.upper(0, 6, 0.975) == pytest.approx(0.615, abs=0.0005)


@pytest.mark.parametrize(
    ("seen", "quiet", "one_sided", "e_test"), [(0, 6, 0.0059, 0.0016), (1, 6, 0.032, 0.017), (0, 3, 0.063, 0.022), (0, 1, 0.38, None)]
)
def test_after_seventeen_in_seventeen_days(seen: int, quiet: int, one_sided: float, e_test: float | None) -> None:
    assert rates.conditional_test(17, 17, seen, quiet)[0] == pytest.approx(one_sided, rel=0.02)
    if e_test is not None:
        assert rates.e_test(17, 17, seen, quiet) == pytest.approx(e_test, rel=0.03)


def test_two_sided_figures() -> None:
    assert rates.conditional_test(17, 17, 0, 6)[1] == pytest.approx(0.010, abs=0.0005)
    assert rates.conditional_test(6, 6, 0, 6) == pytest.approx((0.0156, 0.031), abs=0.0005)


@pytest.mark.parametrize(("events", "intervals"), [(1, 118), (3, 14.5), (6, 8.2), (17, 5.1)])
def test_the_conservative_wait(events: int, intervals: float) -> None:
    assert rates.conservative_needed(events, events) == pytest.approx(intervals, rel=0.01)


def _exact_size(k_days: float, quiet: float, p_of: object) -> float:
    """How often a test at 5 % sees an improvement where the rate is 1 a day in both windows, by enumeration."""
    from scipy.stats import poisson

    return float(sum(
        poisson.pmf(k, k_days) * poisson.pmf(n, quiet)
        for k in range(1, 60) for n in range(30) if poisson.pmf(k, k_days) * poisson.pmf(n, quiet) > 1e-9 and p_of(k, k_days, n, quiet) <= 0.05  # type: ignore[operator]
    ))  # fmt: skip


@pytest.mark.parametrize(("before", "quiet", "c", "e"), [(6, 6, 0.026, 0.045), (17, 6, 0.028, 0.049), (5, 3, 0.017, 0.039)])
def test_the_true_size_of_both_tests(before: int, quiet: int, c: float, e: float) -> None:
    from triage.ledger.silence import conditional_chance

    assert _exact_size(before, quiet, conditional_chance) == pytest.approx(c, abs=0.0012)
    assert _exact_size(before, quiet, rates.e_test) == pytest.approx(e, abs=0.0025)


def test_after_a_refutation_a_reduction_can_still_be_told() -> None:
    low, high = rates.ratio_interval(17, 17, 1, 6)
    assert 0 < low < 1 / 6 < high < 1.1
    assert rates.ratio_interval(17, 17, 0, 6)[0] == 0.0


def test_even_counts_and_clusters_are_told_apart() -> None:
    chance = random.Random(4)
    even = rates.clustering([day * DAY + chance.random() * DAY for day in range(30)], 30 * DAY)
    bursts = rates.clustering([day * DAY + chance.random() * DAY for day in range(0, 30, 6) for _ in range(6)], 30 * DAY)
    assert even is not None
    assert bursts is not None
    assert (even.dispersion, bursts.bins) == (0.0, 30)
    assert bursts.dispersion == pytest.approx(5.17, abs=0.01)
    assert bursts.p < 1e-6 < 0.99 < even.p


def test_rare_events_are_counted_in_wider_bins() -> None:
    found = rates.dispersion([float(n) * 10 * DAY for n in range(12)], 120 * DAY)
    assert found is not None
    assert found[1:] == (12, 10 * DAY)


def test_few_events_show_neither_clusters_nor_a_trend() -> None:
    assert rates.clustering([1.0] * 9, 30 * DAY) is None
    assert rates.trend([1.0, 2.0, 3.0], 10.0) is None


def test_a_trend_is_seen_in_either_direction() -> None:
    fewer = rates.trend([1, 2, 3, 4, 5, 6, 8, 11, 20], 100)
    more = rates.trend([80, 89, 92, 94, 95, 96, 97, 98, 99], 100)
    steady = rates.trend([5, 16, 25, 36, 44, 55, 66, 74, 85, 96], 100)
    assert fewer is not None
    assert more is not None
    assert steady is not None
    assert fewer.u < 0 < more.u
    assert max(fewer.p, more.p) < 0.001 < 0.5 < steady.p
    assert fewer.slope < 0.7 < 1.2 < more.slope
