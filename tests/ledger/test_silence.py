"""What a quiet time says: every figure that the page of the ledger shows, and what must hold for all of them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger import silence

DAY = 86400.0
RATES = st.tuples(st.integers(1, 200), st.floats(0.5, 500))
QUIETS = st.floats(0.01, 500)


@pytest.mark.parametrize(
    ("days", "m", "clean", "ratio", "bits"),
    [
        (2 / 1440, 0.0014, 0.9986, 1.001, 0.002), (10 / 1440, 0.0069, 0.9931, 1.007, 0.010), (24 / 1440, 0.0167, 0.983, 1.017, 0.024),
        (120 / 1440, 0.083, 0.920, 1.09, 0.12), (1, 1, 0.368, 2.7, 1.44), (3, 3, 0.0498, 20, 4.3), (6, 6, 0.00248, 403, 8.7),
    ],
)  # fmt: skip
def test_a_clean_time_at_one_a_day(days: float, m: float, clean: float, ratio: float, bits: float) -> None:
    assert days == pytest.approx(m, abs=0.0005)
    assert silence.clean_chance(days) == pytest.approx(clean, abs=0.0005)
    assert 1 / silence.clean_chance(days) == pytest.approx(ratio, rel=0.02)
    assert silence.bits(days) == pytest.approx(bits, abs=0.05 if bits > 1 else 0.004)


@pytest.mark.parametrize(("failing", "chance"), [(0.01, 0.886), (0.05, 0.540), (0.10, 0.282), (0.20, 0.069), (0.221, 0.050), (0.50, 0.0002)])
def test_twelve_of_twelve(failing: float, chance: float) -> None:
    assert silence.all_pass_chance(failing, 12) == pytest.approx(chance, abs=0.0005)


@pytest.mark.parametrize(("failing", "runs"), [(0.01, 299), (0.05, 59), (0.10, 29), (0.20, 14), (0.50, 5)])
def test_runs_for_95_per_cent(failing: float, runs: int) -> None:
    assert silence.runs_needed(failing) == runs
    assert silence.all_pass_chance(failing, runs) <= 0.05 < silence.all_pass_chance(failing, runs - 1)


def test_ten_minute_runs_at_one_a_day_take_three_days() -> None:
    fails = silence.run_failure(10 / 1440)
    assert fails == pytest.approx(0.0069, abs=0.0001)
    assert math.log(0.05) / math.log1p(-fails) == pytest.approx(431.4, abs=0.05)
    assert silence.runs_needed(fails) == 432  # 431 leave 5.01 %
    assert silence.failing_upper(12) == pytest.approx(0.221, abs=0.0005)


@pytest.mark.parametrize(("events", "predictive", "conditional"), [(1, 6.4, 19.0), (3, 4.1, 5.1), (6, 3.5, 3.9), (17, 3.2, 3.3)])
def test_intervals_needed_where_the_rate_rests_on_few(events: int, predictive: float, conditional: float) -> None:
    assert silence.plug_in_needed(events, events) == pytest.approx(3.0, abs=0.005)
    assert silence.predictive_needed(events, events) == pytest.approx(predictive, abs=0.05)
    assert silence.quiet_needed(events, events) == pytest.approx(conditional, abs=0.06)


def test_seventeen_in_seventeen_days_then_six_quiet_ones() -> None:
    assert silence.conditional_chance(17, 17, 0, 6) == pytest.approx(0.0059, abs=0.00005)
    assert silence.predicted_chance(17, 17, 6) == pytest.approx(0.0050, abs=0.0001)
    assert silence.conditional_chance(17, 17, 1, 6) == pytest.approx(0.032, abs=0.0005)
    assert silence.conditional_chance(17, 17, 0, 3) == pytest.approx(0.063, abs=0.0005)
    assert silence.conditional_chance(17, 17, 0, 1) == pytest.approx(0.38, abs=0.002)
    assert silence.conditional_chance(6, 6, 0, 6) == pytest.approx(0.0156, abs=0.0001)
    assert silence.conditional_chance(1, 1, 0, 6) == pytest.approx(0.14, abs=0.003)


def test_the_hangs_alone_need_much_longer_than_all_as_one() -> None:
    assert silence.clean_chance(6 * 4 / 17) == pytest.approx(0.24, abs=0.005)
    assert silence.plug_in_needed(4, 17) == pytest.approx(12.7, abs=0.05)
    assert silence.plug_in_needed(13, 17) == pytest.approx(3.9, abs=0.05)
    assert silence.quiet_needed(17, 17) == pytest.approx(3.3, abs=0.05)
    assert silence.quiet_needed(4, 17) == pytest.approx(19.0, abs=0.06)


@pytest.mark.parametrize(("days", "percent"), [(30, 6), (60, 13), (90, 19)])
def test_some_six_quiet_days_come_by_themselves(days: int, percent: int) -> None:
    assert silence.some_quiet_chance(1, days, 6) == pytest.approx(percent / 100, abs=0.005)


def test_in_half_a_year_six_quiet_days_are_likely() -> None:
    assert silence.some_quiet_chance(1, 180, 6) == pytest.approx(0.356, abs=0.001)  # simulated, too: 0.358 of 40,000


@pytest.mark.parametrize(("ratio", "chance"), [(2, 0.016), (3, 0.037)])
def test_six_quiet_days_are_likelier_where_faults_cluster(ratio: float, chance: float) -> None:
    assert silence.clean_chance(6 * silence.slowed(ratio)) == pytest.approx(chance, abs=0.0005)


def test_the_e_process_of_a_known_rate() -> None:
    shown = [silence.known_rate_e_value(day, 0, 0.1) for day in (1, 2, 3, 4, 6)]
    assert shown == pytest.approx([2.5, 6.1, 14.9, 36.6, 221], rel=0.02)
    assert silence.known_rate_e_value(3.33, 0, 0.1) == pytest.approx(20, rel=0.01)
    assert silence.known_rate_e_value(5.0 + 2.56, 1, 0.1) == pytest.approx(silence.known_rate_e_value(5.0, 0, 0.1), rel=0.01)
    assert silence.known_rate_e_value(6, 1, 0.0) == 0.0


def test_a_mitigation_that_leaves_a_tenth_is_soon_refuted_as_an_elimination() -> None:
    assert 1 - silence.clean_chance(0.6) == pytest.approx(0.45, abs=0.002)
    assert 1 - silence.clean_chance(3.0) == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize(
    ("chance", "word"), [(0.993, "none"), (0.92, "none"), (0.90, "none"), (0.6, "weak"), (0.37, "some"), (0.05, "strong"), (0.0025, "very strong")]
)
def test_grades(chance: float, word: str) -> None:
    assert silence.grade(chance) == word


@given(rate=RATES, quiet=QUIETS)
def test_against_an_elimination_the_e_value_is_one_over_the_conditional_p(rate: tuple[int, float], quiet: float) -> None:
    p = silence.conditional_chance(*rate, 0, quiet)
    if p > 1e-250:
        assert silence.e_value(*rate, 0, quiet) == pytest.approx(1 / p, rel=1e-6)
    assert silence.e_value(*rate, 1, quiet) == 0.0


@given(rate=RATES, ratio=st.floats(0.05, 0.9), seen=st.integers(0, 20))
def test_the_quiet_that_is_needed_is_just_enough(rate: tuple[int, float], ratio: float, seen: int) -> None:
    needed = silence.quiet_needed(*rate, seen=seen, ratio=ratio)
    if needed is None:
        assert silence.e_value(*rate, seen, 1e6 * rate[1], ratio) < silence.LEVEL
    else:
        assert silence.e_value(*rate, seen, needed * (1 + 1e-9), ratio) >= silence.LEVEL * (1 - 1e-6)
        assert silence.e_value(*rate, seen, needed * 0.999, ratio) < silence.LEVEL


@given(rate=RATES, quiet=QUIETS, ratio=st.floats(0.01, 0.99), seen=st.integers(0, 20))
def test_a_recurrence_is_never_evidence_for_a_reduction(rate: tuple[int, float], quiet: float, ratio: float, seen: int) -> None:
    assert silence.e_value(*rate, seen + 1, quiet, ratio) <= silence.e_value(*rate, seen, quiet, ratio) * (1 + 1e-9)


@given(rate=st.tuples(st.integers(1, 60), st.floats(5, 50)), quiet=st.floats(0.01, 50), ratio=st.floats(0.05, 0.95))
def test_the_e_value_is_a_fair_game_by_the_rate_before(rate: tuple[int, float], quiet: float, ratio: float) -> None:
    """Weighed by how likely each count is (negative binomial, given the events before) it is worth 1 on average: nobody can win by waiting."""
    events, seconds = rate
    share = quiet / (seconds + quiet)
    total, weight, n = 0.0, (1 - share) ** events, 0
    while n < 50_000:
        total += weight * silence.e_value(events, seconds, n, quiet, ratio)
        weight *= share * (events + n) / (n + 1)
        n += 1
        if weight < 1e-14 and n > events * share / (1 - share):
            break
    assert total == pytest.approx(1.0, rel=1e-6)


@given(st.floats(1.0, 50))
def test_clusters_only_ever_slow_the_clock(ratio: float) -> None:
    assert 0 < silence.slowed(ratio) <= 1
    assert silence.slowed(0.3) == 1.0


def test_a_run_that_surely_fails_needs_no_second() -> None:
    assert silence.run_failure(60.0) == 1.0
    assert silence.runs_needed(1.0) == 1
