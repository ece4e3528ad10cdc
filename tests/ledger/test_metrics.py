"""What a monitoring system is told of mitigations: each has one status, and one without effect drifts."""

from __future__ import annotations

import pytest

from tests.ledgers import death, lives, mitigation, stand
from triage.ledger.metrics import metrics
from triage.ledger.standing import STATUSES

FAULTS = [death(n + 0.999, boot=f"0@{n}") for n in range(17)]


@pytest.mark.parametrize(("value", "status", "drifts"), [("1", "void", 1.0), ("0", "supported", 0.0)])
def test_a_change_that_no_boot_carries_drifts(value: str, status: str, drifts: float) -> None:
    found = stand(mitigation(17, ("claimed", 17)), [*lives(*range(18)), *lives(17, 21, value=value)], FAULTS, 21)
    told = {metric.name: {tuple(labels.items()): number for labels, number in metric.values} for metric in metrics([found], intact=True)}
    statuses = {labels[-1][1]: number for labels, number in told["triage_mitigation_status"].items()}
    assert statuses == {word: float(word == status) for word in STATUSES}
    assert list(told["triage_config_drift"].values()) == [drifts]
