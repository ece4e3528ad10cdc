"""Keeps what the flight-recorder files of each hang say: one row a hang, from wherever its files were collected."""

from __future__ import annotations

import hashlib
import sqlite3

import msgspec

from triage.model import Dump, Seconds

SAME: Seconds = 5.0


def merge_dumps(db: sqlite3.Connection, dumps: tuple[Dump, ...]) -> Seconds | None:
    """Merge dumps; of two readings of one hang the one with more ranks stays. The earliest onset that changed (0 where one has none)."""
    changed = []
    for dump in dumps:
        known = _same(db, dump)
        if known is not None and known[1] >= len(dump.ranks):
            continue
        row = (known[0] if known else _id(dump), dump.onset.earliest if dump.onset else None, len(dump.ranks), _text(dump))
        db.execute("INSERT OR REPLACE INTO dumps VALUES (?, ?, ?, ?)", row)
        changed.append(dump.onset.earliest if dump.onset else 0.0)
    return min(changed, default=None)


def load_dumps(db: sqlite3.Connection, since: Seconds) -> list[Dump]:
    """The dumps of hangs that began at or after `since`, and those without a time."""
    rows = db.execute("SELECT document FROM dumps WHERE onset IS NULL OR onset >= ? ORDER BY onset, id", (since,))
    return [msgspec.json.decode(document, type=Dump) for (document,) in rows]


def _same(db: sqlite3.Connection, dump: Dump) -> tuple[str, int] | None:
    if dump.onset is None:
        return db.execute("SELECT id, ranks FROM dumps WHERE id = ?", (_id(dump),)).fetchone()  # type: ignore[no-any-return]
    near = db.execute("SELECT id, ranks, document FROM dumps WHERE onset BETWEEN ? AND ?", (dump.onset.earliest - SAME, dump.onset.latest + SAME))
    for number, ranks, document in near:
        known = msgspec.json.decode(document, type=Dump)
        if (known.operation, known.sequence) == (dump.operation, dump.sequence) or known.directory == dump.directory:
            return number, ranks
    return None


def _id(dump: Dump) -> str:
    when = f"{dump.onset.earliest:.0f}" if dump.onset else dump.directory
    return hashlib.sha256(f"{when}\0{dump.operation}\0{dump.sequence}".encode()).hexdigest()[:8]


def _text(dump: Dump) -> str:
    return msgspec.json.encode(dump).decode()
