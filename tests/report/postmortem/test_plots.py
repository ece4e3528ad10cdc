"""What plots say in words: groups of times to death, ticks, the hours, margins; and that a mark stands where its figure is."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.postmortem.made import START, findings, known, say, verdict
from triage.model import Findings
from triage.report.postmortem.axis import count_ticks, length_ticks, log_share, share, time_ticks
from triage.report.postmortem.deaths import deaths, groups
from triage.report.postmortem.gather import gather
from triage.report.postmortem.given import Mitigation, Rung, Trial
from triage.report.postmortem.growth import growth
from triage.report.postmortem.hours import hours
from triage.report.postmortem.ladder import ladder
from triage.report.postmortem.parts import Postmortem
from triage.report.postmortem.raster import raster


def parts(found: Findings) -> Postmortem:
    return gather(found, known(), say(), now=START)


@given(st.lists(st.floats(0.1, 1e5), min_size=1))
def test_groups_keep_every_length_and_lie_apart(lengths: list[float]) -> None:
    found = groups(lengths)
    assert sorted(length for group in found for length in group) == sorted(lengths)
    assert all(later[0] > 2 * earlier[-1] for earlier, later in itertools.pairwise(found))


@given(st.floats(1e9, 2e9), st.floats(60, 3e8))
def test_ticks_of_time_are_few_and_inside(start: float, length: float) -> None:
    ticks = [at for at, _ in time_ticks(start, start + length)]
    assert len(ticks) <= 11
    assert all(start <= at <= start + length for at in ticks)


@given(st.floats(0.01, 1e6))
def test_ticks_of_counts_begin_at_nothing_and_stay_below(most: float) -> None:
    ticks = count_ticks(most)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= 5
    assert ticks[-1] <= most * (1 + 1e-9)


def test_shares() -> None:
    assert [share(v, 0, 10) for v in (-1, 5, 11)] == [0, 0.5, 1]
    assert share(3, 3, 3) == 0.5
    assert log_share(100, 10, 1000) == pytest.approx(0.5)
    assert length_ticks(30, 700) == [60, 120, 300, 600]


def test_a_mark_stands_at_its_time() -> None:
    found = findings(verdict(1, at=0.0), coverage=type(findings().coverage)(start=START - 3600, end=START + 3600))
    assert re.search(r'href="#i-00000001"[^>]*><rect x="50\.00%"', raster(parts(found), (), say()).svg)


def test_two_clusters_are_told_apart() -> None:
    plot = deaths(parts(findings(*(verdict(n, low=t, high=t) for n, t in enumerate((61, 97, 131, 600, 600.1))))))
    assert plot is not None
    assert plot.says == "3 died after 61 s to 131 s; 2 died after 600 s. Nothing died between 131 s and 600 s."


def test_a_time_to_death_with_wide_bounds_has_a_bar() -> None:
    plot = deaths(parts(findings(verdict(1, low=10, high=300))))
    assert plot is not None
    assert 'class="span"' in plot.svg
    sharp = deaths(parts(findings(verdict(1, low=90, high=90))))
    assert sharp is not None
    assert 'class="span"' not in sharp.svg


def test_a_burst_leaves_the_band_and_an_even_rate_does_not() -> None:
    def told(times: list[float]) -> str:
        found = findings(*(verdict(n, at=t) for n, t in enumerate(times)), boots=(), outages=())
        plot = growth(parts(found))
        assert plot is not None
        return plot.says

    assert "stays within the band" in told([n * 12960.0 - 80000 for n in range(20)])
    assert "more than the" in told([n * 60.0 - 80000 for n in range(20)])
    assert "fewer than the" in told([n * 60.0 + 160000 for n in range(20)])


def test_hours_say_how_much_of_it_is_chance() -> None:
    def told(*times: float) -> str:
        plot = hours(parts(findings(*(verdict(n, at=t) for n, t in enumerate(times)))))
        assert plot is not None
        return plot.says

    assert told(*(86400.0 * n / 8 for n in range(4))).startswith("No hour stands out")
    assert "in fewer than 1 of 100 cases: an even spread seldom does that" in told(*(60.0 * n for n in range(8)))
    assert "so this says nothing about the hour" in told(0, 60, *(7200.0 * n for n in range(1, 12)))


def test_too_little_to_draw_draws_nothing() -> None:
    one = parts(findings(verdict(1)))
    assert growth(one) is None
    assert hours(one) is None
    assert deaths(parts(findings())) is None
    assert ladder(Trial(name="t", rungs=(Rung(build="a", setting="x"),)), 1, say()) is None


def test_a_ladder_says_where_each_build_passes_and_fails() -> None:
    rungs = (
        Rung(build="0.27", setting="0.95", margin_mib=12, passed=5),
        Rung(build="0.31", setting="0.95", margin_mib=-48, failed=5),
        Rung(build="0.31", setting="0.94", margin_mib=174, passed=3),
        Rung(build="0.31", setting="0.93", margin_mib=390, inconclusive=1),
    )
    plot = ladder(Trial(name="t", rungs=rungs), 1, say())
    assert plot is not None
    assert plot.says == "0.27 passes down to 12 MiB. 0.31 passes down to 174 MiB, fails up to -48 MiB."
    assert (plot.svg.count('class="rung pass"'), plot.svg.count('class="rung fail"'), plot.svg.count('class="rung unsaid"')) == (2, 1, 1)


def test_a_ladder_that_fails_with_more_left_than_it_passes_with_says_so() -> None:
    rungs = (Rung(build="a", setting="1", margin_mib=100, passed=1), Rung(build="a", setting="2", margin_mib=200, failed=1, passed=3))
    plot = ladder(Trial(name="t", rungs=rungs), 1, say())
    assert plot is not None
    assert "the margin alone does not decide" in plot.says


def test_a_step_outside_of_the_time_is_not_drawn_at_its_edge() -> None:
    of = parts(findings(verdict(1)))
    measure = Mitigation(name="m", fault_class="cublas-fault", status="refuted", claimed=of.start - 60, since=of.start + 60, until=of.end + 60)
    drawn = raster(of, (measure,), say()).svg
    assert [name for name in ("claimed", "in-effect", "ended") if f'"step {name}"' in drawn] == ["in-effect"]
