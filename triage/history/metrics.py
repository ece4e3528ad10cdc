"""What the store says in numbers for a monitoring system: names, labels and values, all of it monotone where it is a total."""

from __future__ import annotations

import sqlite3

import msgspec

from triage.history.coverage import coverage, seen_until
from triage.model import UNCLASSIFIED, Seconds

LOOKED_AT = 7 * 86400.0
Labels = dict[str, str]


class Metric(msgspec.Struct, frozen=True):
    """One metric: name, what it means, counter or gauge, and its values by labels."""

    name: str
    help: str
    kind: str
    values: tuple[tuple[Labels, float], ...]


def metrics(db: sqlite3.Connection, now: Seconds) -> list[Metric]:
    """All metrics at `now`; totals count an incident once for each class that it ever had, so they never fall."""
    counted = db.execute("SELECT class, host, instance, count(*) FROM counted GROUP BY class, host, instance ORDER BY 1, 2, 3").fetchall()
    last = db.execute("SELECT class, max(sorted_at) FROM incidents WHERE fault GROUP BY class ORDER BY class").fetchall()
    run, good = db.execute("SELECT max(at), max(CASE WHEN complete THEN at END) FROM runs").fetchone()
    end = seen_until(db, now)
    first = db.execute("SELECT min(start) FROM coverage").fetchone()[0]
    ratio = coverage(db, max(first, end - LOOKED_AT), end).ratio if end else None
    unclassified = sum(count for name, _, _, count in counted if name == UNCLASSIFIED)
    totals = tuple(({"class": c, "host": h, "instance": i}, float(n)) for c, h, i, n in counted)
    return [
        Metric("triage_incidents_total", "Incidents in the history by class, host and log.", "counter", totals),
        Metric("triage_unclassified_total", "Incidents that no rule could name.", "counter", (({}, float(unclassified)),)),
        Metric("triage_last_incident_timestamp_seconds", "When the last incident of a class began.", "gauge",
               tuple(({"class": c}, at) for c, at in last)),
        Metric("triage_last_run_timestamp_seconds", "When a run last recorded.", "gauge", (({}, run),) if run else ()),
        Metric("triage_last_success_timestamp_seconds", "When a run last could read all of its input.", "gauge", (({}, good),) if good else ()),
        Metric("triage_log_coverage_ratio", "Part of the last seven days of the history that a log or a probe covers.", "gauge",
               (({}, ratio),) if ratio is not None else ()),
    ]  # fmt: skip
