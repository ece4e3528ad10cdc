"""Events as rows of the store and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from triage.model import Event, Instant, Place, Seconds

COLUMNS = (
    "source", "segment", "position", "sorted_at", "at_low", "at_high", "how", "kind", "rule", "role", "class", "text", "process", "pid", "rank",
    "level", "host", "stream", "origin", "data", "frames", "follows", "file", "offset", "line",
)  # fmt: skip
SELECTED = ", ".join(f"e.{name}" for name in COLUMNS)
INSERT = f"INSERT INTO events ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


def row_of(event: Event, source: int, segment: int, position: int, sorted_at: Seconds) -> tuple[Any, ...]:
    """The row of one event: `position` counts bytes within its segment, `sorted_at` is its time or that of a neighbour."""
    at, where = event.at, event.place
    return (
        source, segment, position, sorted_at, at.earliest if at else None, at.latest if at else None, at.how if at else None, event.kind,
        event.rule, event.role, event.fault, event.text, event.process, event.pid, event.rank, event.level, event.host, event.stream, event.origin,
        msgspec.json.encode(event.data).decode(), msgspec.json.encode(event.frames).decode(), event.follows, where.file, where.offset, where.line,
    )  # fmt: skip


def event_of(row: Sequence[Any], *, source: str, stream: str, order: int) -> Event:
    """The event of a row (COLUMNS) of the source and stream that it was found to belong to, as the `order`-th byte of that source.

    Its place has `order` as offset, since offsets of several windows of one log are not comparable.
    """
    low, high, how, kind, rule, role, fault, text, process, pid, rank, level, host, _, origin, data, frames, follows, file, _, line = row[4:]
    return Event(
        kind=kind,
        rule=rule,
        place=Place(source, file, order, line),
        text=text,
        at=Instant(low, high, how) if low is not None else None,
        stream=stream,
        role=role,
        fault=fault,
        process=process,
        pid=pid,
        rank=rank,
        level=level,
        host=host,
        data=msgspec.json.decode(data),
        frames=tuple(msgspec.json.decode(frames)),
        order=order,
        origin=origin,
        follows=bool(follows),
    )
