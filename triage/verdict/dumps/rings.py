"""What rings no longer hold: where operations that have not ended may have been overwritten, so that a dump does not show all its rank waits in."""

from __future__ import annotations

from collections.abc import Sequence

from triage.parsers.flight_recorder.records import RETIRED, Recording

# A host is hardly this many launches ahead of its device (CUDA's queue is as long), so a longer ring holds all that has not ended.
FURTHEST_AHEAD = 1024


def short(recordings: Sequence[Recording]) -> frozenset[int]:
    """Ranks whose ring wrapped and is so short that operations under way may have been overwritten.

    A dump of active operations only looks like a ring in which none has ended. It is told by what it leaves out: record numbers,
    entries that other ranks have room for, or by positions that say that nothing before its first operation is under way.
    """
    wrapped = [r for r in recordings if r.wrapped and 0 < r.entries < FURTHEST_AHEAD]
    room = max((r.entries for r in recordings), default=0)
    filtering = any(r.only_active and (r.gaps or r.entries < room) for r in wrapped)
    return frozenset(r.rank for r in wrapped if not (r.only_active and (filtering or _shows_all(r))))


def _shows_all(recording: Recording) -> bool:
    """Whether positions say that each group's first open operation is the one after the last that it finished."""
    numbers = {name: number for number, (name, _) in recording.links.items()}
    return not recording.exchanges and all(
        lane.front is not None
        and (status := recording.status.get(numbers.get(lane.name, -1))) is not None
        and lane.front.sequence == max(status.completed, 0) + 1
        for lane in recording.lanes
    )


def may_wait_unseen(recordings: Sequence[Recording]) -> frozenset[int]:
    """Ranks of `short` rings that may wait in an operation that their dump does not show: positions tell of collectives only."""
    lacking = short(recordings)
    if any(r.exchanges or r.exchanging for r in recordings):
        return lacking
    return frozenset(r.rank for r in recordings if r.rank in lacking and not r.status and not _shows_what_is_open(r))


def _shows_what_is_open(recording: Recording) -> bool:
    """Whether the entries of each group begin with one that has ended, or with its first."""
    begun = {lane.name for lane in recording.lanes if lane.progress and (lane.progress[0] >= RETIRED or lane.numbers()[0] <= 1)}
    return {*recording.config, *(lane.name for lane in recording.lanes)} <= begun
