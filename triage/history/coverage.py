"""Remembers what time was seen by which source, so that a quiet week and a week that nobody looked at are told apart."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import pairwise

from triage.model import Coverage, Gap, Seconds

IDLE: Seconds = 3600.0
"""Two readings of one log that lie no further apart are one stretch: an idle engine writes nothing."""
SHORTEST_GAP: Seconds = 60.0
Stretch = tuple[Seconds, Seconds]


def cover(db: sqlite3.Connection, kind: str, source: str, stretches: Iterable[Stretch], every: Seconds) -> None:
    """Add stretches (seconds since the epoch) of one source; those no further than `every` from others of it become one with them."""
    for start, end in stretches:
        touching = db.execute(
            'SELECT start, "end" FROM coverage WHERE kind = ? AND source = ? AND start <= ? AND "end" >= ?',
            (kind, source, end + every, start - every),
        ).fetchall()
        low, high = min([start, *(row[0] for row in touching)]), max([end, *(row[1] for row in touching)])
        db.executemany("DELETE FROM coverage WHERE kind = ? AND source = ? AND start = ?", [(kind, source, row[0]) for row in touching])
        db.execute("INSERT INTO coverage VALUES (?, ?, ?, ?, ?)", (kind, source, low, high, every))


def coverage(db: sqlite3.Connection, since: Seconds | None, until: Seconds | None) -> Coverage:
    """What part of the time from `since` to `until` some source covered, and what part none did."""
    rows = db.execute('SELECT start, "end" FROM coverage ORDER BY start').fetchall()
    if not rows:
        return Coverage()
    start = rows[0][0] if since is None else since
    end = max(row[1] for row in rows) if until is None else until
    if end <= start:
        return Coverage()
    seen = _merged((max(low, start), min(high, end)) for low, high in rows if high > start and low < end)
    edges = [(start, start), *seen, (end, end)]
    gaps = (Gap(before[1], after[0], "neither log nor probe") for before, after in pairwise(edges))
    return Coverage(start=start, end=end, gaps=tuple(gap for gap in gaps if gap.end - gap.start >= SHORTEST_GAP))


def seen_until(db: sqlite3.Connection, now: Seconds) -> Seconds | None:
    """Where a look at the time up to `now` ends: where the sources end, unless they have been silent for longer than an idle engine is."""
    last: Seconds | None = db.execute('SELECT max("end") FROM coverage').fetchone()[0]
    return now if last is not None and now - last > IDLE else last


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
