"""Engine-hours, and what chance does to a constant rate: held to exact figures worked out another way."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.postmortem.made import START, findings, verdict
from triage.model import Coverage, Gap
from triage.report.postmortem.exposure import Clock, constant_rate_band, even_spread, lives
from triage.report.postmortem.parts import Stretch

stretches = st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 500)).map(lambda t: Stretch(float(t[0]), float(t[0] + t[1]))), max_size=8)


@given(stretches, st.integers(-10, 2000))
def test_engine_hours_until_a_time_are_the_sum_over_engines(up: list[Stretch], when: int) -> None:
    expected = sum(max(0.0, min(life.end, when) - life.start) for life in up) / 3600
    assert Clock(up).at(float(when)) == pytest.approx(expected)


@given(stretches)
def test_the_total_is_the_sum_of_all_lives(up: list[Stretch]) -> None:
    assert Clock(up).total == pytest.approx(sum(life.end - life.start for life in up) / 3600)


def test_without_a_boot_the_covered_time_counts() -> None:
    found = findings(coverage=Coverage(start=START, end=START + 7200, gaps=(Gap(START + 1800, START + 5400, "probe"),)))
    assert Clock(lives(found, START, START + 7200)).total == pytest.approx(1.0)


def test_a_boot_counts_from_ready_to_its_end() -> None:
    found = findings(verdict(1))
    assert Clock(lives(found, START, START + 86400)).total == pytest.approx((1700 + 90) / 3600)


@given(st.integers(1, 60), st.integers(1, 19))
def test_the_band_is_the_exact_binomial_one(count: int, twentieths: int) -> None:
    share = Fraction(twentieths, 20)

    def below(k: int) -> Fraction:
        return sum((comb(count, j) * share**j * (1 - share) ** (count - j) for j in range(k + 1)), Fraction(0))

    tail = Fraction(25, 1000)
    low = next(k for k in range(count + 1) if below(k) >= tail)
    high = next(k for k in range(count + 1) if below(k) >= 1 - tail)
    assert constant_rate_band(count, float(share)) == (low, high)


def test_the_band_of_thousands_holds_its_middle() -> None:
    low, high = constant_rate_band(5000, 0.5)
    assert (low, high) == (2431, 2569)  # 2500 ± 1.96 · √1250


def test_the_band_begins_at_nothing_and_ends_at_all() -> None:
    assert constant_rate_band(17, 0.0) == (0, 0)
    assert constant_rate_band(17, 1.0) == (17, 17)


@pytest.mark.parametrize("counts", [(2, 0, 0), (1, 1, 0), (2, 1, 0), (3, 1, 0), (2, 2, 1), (5, 0, 0), (1, 1, 1)])
def test_an_even_spread_by_counting_all_ways(counts: tuple[int, ...]) -> None:
    total, most, cells = sum(counts), max(counts), len(counts)
    ways = list(product(range(cells), repeat=total))
    as_full = sum(max(way.count(cell) for cell in range(cells)) >= most for way in ways)
    assert even_spread(counts) == pytest.approx(as_full / len(ways))


def test_an_even_spread_is_not_judged_from_one_or_from_too_many() -> None:
    assert even_spread([1, 0]) is None
    assert even_spread([401, 0]) is None
