"""What part of the history new evidence can change, and the evidence of that part as it was read.

A verdict depends on its boot, the next one, and the outages, dumps and kernel lines around it. Failed restarts are folded into the
first failure, so a part begins with a boot that served. What lies before the cut stays as it is.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from triage.history.dumps import load_dumps
from triage.history.probes import load_probes
from triage.history.rows import SELECTED, event_of
from triage.model import Dump, Event, Place, Probe, Seconds

ALWAYS: Seconds = float("-inf")
DAY: Seconds = 86400.0
HOUR: Seconds = 3600.0
BETWEEN_SEGMENTS = 1 << 20  # bytes: no two segments' lines are taken for neighbours


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """Evidence from a cut on. `places` and `rows` tell, by source and order, where an event's line truly stands and in which row."""

    cut: Seconds
    begins: dict[int, Seconds]
    events: tuple[Event, ...] = ()
    probes: dict[str, list[Probe]] = {}
    dumps: tuple[Dump, ...] = ()
    places: dict[tuple[str, int], Place] = {}
    rows: dict[tuple[str, int], int] = {}


def key_of(source: int) -> str:
    """How a stored source is called while its events are joined and judged."""
    return f"#{source}"


def cut_for(db: sqlite3.Connection, earliest: Seconds, touched: Iterable[int]) -> Seconds:
    """From when on everything must be judged again, because evidence at `earliest` or later, of the `touched` sources, is new."""
    cut = earliest - DAY
    for source in set(touched):
        served = db.execute(
            "SELECT sorted_at FROM boots WHERE source = ? AND served AND sorted_at < ? ORDER BY sorted_at DESC LIMIT 2", (source, earliest)
        ).fetchall()
        is_kernel = db.execute("SELECT 1 FROM sources WHERE id = ? AND kind = 'kernel'", (source,)).fetchone()
        if not is_kernel:
            cut = min(cut, served[1][0]) if len(served) == 2 else ALWAYS
        if cut == ALWAYS:
            return ALWAYS
    while (earlier := _straddles(db, cut)) is not None:
        cut = earlier - 1.0
    return cut


def _straddles(db: sqlite3.Connection, cut: Seconds) -> Seconds | None:
    """When the earliest outage or incident began that lasts over the cut, if any does."""
    outage = db.execute("SELECT min(sorted_at) FROM outages WHERE sorted_at < ? AND coalesce(ended, last + ?) >= ?", (cut, HOUR, cut)).fetchone()[0]
    incident = db.execute(
        "SELECT min(sorted_at) FROM incidents WHERE sorted_at < ? AND max(coalesce(dead, 0), coalesce(recovered, 0)) >= ?", (cut, cut)
    ).fetchone()[0]
    return min((at for at in (outage, incident) if at is not None), default=None)


def load_region(db: sqlite3.Connection, cut: Seconds) -> Region:
    """All evidence that verdicts from `cut` on depend on."""
    begins: dict[int, Seconds] = {}
    events: list[Event] = []
    places: dict[tuple[str, int], Place] = {}
    rows: dict[tuple[str, int], int] = {}
    for source, stream, shown, is_kernel, *end in db.execute(
        "SELECT id, stream, shown, kind = 'kernel', end_at, end_file, end_offset, end_segment, end_position FROM sources ORDER BY id"
    ).fetchall():
        begin, first = _begin(db, source, cut, is_kernel)
        begins[source] = begin
        found = _in_order(db, source, begin, first)
        orders = _orders(found)
        for row, order in zip(found, orders, strict=True):
            event = event_of(row[1:], source=key_of(source), stream=stream, order=order)
            events.append(event)
            places[key_of(source), order] = Place(shown, event.place.file, row[-2], row[-1])
            rows[key_of(source), order] = row[0]
        events += [] if is_kernel else _end(source, stream, found, orders, end)
    from_here = cut - DAY
    return Region(
        cut=cut, begins=begins, events=tuple(events), probes=load_probes(db, cut - HOUR), dumps=tuple(load_dumps(db, from_here)),
        places=places, rows=rows,
    )  # fmt: skip


def _begin(db: sqlite3.Connection, source: int, cut: Seconds, is_kernel: bool) -> tuple[Seconds, int | None]:
    """When the events of a source begin that are needed, and the first of them."""
    if is_kernel:
        return cut - HOUR, None
    boot = db.execute(
        "SELECT sorted_at, first_event FROM boots WHERE source = ? AND served AND sorted_at <= ? ORDER BY sorted_at DESC LIMIT 1", (source, cut)
    ).fetchone()
    return (boot[0], boot[1]) if boot else (ALWAYS, None)


def _in_order(db: sqlite3.Connection, source: int, begin: Seconds, first: int | None) -> list[Sequence[Any]]:
    """Rows (id, then COLUMNS) segment by segment, the earliest segment first; from the event `first` on where that is known."""
    found = db.execute(f"SELECT e.id, {SELECTED} FROM events e WHERE e.source = ? AND e.sorted_at >= ? ORDER BY e.position, e.id", (source, begin))
    segments: dict[int, list[Sequence[Any]]] = defaultdict(list)
    for row in found:
        segments[row[2]].append(row)
    ordered = [row for rows in sorted(segments.values(), key=lambda rows: min(row[4] for row in rows)) for row in rows]
    start = next((i for i, row in enumerate(ordered) if row[0] == first), 0)
    return ordered[start:]


def _orders(rows: Sequence[Sequence[Any]]) -> list[int]:
    """A running byte count for each row, the same for rows of one line."""
    orders: list[int] = []
    base, segment = 0, None
    for row in rows:
        if row[2] != segment:
            segment = row[2]
            base = (orders[-1] + BETWEEN_SEGMENTS if orders else 0) - row[3]
        orders.append(base + row[3])
    return orders


def _end(source: int, stream: str, rows: Sequence[Sequence[Any]], orders: Sequence[int], end: Sequence[Any]) -> list[Event]:
    """Where the log ended when it was last read, if that is in the same segment as its last event."""
    _, file, _, segment, position = end
    if not rows or segment is None or rows[-1][2] != segment:
        return []
    order = orders[-1] + max(1, position - rows[-1][3])
    place = Place(key_of(source), file, order)
    return [Event(kind="end", rule="log-ends", place=place, text="", stream=stream, order=order)]
