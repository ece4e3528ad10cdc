"""What people add to the history: another class, a dismissal, or the wish that something be forgotten; each with its time and reason."""

from __future__ import annotations

import sqlite3

from triage.history.query import Entry
from triage.model import Family, Seconds


def relabel(db: sqlite3.Connection, entry: Entry, *, fault_class: str, family: Family, fault: bool, reason: str, at: Seconds) -> None:
    """Say that an incident is of another class; that holds whatever later readings or rules say."""
    _add(db, entry, at, "relabel", fault_class, family, fault, reason)


def dismiss(db: sqlite3.Connection, entry: Entry, *, reason: str, at: Seconds) -> None:
    """Say that an incident does not count: a test, a false alarm."""
    _add(db, entry, at, "dismiss", "", "-", False, reason)


def restore(db: sqlite3.Connection, entry: Entry, *, reason: str, at: Seconds) -> None:
    """Take a dismissal back."""
    _add(db, entry, at, "restore", "", "-", False, reason)


def forget(db: sqlite3.Connection, entry: Entry, *, reason: str, at: Seconds) -> None:
    """Remove an incident with its cited lines; it does not come back when its log is read again."""
    names = [entry.id, *(row[0] for row in db.execute("SELECT id FROM aliases WHERE incident = ?", (entry.number,)))]
    db.executemany("INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?)", [(name, at, reason) for name in names])
    db.execute("DELETE FROM incidents WHERE number = ?", (entry.number,))


def forget_before(db: sqlite3.Connection, before: Seconds) -> int:
    """Remove all evidence and incidents older than `before` (seconds since the epoch); how many incidents went.

    The totals for metrics stay. A log that still holds lines of that time brings them back when it is read again.
    """
    gone = db.execute("DELETE FROM incidents WHERE sorted_at < ? AND sorted_at > 0", (before,)).rowcount
    for table, column in (("events", "sorted_at"), ("boots", "sorted_at"), ("outages", "last"), ("probes", "at_high"), ("dumps", "onset")):
        db.execute(f"DELETE FROM {table} WHERE {column} < ?", (before,))
    db.execute('DELETE FROM coverage WHERE "end" < ?', (before,))
    db.execute("DELETE FROM runs WHERE at < ?", (before,))
    return gone


def _add(db: sqlite3.Connection, entry: Entry, at: Seconds, action: str, name: str, family: str, fault: bool, reason: str) -> None:
    db.execute(
        "INSERT INTO labels (incident, at, action, class, family, fault, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (entry.number, at, action, name, family, fault, reason),
    )
