"""Findings as a pandas frame, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from triage import model
from triage.model import Instant
from triage.report.counts import seen_at

if TYPE_CHECKING:
    import pandas


class Findings(model.Findings, frozen=True, kw_only=True):
    """What one run found, with what notebooks want of it."""

    @classmethod
    def of(cls, findings: model.Findings) -> Findings:
        return cls(**{name: getattr(findings, name) for name in findings.__struct_fields__})

    def to_frame(self) -> pandas.DataFrame:
        """One row an incident, with times as pandas timestamps (UTC)."""
        return to_frame(self)


def to_frame(findings: model.Findings) -> pandas.DataFrame:
    """One row an incident: class, family, times (UTC timestamps, NaT where not known), time to death in seconds, root."""
    import pandas

    rows = [
        {
            "id": v.incident.id,
            "class": v.fault_class,
            "family": v.family,
            "fault": v.fault,
            "phase": v.incident.phase,
            "engine": v.incident.engine,
            "host": v.incident.host,
            "onset": _stamp(seen_at(v)),
            "dead": _stamp(v.incident.dead),
            "recovered": _stamp(v.incident.recovered),
            "ttd_low": v.incident.time_to_death.low if v.incident.time_to_death else None,
            "ttd_high": v.incident.time_to_death.high if v.incident.time_to_death else None,
            "dump": v.incident.dump_state,
            "first_probe": v.incident.outage.first if v.incident.outage else "",
            "root": v.root.text if v.root else "",
            "confidence": v.confidence,
        }
        for v in findings.verdicts
    ]
    return pandas.DataFrame(rows, columns=list(rows[0]) if rows else _COLUMNS)


_COLUMNS = (
    "id", "class", "family", "fault", "phase", "engine", "host", "onset", "dead", "recovered",
    "ttd_low", "ttd_high", "dump", "first_probe", "root", "confidence",
)  # fmt: skip


def _stamp(at: Instant | None) -> object:
    import pandas

    return pandas.Timestamp(at.earliest, unit="s", tz="UTC") if at else pandas.NaT
