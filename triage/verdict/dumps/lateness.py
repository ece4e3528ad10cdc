"""Who came late: creation times of the same operation on all ranks, corrected for the clocks of their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    tables, common = _compared(group)
    offsets = _offsets(tables, common)
    found: dict[int, Late] = {}
    for sequence in common[-LOOKED_AT:]:
        moments = {rank: table[sequence] - offsets[rank] for rank, table in tables.items()}
        at = list(_late_at(group, moments, offsets, sequence))
        if len(common) > 1 or len(at) == 1:  # clocks that nothing tells apart from lateness are off on many hosts, and one rank is late
            found.update((one.rank, one) for one in at)
    return sorted(found.values(), key=lambda one: -one.by)


def clocks(group: Group) -> dict[int, float]:
    """How many ns each member's clock is ahead of most, by operations that all members with a lane entered; empty where there are none."""
    return _offsets(*_compared(group))


def _compared(group: Group) -> tuple[dict[int, dict[int, int]], list[int]]:
    """When each member entered its last operations, and those that all of them entered."""
    tables = {rank: _times(lane) for rank, lane in group.lanes.items() if lane.sequences}
    if len(tables) < 2:
        return {}, []
    return tables, sorted(set.intersection(*(set(table) for table in tables.values())))[-COMPARED:]


def _offsets(tables: Mapping[int, Mapping[int, int]], common: Sequence[int]) -> dict[int, float]:
    usual = {s: median(table[s] for table in tables.values()) for s in common}
    return {rank: _offset(table, usual) for rank, table in tables.items()}


def _times(lane: Lane) -> dict[int, int]:
    return dict(zip(list(lane.numbers())[-2 * COMPARED :], list(lane.times())[-2 * COMPARED :], strict=True))


def _offset(table: Mapping[int, int], usual: Mapping[int, float]) -> float:
    """How far the rank's clock is ahead of most; the median does not see the one operation it came late to, nor does the least of two."""
    ahead = [table[s] - moment for s, moment in usual.items()]
    return median(ahead) if len(ahead) >= FEWEST else min(ahead) if len(ahead) > 1 else 0.0


def _late_at(group: Group, moments: Mapping[int, float], offsets: Mapping[int, float], sequence: int) -> Iterator[Late]:
    usual = median(moments.values()) if len(moments) > 2 else min(moments.values())
    for rank, moment in sorted(moments.items()):
        last = group.lanes[rank].last
        timeout = (last.timeout_ms if last is not None else None) or DEFAULT_TIMEOUT_MS
        if moment - usual >= max(LEAST * 1e9, timeout * 1e6 / 2):
            what = last.signature.operation if last is not None and last.sequence == sequence else ""
            yield Late(rank, group.label, what, sequence, round(moment - usual), round(offsets[rank]), timeout)
