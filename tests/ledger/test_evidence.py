"""What a ledger is held against: when an engine is known to have served, on which axis, and which deaths those are."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from tests.lives import Life, log
from triage.ledger.evidence import evidence_of, on_hosts
from triage.ledger.stretches import total
from triage.model import Boot, Coverage, Findings, Instant, SourceInfo
from triage.parsers.options import Options

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600.0


def boot(name: str, source: str, start: float | None, ready: float | None, end: float | None, boundary: str = "banner") -> Boot:
    times = [Instant.sharp(at) if at is not None else None for at in (start, ready, end)]
    return Boot(id=name, source=source, engine="vllm", start=times[0], ready=times[1], end=times[2], boundary=boundary)


def served(*boots: Boot, end: float = 100.0, last: dict[str, float] | None = None) -> dict[str, tuple[float, float]]:
    """From when to when each boot served."""
    sources = tuple(SourceInfo(name=n, kind="engine", first=Instant.sharp(0.0), last=Instant.sharp(at)) for n, at in (last or {}).items())
    found = evidence_of(Findings(rules="", boots=boots, coverage=Coverage(start=0.0, end=end), sources=sources))
    return {life.boot.id: (life.start, life.end) for life in found.lives}


def test_a_boot_serves_from_ready_to_its_end_the_next_boot_or_where_evidence_ends() -> None:
    told = served(boot("a", "log", 0, 5, 40), boot("b", "log", 41, 45, None), boot("c", "log", 60, 66, None))
    assert told == {"a": (5, 40), "b": (45, 60), "c": (66, 100)}


def test_a_boot_that_was_never_ready_served_nobody() -> None:
    assert served(boot("a", "log", 0, None, 40)) == {}


def test_a_log_that_begins_in_the_middle_of_a_life_shows_it_from_there() -> None:
    assert served(boot("a", "log", None, None, 40, "log begins"), last={"log": 100.0}) == {"a": (0.0, 40)}


def test_where_one_of_several_logs_ends_its_engine_is_no_longer_seen() -> None:
    assert served(boot("a", "one", 0, 5, None), boot("b", "two", 0, 5, None), last={"one": 50.0, "two": 100.0}) == {"a": (5, 50), "b": (5, 100)}
    assert served(boot("a", "one", 0, 5, None), last={"one": 50.0}) == {"a": (5, 100)}


def test_what_lies_outside_the_window_is_cut_off(tmp_path: Path) -> None:
    path = log(tmp_path, Life(1.0).serves(60).dies(), Life(3.0, pid=200).serves(60).dies())
    findings = triage.classify(path, options=Options(year=2026))
    whole = evidence_of(findings)
    assert whole.until is not None
    half = evidence_of(findings, until=whole.until - HOUR)
    assert (len(whole.deaths), len(half.deaths)) == (2, 1)
    assert total([life.stretch for life in whole.lives]) == pytest.approx(2 * HOUR, abs=200)
    assert total([life.stretch for life in half.lives]) == pytest.approx(HOUR, abs=200)


def test_deaths_of_one_engine_lie_on_its_axis() -> None:
    found = evidence_of(triage.classify(ROOT / "fixtures" / "two-pods-interleaved"))
    axes = {life.boot.id: life.axis for life in found.lives}
    assert len(set(axes.values())) == 2
    assert [death.axis for death in found.deaths if death.fault] == [axes[death.boot] for death in found.deaths if death.fault]


def test_stops_are_kept_and_told_from_faults() -> None:
    found = evidence_of(triage.classify(ROOT / "fixtures" / "two-fixes" / "logs"))
    assert (sum(death.fault for death in found.deaths), sum(not death.fault for death in found.deaths)) == (17, 5)
    assert {death.fault_class for death in found.deaths if not death.fault} == {"external-stop"}


@pytest.mark.parametrize(
    ("hosts", "names", "on"),
    [
        ((), ("gpu-a",), True), (("gpu-a",), ("gpu-a",), True), (("gpu-a",), ("gpu-b",), False), (("gpu-a",), ("vllm@gpu-a",), True),
        (("gpu-a",), (), True), (("gpu-a",), ("",), True),
    ],
)  # fmt: skip
def test_what_names_no_host_may_be_on_any(hosts: tuple[str, ...], names: tuple[str, ...], on: bool) -> None:
    assert on_hosts(hosts, *names) is on
