"""Throughput with and without a change, like with like: bands, whole intervals, and what a mean of all lines would get wrong."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.booting import KNOWN
from triage.knowledge.table import RuleTable
from triage.ledger.cost import FEWEST, _verdict, measure, stretches
from triage.ledger.entry import Cost
from triage.model import Place
from triage.parsers.options import Options
from triage.parsers.throughput import Pace, paces
from triage.sources.find import Source

PLACE = Place("vllm.log", "vllm.log", 0, 1)


def pace(at: float, generation: float, running: int = 1, prompt: float | None = 20.0, waiting: int = 0) -> Pace:
    return Pace(at=at, generation=generation, prompt=prompt, running=running, waiting=waiting, place=PLACE)


def burst(start: float, each: float, running: int = 1, lines: int = 6, prompt: float = 20.0) -> list[Pace]:
    """A stretch of work as it is logged: its first interval is half at work, its last ends with nothing running."""
    whole = [pace(start + 10 * n, each * running, running, prompt) for n in range(lines)]
    return [pace(start, each * running / 2, running, prompt), *whole[1:], pace(start + 10 * lines, each * running / 2, 0, prompt)]


def work(each: float, *, count: int = 8, running: int = 1, seed: int = 0, prompt: float = 20.0, start: float = 0.0) -> list[Pace]:
    chance = Random(seed)
    return [line for n in range(count) for line in burst(start + 1000.0 * n, each * chance.uniform(0.98, 1.02), running, prompt=prompt)]


def test_only_whole_intervals_count() -> None:
    (stretch,) = stretches(burst(0.0, 40.0))
    assert (stretch.mean, stretch.lines) == (40.0, 5)


def test_a_queue_a_gap_or_another_number_of_requests_ends_a_stretch() -> None:
    lines = [pace(0, 40), pace(10, 40), pace(20, 80, 2), pace(30, 80, 2), pace(400, 80, 2), pace(410, 80, 2), pace(420, 80, 2, waiting=3)]
    assert [(s.band[0], s.lines) for s in stretches(lines)] == [(1, 1), (2, 1), (2, 1)]


def test_a_quarter_less_is_measured_within_its_interval() -> None:
    found = measure([work(39.4)], [work(29.9, seed=1)])
    assert found is not None
    assert found.low < 29.9 / 39.4 < found.high
    assert found.high - found.low < 0.03


def test_a_load_test_after_the_change_does_not_hide_its_cost() -> None:
    before, after = [work(40.0)], [[*work(30.0, seed=1), *burst(90_000, 31.0, 8, lines=700)]]
    mean = [sum(p.generation for p in side[0]) / len(side[0]) for side in (before, after)]
    found = measure(before, after)
    assert mean[1] > 2 * mean[0]
    assert found is not None
    assert found.high < 0.8


def test_with_enough_decode_work_prefill_is_left_out() -> None:
    before = [[*work(40.0), *work(20.0, running=5, seed=2, prompt=5000.0, start=1e6)]]
    after = [[*work(30.0, seed=1), *work(20.0, running=5, seed=3, prompt=5000.0, start=1e6)]]
    found = measure(before, after)
    assert found is not None
    assert (found.bands, found.shown) == (1, (1, 0))
    assert found.ratio == pytest.approx(0.75, abs=0.02)


def test_too_little_work_gives_no_figure() -> None:
    assert measure([work(40.0, count=FEWEST - 1)], [work(30.0)]) is None
    assert measure([work(40.0, running=1)], [work(30.0, running=3)]) is None
    assert measure([], []) is None


@given(st.floats(0.2, 5.0), st.integers(0, 1000))
def test_the_other_way_round_is_the_reciprocal(ratio: float, seed: int) -> None:
    one, other = [work(30.0, seed=seed)], [work(30.0 * ratio, seed=seed + 1)]
    there, back = measure(one, other), measure(other, one)
    assert there is not None
    assert back is not None
    assert math.isclose(there.ratio * back.ratio, 1.0, rel_tol=1e-9)
    assert there.low <= there.ratio <= there.high


def test_lines_of_each_engine_are_read(tmp_path: Path) -> None:
    head = "2026-11-02T08:00:{n}0.000000000Z (APIServer pid=1) INFO 11-02 08:00:{n}0 [loggers.py:273] Engine 000: "
    tail = "Avg prompt throughput: 14.2 tokens/s, Avg generation throughput: 3{n}.5 tokens/s, Running: 1 reqs, Waiting: 2 reqs, "
    vllm = [(head + tail).format(n=n) for n in range(3)]
    batch = "#running-req: 4, #token: 912, token usage: 0.01, cuda graph: True, gen throughput (token/s): 38.11, #queue-req: 0"
    sglang = [f"[2026-11-02 08:00:01] Decode batch. {batch}"]
    told = []
    for name, lines in (("vllm.log", vllm), ("sglang.log", sglang)):
        file = tmp_path / name
        file.write_text("\n".join([*lines, "a line that tells nothing", ""]), encoding="utf-8")
        read = paces(Source(name, (str(file),)), RuleTable(KNOWN), Options(), [])
        told.append([(p.generation, p.prompt, p.running, p.waiting, p.place.line) for p in read])
    assert told == [[(30.5, 14.2, 1, 2, 1), (31.5, 14.2, 1, 2, 2), (32.5, 14.2, 1, 2, 3)], [(38.11, None, 4, 0, 1)]]


def differing(chance: Random, boots: int, spread: float) -> list[list[Pace]]:
    """Boots whose speed differs from one to the next by chance, with nothing changed."""
    return [work(40.0 * math.exp(chance.gauss(0.0, spread)), seed=chance.randrange(1 << 30)) for _ in range(boots)]


@pytest.mark.parametrize(("without", "having"), [(8, 3), (3, 1)])
def test_boots_that_differ_by_chance_are_no_cost(monkeypatch: pytest.MonkeyPatch, without: int, having: int) -> None:
    """Intervals of 95 % over stretches alone missed the truth in every other of these: the stretches of one boot are alike."""
    monkeypatch.setattr("triage.ledger.cost.RESAMPLES", 100)
    chance = Random(7)
    found = [measure(differing(chance, without, 0.02), differing(chance, having, 0.02)) for _ in range(100)]
    missed = sum(1 for one in found if one is None or not one.low <= 1 <= one.high)
    assert missed <= 11  # 5 are expected; more than 11 of 100 have a chance of 1 in 230
    assert {one.boots for one in found if one} == {(without, having)}


def test_one_boot_on_each_side_decides_against_no_stated_figure() -> None:
    alone, several = measure([work(40.0)], [work(36.0)]), measure([work(40.0), work(40.2, seed=3)], [work(36.0)])
    assert alone is not None
    assert several is not None
    assert [_verdict(Cost(), one) for one in (alone, several)] == ["cannot be observed", "fails"]
    assert _verdict(Cost(before=40.0, after=36.0), alone) == "holds"
