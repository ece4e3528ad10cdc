"""Healthy logs with scary words in them raise no alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage

HEALTHY = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "healthy").glob("*.log"))
STOPPED_IN_ORDER = {"external-stop"}


def test_there_are_enough_of_them() -> None:
    assert len(HEALTHY) >= 12


@pytest.mark.parametrize("log", HEALTHY, ids=lambda path: path.stem)
def test_no_alarm(log: Path) -> None:
    findings = triage.classify([str(log)])
    told = [(v.fault_class, v.root.rule if v.root else "", v.root.text if v.root else "") for v in findings.verdicts]
    assert [t for t in told if t[0] not in STOPPED_IN_ORDER] == []
