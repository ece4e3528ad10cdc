"""Which hosts carry a class: the chance is that of the exact distribution, and what chance does often is never told as remarkable."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.fleet.carriers import RARE, _chance, bursts_of, carriers
from triage.fleet.load import Fleet

DAY = 86400.0


def fleet(times: dict[str, list[float]], seen: dict[str, float], name: str = "cublas-fault") -> Fleet:
    return Fleet(hosts=tuple(sorted(seen)), seen=seen, counts=(), times={(name, host): tuple(own) for host, own in times.items() if own})


def exact(hits: int, of: int, share: Fraction) -> Fraction:
    return sum((math.comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(hits, of + 1)), Fraction(0))


@given(st.integers(0, 60), st.integers(0, 60), st.fractions(Fraction(1, 500), Fraction(499, 500), max_denominator=500))
def test_the_tail_is_the_binomial_one(hits: int, more: int, share: Fraction) -> None:
    assert _chance(hits, hits + more, float(share)) == pytest.approx(float(exact(hits, hits + more, share)), rel=1e-9, abs=1e-300)


@given(st.lists(st.floats(0, 1e6), max_size=40))
def test_bursts_are_no_more_than_crashes_and_all_that_lie_apart(times: list[float]) -> None:
    bursts = bursts_of(times)
    assert (bursts == 0) == (not times)
    assert bursts <= len(times)
    assert bursts_of([*times, *times]) == bursts
    assert bursts_of([*times, 1e9]) == bursts + 1


def test_a_crash_without_a_time_is_one_of_its_own() -> None:
    assert bursts_of([None, 0.0, None, 10.0]) == 3


def test_a_bad_host_stands_out_with_what_was_expected_of_it() -> None:
    hosts = [f"h{number}" for number in range(10)]
    times = {"h3": [day * DAY for day in range(8)], "h5": [DAY], "h6": [2 * DAY]}
    (found,) = carriers(fleet(times, dict.fromkeys(hosts, 30 * DAY)))
    assert (found.host, found.count, found.of, found.hosts, found.most) == ("h3", 8, 10, 3, ("h3",))
    assert found.expected == pytest.approx(1.0)
    assert found.chance == pytest.approx(10 * float(exact(8, 10, Fraction(1, 10))))
    assert found.stands_out


def test_a_host_that_was_seen_for_longer_may_have_more() -> None:
    times = {"old": [day * DAY for day in range(9)], "new": [0.0]}
    (found,) = carriers(fleet(times, {"old": 270 * DAY, "new": 30 * DAY}))
    assert not found.stands_out
    assert found.chance == 1.0


def test_a_crash_loop_is_one_crash() -> None:
    times = {"h1": [60.0 * step for step in range(50)], "h2": [DAY]}
    (found,) = carriers(fleet(times, dict.fromkeys(("h1", "h2", "h3"), 30 * DAY)))
    assert (found.host, found.count, found.bursts, found.all_bursts) == ("h1", 50, 1, 2)
    assert not found.stands_out


def test_of_a_host_that_nobody_watched_nothing_can_be_told() -> None:
    (found,) = carriers(fleet({"h1": [0.0, DAY, 2 * DAY], "h2": [DAY]}, {"h1": 0.0, "h2": 30 * DAY}))
    assert (found.host, found.expected, found.chance, found.stands_out) == ("h1", None, None, False)


def test_the_chance_counts_for_every_host_and_class_that_was_looked_at() -> None:
    seen = dict.fromkeys([f"h{number}" for number in range(20)], 30 * DAY)
    one = Fleet(hosts=tuple(seen), seen=seen, counts=(), times={("a", "h1"): (0.0, DAY, 2 * DAY)})
    many = Fleet(hosts=tuple(seen), seen=seen, counts=(), times=one.times | {(f"c{number}", "h2"): (0.0,) for number in range(9)})
    alone = carriers(one)[0].chance
    assert alone == pytest.approx(20 * (1 / 20) ** 3)
    assert carriers(many)[0].chance == pytest.approx(10 * 20 * (1 / 20) ** 3)


def test_hosts_that_are_alike_stand_out_no_more_often_than_is_promised() -> None:
    dice = random.Random(5)
    alarms = 0
    for _ in range(400):
        seen = {f"h{number}": dice.uniform(1, 30) * DAY for number in range(15)}
        times: dict[str, list[float]] = {}
        for _ in range(12):
            times.setdefault(dice.choices(list(seen), list(seen.values()))[0], []).append(dice.uniform(0, 9000) * DAY)
        alarms += any(found.stands_out for found in carriers(fleet(times, seen)))
    assert alarms <= 400 * RARE
