"""The evidence that the history holds: its boots with what was captured of them, its incidents as people have labelled them, what was seen."""

from __future__ import annotations

import sqlite3

import msgspec

from triage.history import query
from triage.history.coverage import coverage
from triage.ledger.evidence import Evidence, evidence_of
from triage.model import Boot, Findings, Seconds

ENDS = "SELECT s.shown, max(c.\"end\") FROM coverage c JOIN sources s ON s.name = c.source WHERE c.kind = 'log' GROUP BY s.shown"


def remembered(db: sqlite3.Connection, *, since: Seconds | None = None, until: Seconds | None = None) -> Evidence:
    """All that is on record from `since` to `until`. Idle time is not known: the history keeps no progress lines."""
    every = query.entries(db, since=since, until=until, dismissed=True)
    findings = Findings(
        rules=every[-1].rules if every else "",
        boots=tuple(_booted(db, since, until)),
        verdicts=tuple(entry.verdict for entry in every if not entry.dismissed),
        coverage=coverage(db, since, until),
    )
    dismissed = (entry.id for entry in every if entry.dismissed)
    return evidence_of(findings, dismissed=dismissed, since=since, until=until, ends=dict(db.execute(ENDS)))


def _booted(db: sqlite3.Connection, since: Seconds | None, until: Seconds | None) -> list[Boot]:
    """The boots with their configuration: what the log says, and beside it what was captured of environment and container."""
    rows = db.execute("SELECT document, captured FROM boots WHERE (? IS NULL OR coalesce(\"end\", sorted_at) >= ?) AND (? IS NULL OR sorted_at <= ?)"
                      " ORDER BY sorted_at", (since, since, until, until))  # fmt: skip
    booted = ((msgspec.json.decode(document, type=Boot), msgspec.json.decode(captured, type=dict[str, str])) for document, captured in rows)
    return [msgspec.structs.replace(boot, config={**captured, **boot.config}) for boot, captured in booted]
