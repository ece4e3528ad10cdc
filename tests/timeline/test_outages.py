"""Outages from probe symbols, by the grammar; gaps and coverage."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Gap, Instant, Outage, Place, Probe
from triage.timeline.outages import coverage, covered, gaps, outages

MINUTE = 60.0


def probes(symbols: str, *, target: str = "", every: float = MINUTE, took: float = 0.0, start: float = 0.0) -> list[Probe]:
    """One probe a minute, a space where none was made."""
    return [
        Probe(at=Instant(start + i * every, start + i * every + took), symbol=symbol, target=target, place=Place("p", "p", i, i + 1))
        for i, symbol in enumerate(symbols)
        if symbol != " "
    ]


def shapes(found: list[Outage]) -> list[str]:
    return [outage.symbols for outage in found]


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ("", []),
        ("....", []),
        ("..rrrrr..", ["rrrrr"]),
        ("..tttttttttttrrrr..", ["tttttttttttrrrr"]),
        ("..trrrr..", ["trrrr"]),
        ("..tt..", ["tt"]),
        ("..errr..", ["errr"]),
        ("..????..", []),
        ("..s..", []),
        ("..f..", ["f"]),
        ("r.t.e", ["r", "t", "e"]),
        ("rrr..", ["rrr"]),
        ("..rrr", ["rrr"]),
        ("..r??r..", ["r??r"]),
        ("..?rr?..", ["rr"]),
        ("..rrsrr..", ["rr", "rr"]),
        ("..t?????r..", ["t?????r"]),
    ],
)
def test_grammar(symbols: str, expected: list[str]) -> None:
    assert shapes(outages(probes(symbols))) == expected


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ("..r.r.r..", ["r.r.r"]),
        ("..rr.rr...", ["rr.rr"]),
        ("..rr..rr..", ["rr", "rr"]),
        ("..rr.?.rr..", ["rr", "rr"]),
        ("..rr.", ["rr"]),
    ],
)
def test_two_good_probes_close_where_flapping_is_damped(symbols: str, expected: list[str]) -> None:
    assert shapes(outages(probes(symbols), close_after=2)) == expected


def test_instants_of_an_outage() -> None:
    (outage,) = outages(probes("..rr..", took=0.5), source="probe.log")
    assert outage.began == Instant(120, 120.5)
    assert outage.onset == Instant(60.5, 120.5, "computed")
    assert outage.ended == Instant(240, 240.5)
    assert (outage.first, outage.failed, outage.source) == ("r", 2, "probe.log")
    assert [place.line for place in outage.places] == [3, 4]


def test_who_waits_in_vain_was_not_served_from_the_start() -> None:
    (outage,) = outages(probes("..tt..", took=30.0))
    assert outage.onset == Instant(90, 120, "computed")


def test_a_good_probe_that_ends_after_the_first_failing_one_began_bounds_nothing() -> None:
    slow = Probe(at=Instant(0, 90), symbol=".")
    (outage,) = outages([slow, *probes("tt", start=60)])
    assert outage.onset == Instant(60, 60, "computed")


def test_log_that_begins_inside_an_outage() -> None:
    (outage,) = outages(probes("rr.."))
    assert outage.onset == Instant(0, 0, "computed")
    assert outage.ended == Instant(120, 120)


def test_outage_that_lasts() -> None:
    (outage,) = outages(probes("..rr"))
    assert outage.ended is None


def test_one_good_probe_is_not_the_end_where_two_are_asked_for() -> None:
    (outage,) = outages(probes("..rr."), close_after=2)
    assert outage.ended is None


def test_damped_outage_ends_with_the_first_of_its_good_probes() -> None:
    (outage,) = outages(probes("..r.r..."), close_after=2)
    assert outage.ended == Instant(300, 300)
    assert outage.failed == 2


def test_few_places_are_kept() -> None:
    (outage,) = outages(probes("." + "r" * 100 + "."))
    assert len(outage.places) == 5


def test_targets_are_kept_apart() -> None:
    both = probes("..rr..", target="a") + probes("..t...", target="b", start=1.0)
    assert [(outage.target, outage.symbols) for outage in outages(both)] == [("a", "rr"), ("b", "t")]


def test_copies_of_a_probe_count_once() -> None:
    made = probes("..rrr..")
    again = [Probe(at=probe.at, symbol=probe.symbol, target=probe.target, text=probe.text) for probe in made[2:]]
    (outage,) = outages(made + again)
    assert outage.failed == 3


def test_two_probes_of_one_second_that_say_different_things_both_count() -> None:
    same = [Probe(at=Instant(0, 0), symbol="r", text=text) for text in ("one", "two", "one")]
    (outage,) = outages([*same, Probe(at=Instant(60, 60), symbol=".")])
    assert outage.failed == 2


def test_where_only_failures_are_on_record_silence_is_the_end() -> None:
    (first, second) = outages(probes("rrr", every=10) + probes("ttt", every=10, start=3600))
    assert (first.symbols, second.symbols) == ("rrr", "ttt")
    assert first.ended == Instant(20, 3600, "computed")
    assert second.ended is None


def test_a_pause_of_the_prober_inside_an_outage_does_not_part_it() -> None:
    assert shapes(outages(probes("..rr" + " " * 30 + "rr.."))) == ["rrrr"]


symbols = st.text(alphabet=".srtef?", max_size=60)


@given(symbols, st.integers(1, 3), st.randoms(use_true_random=False))
def test_outages_partition_the_failing_probes_in_any_order(text: str, close_after: int, order: random.Random) -> None:
    made = probes(text)
    shuffled = list(made)
    order.shuffle(shuffled)
    found = outages(shuffled, close_after=close_after)
    assert found == outages(made, close_after=close_after)
    assert sum(outage.failed for outage in found) == sum(symbol not in ".s?" for symbol in text)
    ends = [outage.ended for outage in found]
    assert all(end is not None and end.earliest <= after.began.earliest for end, after in zip(ends, found[1:], strict=False))
    assert all(outage.symbols[0] not in ".s?" and outage.symbols[-1] not in ".s?" for outage in found)


@given(symbols)
def test_given_twice_is_given_once(text: str) -> None:
    made = probes(text)
    assert outages(made + made) == outages(made)


def test_gaps_are_silences_longer_than_usual() -> None:
    assert gaps(probes("....   ..  ..")) == [Gap(180, 420, "probes")]
    assert gaps(probes("......")) == []


def test_probes_that_could_not_be_made_are_no_coverage() -> None:
    assert gaps(probes("..????..")) == [Gap(60, 360, "probes")]
    assert gaps(probes("..????")) == [Gap(60, 300, "probes")]
    assert gaps(probes("????..")) == [Gap(0, 240, "probes")]


def test_one_target_covers_for_another() -> None:
    both = probes("....     ....", target="a") + probes(".............", target="b", start=1.0)
    assert gaps(both) == []


def test_a_long_wait_is_no_silence() -> None:
    waits = [Probe(at=Instant(600, 1200), symbol="t")]
    assert gaps(probes("..........") + waits + probes("....", start=1260)) == []


def test_coverage_is_the_time_looked_at() -> None:
    made = probes("....   ....")
    assert covered(made) == [(0, 180), (420, 600)]
    assert coverage(made) == 360
    assert coverage([]) == 0


@given(symbols)
def test_covered_and_gaps_fill_the_time_between_the_first_and_the_last_probe(text: str) -> None:
    made = [probe for probe in probes(text) if probe.symbol != "?"]
    if made:
        silent = sum(gap.end - gap.start for gap in gaps(made))
        assert coverage(made) + silent == pytest.approx(made[-1].at.latest - made[0].at.earliest)
