"""Where every mitigation stands, in numbers for a monitoring system."""

from __future__ import annotations

from collections.abc import Sequence

from triage.history.metrics import Metric
from triage.ledger.standing import STATUSES, Standing

MOST = 1e9


def metrics(standings: Sequence[Standing], *, intact: bool) -> list[Metric]:
    """The metrics of the ledger; one of the statuses of a mitigation is 1, the others 0."""
    named = [(s, {"id": s.name, "class": s.mitigation.entry.fault_class}) for s in standings]
    status = tuple(({**labels, "status": word}, float(word == s.status)) for s, labels in named for word in STATUSES)
    watched = [(s, s.progress) for s in standings if s.progress is not None]
    expected = tuple(({"id": s.name}, round(now.intervals, 4)) for s, now in watched)
    evidence = tuple(({"id": s.name}, round(min(now.e_value, MOST), 4)) for s, now in watched)
    drifted = tuple(({"id": s.name}, float(s.status == "void")) for s in standings)
    return [
        Metric("triage_mitigation_status", "Where a mitigation stands: 1 for its status, 0 for the others.", "gauge", status),
        Metric("triage_mitigation_expected_failures", "Fault intervals of clean exposure since a mitigation took effect.", "gauge", expected),
        Metric("triage_mitigation_e_value", "Evidence that the fault comes as much less as claimed; 20 is asked for.", "gauge", evidence),
        Metric("triage_config_drift", "Whether what was booted is not what a mitigation says: it has no effect.", "gauge", drifted),
        Metric("triage_ledger_intact", "Whether the journal of mitigations is as it was written.", "gauge", (({}, float(intact)),)),
    ]
