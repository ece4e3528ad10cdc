"""Time with nothing to do is no evidence: an idle engine is as quiet as one that is well."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lives import Life, log
from triage.knowledge.load import load
from triage.ledger.evidence import evidence_of
from triage.ledger.frequency import exposure_of
from triage.ledger.idleness import idle
from triage.ledger.stretches import total
from triage.parsers.options import Options
from triage.pipeline import gather, judged

KNOWN = load()


def worked(path: str) -> tuple[list[float], float]:
    """The idle stretches of a log in minutes, and its exposure in minutes."""
    read = gather([path], KNOWN, options=Options(year=2026))
    findings = judged(read, KNOWN)
    found = idle(read.readings, findings.boots)
    return [(b - a) / 60 for a, b in found], total(exposure_of(evidence_of(findings, idle=found))) / 60


def test_a_long_silence_among_lines_that_come_every_minute_is_idle_time(tmp_path: Path) -> None:
    life = Life(1.0).serves(60)
    life.clock += 3 * 3600
    life.serves(60).dies()
    stretches, exposure = worked(log(tmp_path, life))
    assert stretches == [pytest.approx(181, abs=2)]
    assert exposure == pytest.approx(120, abs=3)


def test_a_busy_engine_is_never_idle(tmp_path: Path) -> None:
    stretches, exposure = worked(log(tmp_path, Life(1.0).serves(120).dies()))
    assert stretches == []
    assert exposure == pytest.approx(120, abs=3)


def test_an_engine_that_prints_no_statistics_shows_no_idle_time(tmp_path: Path) -> None:
    life = Life(1.0).serves(0)
    life.clock += 5 * 3600
    stretches, exposure = worked(log(tmp_path, life.dies()))
    assert stretches == []
    assert exposure == pytest.approx(300, abs=3)


def test_as_long_as_a_hang_takes_is_no_idle_time(tmp_path: Path) -> None:
    """A gap of twenty minutes, as a hang makes one, is left alone."""
    life = Life(1.0).serves(60)
    life.clock += 1200
    stretches, _ = worked(log(tmp_path, life.serves(30).dies()))
    assert stretches == []
