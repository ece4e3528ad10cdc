"""Who came late: creation times of the same operation on all ranks, corrected for the clocks of their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median

import msgspec

from triage.parsers.flight_recorder.records import Lane
from triage.verdict.dumps.records import Group

# Operations before the one looked at that the clocks are compared by, and how many of the last ones are looked at.
COMPARED = 128
LOOKED_AT = 32
FEWEST = 3
LEAST = 1.0  # seconds
DEFAULT_TIMEOUT_MS = 600_000


class Late(msgspec.Struct, frozen=True):
    """A rank entered operation `sequence` of `group` this much (ns) after most others, beyond what its clock is off."""

    rank: int
    group: str
    what: str
    sequence: int
    by: int
    offset: int
    timeout_ms: int


def late(group: Group) -> list[Late]:
    """Ranks that came late by at least half of the timeout to one of the last operations that every member with a lane entered."""
    tables = {rank: _times(lane) for rank, lane in group.lanes.items() if lane.sequences}
    if len(tables) < 2:
        return []
    common = sorted(set.intersection(*(set(table) for table in tables.values())))[-COMPARED:]
    usual = {s: median(table[s] for table in tables.values()) for s in common}
    offsets = {rank: _offset(table, usual) for rank, table in tables.items()}
    found = {}
    for sequence in common[-LOOKED_AT:]:
        moments = {rank: table[sequence] - offsets[rank] for rank, table in tables.items()}
        for one in _late_at(group, moments, offsets, sequence):
            found[one.rank] = one
    return sorted(found.values(), key=lambda one: -one.by)


def _times(lane: Lane) -> dict[int, int]:
    return dict(zip(list(lane.numbers())[-2 * COMPARED :], list(lane.times())[-2 * COMPARED :], strict=True))


def _offset(table: Mapping[int, int], usual: Mapping[int, float]) -> float:
    """How far the rank's clock is ahead of most; the median does not see the one operation it came late to."""
    return median(table[s] - moment for s, moment in usual.items()) if len(usual) >= FEWEST else 0.0


def _late_at(group: Group, moments: Mapping[int, float], offsets: Mapping[int, float], sequence: int) -> Iterator[Late]:
    usual = median(moments.values()) if len(moments) > 2 else min(moments.values())
    for rank, moment in sorted(moments.items()):
        last = group.lanes[rank].last
        timeout = (last.timeout_ms if last is not None else None) or DEFAULT_TIMEOUT_MS
        if moment - usual >= max(LEAST * 1e9, timeout * 1e6 / 2):
            what = last.signature.operation if last is not None and last.sequence == sequence else ""
            yield Late(rank, group.label, what, sequence, round(moment - usual), round(offsets[rank]), timeout)
