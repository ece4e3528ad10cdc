"""Merges probes into the store: every failed one once, and of the good ones those that an outage begins after or ends with.

A year of probes is half a million good ones. An outage needs only its neighbours; how long was probed is kept as coverage.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from triage.model import Instant, Place, Probe, Seconds

GOOD = ".s"
UNTOLD = "f"  # failed, and nothing in that window said how
SAME: Seconds = 0.0015
INSERT = "INSERT INTO probes (series, target, at_low, at_high, how, symbol, text, file, line) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
SELECT = "SELECT id, at_low, at_high, how, symbol, text, target, file, line FROM probes WHERE series = ?"
Edge = tuple[str, int]
Kept = tuple[int | None, Probe]  # the row that a probe has, if any


def series_of(probe: Probe, log: str) -> str:
    """What a probe belongs to: its target, else the log that names none."""
    return probe.target or f"log {log}"


def merge_probes(db: sqlite3.Connection, probes: Sequence[Probe], log: str) -> Seconds | None:
    """Merge the probes of one log; the earliest time at which something is new that an outage could depend on."""
    grouped: dict[str, list[Probe]] = defaultdict(list)
    for probe in probes:
        grouped[series_of(probe, log)].append(probe)
    changed = [at for series, own in grouped.items() if (at := _merge(db, series, own)) is not None]
    return min(changed, default=None)


def load_probes(db: sqlite3.Connection, since: Seconds) -> dict[str, list[Probe]]:
    """The probes of each series from `since` on, each with the good one before that."""
    found = {}
    for (series,) in db.execute("SELECT DISTINCT series FROM probes").fetchall():
        before = db.execute(f"{SELECT} AND at_low < ? AND symbol IN ('.', 's') ORDER BY at_low DESC LIMIT 1", (series, since)).fetchall()
        rows = [*before, *db.execute(f"{SELECT} AND at_low >= ? ORDER BY at_low", (series, since))]
        found[series] = [_probe(row) for row in rows]
    return found


def _merge(db: sqlite3.Connection, series: str, probes: Sequence[Probe]) -> Seconds | None:
    low, high = probes[0].at.earliest, max(p.at.latest for p in probes)
    before = db.execute(f"{SELECT} AND at_low < ? ORDER BY at_low DESC LIMIT 2", (series, low)).fetchall()
    inside = db.execute(f"{SELECT} AND at_low BETWEEN ? AND ?", (series, low, high)).fetchall()
    after = db.execute(f"{SELECT} AND at_low > ? ORDER BY at_low LIMIT 2", (series, high)).fetchall()
    stored: list[Kept] = [(row[0], _probe(row)) for row in (*before, *inside, *after)]
    together = sorted(_united(stored, _thinned([(None, p) for p in probes])), key=lambda kept: (kept[1].at.earliest, kept[1].at.latest))
    kept = _thinned(together)
    rows = {number for number, _ in kept}
    gone = [number for number, _ in stored if number not in rows]
    fresh = [probe for number, probe in kept if number is None]
    db.executemany("DELETE FROM probes WHERE id = ?", [(number,) for number in gone])
    db.executemany(INSERT, [_row(series, probe) for probe in fresh])
    failing = [probe.at.earliest for _, probe in kept if probe.symbol not in GOOD]
    return min((p.at.earliest for p in fresh if p.symbol not in GOOD or (failing and failing[0] < p.at.earliest)), default=None)


def _united(stored: Sequence[Kept], fresh: Iterable[Kept]) -> list[Kept]:
    """All probes once: two are the same when they began or ended at the same moment; the one that is known better stays."""
    by_edge: dict[Edge, int] = {}
    united = list(stored)
    for index, (_, probe) in enumerate(united):
        by_edge.update(dict.fromkeys(_edges(probe), index))
    for kept in fresh:
        twin = next((by_edge[edge] for edge in _edges(kept[1]) if edge in by_edge and _agree(edge, kept[1], united[by_edge[edge]][1])), None)
        if twin is None:
            by_edge.update(dict.fromkeys(_edges(kept[1]), len(united)))
            united.append(kept)
        elif _worth(kept[1]) > _worth(united[twin][1]):
            united[twin] = kept
    return united


def _edges(probe: Probe) -> tuple[Edge, ...]:
    """Where the stamp of a probe can be: at its start; at its end where the start was computed from how long it took, or nobody knows that."""
    start, end = ("start", round(probe.at.earliest / SAME)), ("end", round(probe.at.latest / SAME))
    return (start, end) if probe.at.how == "computed" or probe.at.earliest == probe.at.latest else (start,)


def _agree(edge: Edge, one: Probe, other: Probe) -> bool:
    return edge[0] == "start" or "computed" in (one.at.how, other.at.how)


def _worth(probe: Probe) -> tuple[bool, float]:
    """How much is known of a probe: how it failed, and how long it took."""
    return probe.symbol != UNTOLD, round(probe.at.latest - probe.at.earliest, 3)


def _thinned(probes: Sequence[Kept]) -> list[Kept]:
    """All that failed or could not be made, the neighbours of those, and the first and the last."""
    last = len(probes) - 1
    telling = [probe.symbol not in GOOD for _, probe in probes]
    return [k for i, k in enumerate(probes) if i in (0, last) or telling[i] or telling[i - 1] or telling[i + 1]]


def _row(series: str, probe: Probe) -> tuple[Any, ...]:
    place = probe.place or Place("", "", 0)
    at = probe.at
    return series, probe.target, at.earliest, at.latest, at.how, probe.symbol, probe.text, place.file, place.line


def _probe(row: Sequence[Any]) -> Probe:
    _, low, high, how, symbol, text, target, file, line = row
    return Probe(at=Instant(low, high, how), symbol=symbol, target=target, text=text, place=Place(file, file, 0, line) if file else None)
