"""An incident without a root shows its best lines: nearest to the end, most telling first, and not what the engine survives daily."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from tests.lives import Life, log
from triage.model import Verdict
from triage.parsers.options import Options

BROKE = "slot table broke: page 17 of pool 'kv-17' points to itself"


def verdicts(folder: Path, *lives: Life) -> list[Verdict]:
    return list(triage.classify([log(folder, *lives)]).verdicts)


def told(verdict: Verdict) -> list[str]:
    return [event.data.get("message", event.text) for event in verdict.best_lines]


def test_a_death_that_no_rule_explains_shows_the_loud_lines_before_it(tmp_path: Path) -> None:
    life = Life(3).serves().worker(1, "ERROR", "pool.py:144", BROKE).worker(1, "WARNING", "pool.py:20", "the pool was lost").dies()
    (verdict,) = verdicts(tmp_path, life)
    assert verdict.fault_class == "unclassified"
    assert told(verdict) == [BROKE, "the pool was lost"]


def test_an_exception_below_the_mark_of_a_death_counts_as_much(tmp_path: Path) -> None:
    life = Life(3).serves().worker(1, "WARNING", "pool.py:20", "the pool was lost").dies().core("ERROR", "core.py:844", "acme.Fault: page 17")
    (verdict,) = verdicts(tmp_path, life)
    assert told(verdict) == ["acme.Fault: page 17", "the pool was lost"]


def test_what_the_engine_went_on_from_is_quiet_and_its_like_comes_last(tmp_path: Path) -> None:
    life = Life(3).serves(1).worker(0, "ERROR", "x.py:1", "hiccup 1: a peer was lost").serves(2)
    life.worker(0, "ERROR", "x.py:1", "hiccup 2: a peer was lost").worker(1, "WARNING", "pool.py:20", "the pool was lost").dies()
    (verdict,) = verdicts(tmp_path, life)
    assert told(verdict) == ["the pool was lost", "hiccup 2: a peer was lost"]
    assert [event.data["message"] for event in verdict.quiet_lines] == ["hiccup 1: a peer was lost"]


def test_each_life_has_its_own_lines(tmp_path: Path) -> None:
    first = Life(3, pid=100).serves().worker(1, "ERROR", "pool.py:144", BROKE).dies()
    second = Life(5, pid=200).serves().worker(1, "ERROR", "seat.py:1", "the licence server took its seat back").dies()
    assert [told(v) for v in verdicts(tmp_path, first, second)] == [[BROKE], ["the licence server took its seat back"]]


def test_an_engine_that_was_replaced_without_a_word_shows_its_last_loud_line(tmp_path: Path) -> None:
    first = Life(3, pid=100).serves().worker(1, "ERROR", "pool.py:144", BROKE)
    (verdict,) = verdicts(tmp_path, first, Life(5, pid=200).serves())
    assert (verdict.fault_class, told(verdict)) == ("unclassified", [BROKE])


def test_where_nothing_is_loud_the_mark_of_the_death_is_all_there_is(tmp_path: Path) -> None:
    (verdict,) = verdicts(tmp_path, Life(3).serves().dies())
    assert [event.kind for event in verdict.best_lines] == ["death"]


def test_an_outage_that_nothing_died_in_shows_what_was_said_meanwhile(tmp_path: Path) -> None:
    life = Life(3).serves(5).worker(1, "ERROR", "pool.py:144", BROKE, later=30).serves(10)
    rows = [f"2026-11-20T03:{minute:02}:00Z http://a/health {'000 7' if minute in (6, 7) else '200 0'}" for minute in range(1, 16)]
    (tmp_path / "probe.log").write_text("\n".join(rows) + "\n")
    (verdict,) = triage.classify([log(tmp_path, life), str(tmp_path / "probe.log")], options=Options(year=2026)).verdicts
    assert (verdict.fault_class, told(verdict)) == ("unclassified", [BROKE])


@pytest.mark.parametrize("fault", ["RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(handle)`"])
def test_a_named_incident_needs_none(tmp_path: Path, fault: str) -> None:
    (verdict,) = verdicts(tmp_path, Life(3).serves().worker(1, "ERROR", "pool.py:144", BROKE).raises(1, fault).dies())
    assert verdict.fault_class == "cublas-fault"
    assert verdict.best_lines == ()
