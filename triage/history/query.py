"""Asks the store: incidents with what people have said of them since, newest last; boots, outages, and what is still to be told."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from triage.history.coverage import coverage, seen_until
from triage.model import Boot, Coverage, Family, Outage, Seconds, SourceInfo, Verdict

DISMISSED = "SELECT action = 'dismiss' FROM labels WHERE incident = i.number AND action <> 'relabel' ORDER BY id DESC LIMIT 1"
ENTRY = f"SELECT i.number, i.id, i.class, i.recorded, i.changed, i.told, i.rules, coalesce(({DISMISSED}), 0), i.document FROM incidents i"
LABELS = (
    "SELECT incident, class, family, fault FROM labels WHERE action = 'relabel' AND id IN"
    " (SELECT max(id) FROM labels WHERE action = 'relabel' GROUP BY incident)"
)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One incident of the history. `verdict` has the class that a person gave it, where one did; `judged` is what the rules say."""

    number: int
    id: str
    judged: str
    recorded: Seconds
    changed: Seconds
    told: str
    rules: str
    dismissed: bool
    verdict: Verdict

    @property
    def fault_class(self) -> str:
        return self.verdict.fault_class


class Label(msgspec.Struct, frozen=True):
    """Something that was said of an incident, when and why."""

    at: Seconds
    action: str
    fault_class: str
    reason: str


def entries(db: sqlite3.Connection, *, since: Seconds | None = None, until: Seconds | None = None, dismissed: bool = False) -> list[Entry]:
    """The incidents from `since` to `until`, in order of time; those that were dismissed only where asked for."""
    rows = db.execute(
        f"{ENTRY} WHERE (? IS NULL OR i.sorted_at >= ? OR i.sorted_at = 0) AND (? IS NULL OR i.sorted_at <= ?) ORDER BY i.sorted_at, i.id",
        (since, since, until, until),
    )
    labels = _labels(db)
    found = [_entry(row, labels) for row in rows]
    return [entry for entry in found if dismissed or not entry.dismissed]


def entry_of(db: sqlite3.Connection, name: str) -> list[Entry]:
    """The incident with this id, or one that it once had, or those whose id begins with it."""
    number = db.execute("SELECT number FROM incidents WHERE id = ? UNION SELECT incident FROM aliases WHERE id = ?", (name, name)).fetchone()
    if number:
        rows = db.execute(f"{ENTRY} WHERE i.number = ?", number).fetchall()
    else:
        begins = name if name.isalnum() else ""  # nothing (a shell variable that was never set), or a pattern, names no incident
        rows = db.execute(f"{ENTRY} WHERE ? <> '' AND i.id LIKE ? || '%' ORDER BY i.sorted_at", (begins, begins)).fetchall()
    labels = _labels(db)
    return [_entry(row, labels) for row in rows]


def untold(db: sqlite3.Connection) -> list[Entry]:
    """Incidents that no run has told yet, or that have another class than they had when they were told."""
    labels = _labels(db)
    rows = db.execute(f"{ENTRY} WHERE i.told <> i.class ORDER BY i.sorted_at, i.id")
    return [entry for entry in (_entry(row, labels) for row in rows) if not entry.dismissed]


def mark_told(db: sqlite3.Connection, told: Sequence[Entry]) -> None:
    db.executemany("UPDATE incidents SET told = ? WHERE number = ?", [(entry.judged, entry.number) for entry in told])


def labels_of(db: sqlite3.Connection, number: int) -> list[Label]:
    """What was said of an incident, oldest first."""
    rows = db.execute("SELECT at, action, class, reason FROM labels WHERE incident = ? ORDER BY id", (number,))
    return [Label(*row) for row in rows]


def boots(db: sqlite3.Connection, *, since: Seconds | None = None, until: Seconds | None = None) -> list[Boot]:
    rows = db.execute("SELECT document FROM boots WHERE (? IS NULL OR sorted_at >= ?) AND (? IS NULL OR sorted_at <= ?) ORDER BY sorted_at",
                      (since, since, until, until))  # fmt: skip
    return [msgspec.json.decode(document, type=Boot) for (document,) in rows]


def captured(db: sqlite3.Connection) -> dict[str, dict[str, str]]:
    """What `triage boots capture` kept of each boot, by the boot's id."""
    rows = db.execute("SELECT id, captured FROM boots WHERE captured <> '{}'")
    return {name: {str(key): str(value) for key, value in msgspec.json.decode(document).items()} for name, document in rows}


def outages(db: sqlite3.Connection, *, since: Seconds | None = None, until: Seconds | None = None) -> list[Outage]:
    rows = db.execute("SELECT document FROM outages WHERE (? IS NULL OR last >= ?) AND (? IS NULL OR sorted_at <= ?) ORDER BY sorted_at",
                      (since, since, until, until))  # fmt: skip
    return [msgspec.json.decode(document, type=Outage) for (document,) in rows]


def sources(db: sqlite3.Connection) -> list[SourceInfo]:
    """The logs that were ever recorded, probe logs among them."""
    rows = db.execute("SELECT shown, kind FROM sources UNION SELECT source, kind FROM coverage WHERE kind = 'probe' ORDER BY 1, 2")
    return [SourceInfo(name=name, kind=kind) for name, kind in rows]


def covered(db: sqlite3.Connection, *, since: Seconds | None = None, until: Seconds | None = None) -> Coverage:
    """The time that was seen; where a beginning was asked for and no end, up to now."""
    return coverage(db, since, until if until is not None or since is None else seen_until(db, time.time()))


def _labels(db: sqlite3.Connection) -> dict[int, tuple[str, Family, bool]]:
    return {number: (name, family, bool(fault)) for number, name, family, fault in db.execute(LABELS)}


def _entry(row: Sequence[Any], labels: dict[int, tuple[str, Family, bool]]) -> Entry:
    number, name, judged, recorded, changed, told, rules, dismissed, document = row
    verdict = msgspec.json.decode(document, type=Verdict)
    if number in labels:
        label, family, fault = labels[number]
        verdict = msgspec.structs.replace(verdict, fault_class=label, family=family, fault=fault)
    return Entry(
        number=number, id=name, judged=judged, recorded=recorded, changed=changed, told=told, rules=rules, dismissed=bool(dismissed), verdict=verdict,
    )  # fmt: skip
