"""Dumps that were taken before those of other ranks: how far their ranks had come then is not how far they have come.

A watchdog dumps when its own patience ends, and a job may go on in between. No dump says when it was taken; what others have
finished does: nobody finishes an operation that needs everybody before its last member has entered it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

from triage.parsers.flight_recorder.records import Recording
from triage.verdict.dumps.lateness import LEAST, clocks
from triage.verdict.dumps.records import Difference, Group
from triage.verdict.dumps.waits import created_at, front, needs_everyone

LONGEST_HANG = 1800 * 10**9  # of a hang with usual timeouts, from the last operation of the first rank to that of the last


def outdated(groups: Sequence[Group], unlike: Sequence[Difference | None], recordings: Mapping[int, Recording], full: set[str]) -> frozenset[int]:
    """Ranks whose dump is older than one in which an operation has ended that theirs has not entered, or not seen the end of.

    Who has entered it may have a device that stands still instead: unless the last member came to it when the dump was written, or
    other dumps are known to be older than these.
    """
    judged = [group for group, differs in zip(groups, unlike, strict=True) if group.trusted and differs is None]
    old = frozenset[int]().union(*(_left_over(group, recordings, full) for group in judged))
    return old | _older(without(judged, old), recordings, full)


def without(groups: Sequence[Group], ranks: Set[int]) -> list[Group]:
    """The groups as if the dumps of `ranks` did not tell how far these came."""
    if not ranks:
        return list(groups)
    return [msgspec.structs.replace(g, positions={rank: p for rank, p in g.positions.items() if rank not in ranks}) for g in groups]


def _left_over(group: Group, recordings: Mapping[int, Recording], full: set[str]) -> set[int]:
    """Members that have finished what others have not entered, and did nothing for long before these: left by an earlier hang."""
    found: set[int] = set()
    for ended, lacking in _impossible(group, recordings, full):
        latest = max(recordings[rank].newest for rank in ended)
        if 0 < latest < min(recordings[rank].newest for rank in lacking) - LONGEST_HANG:
            found |= ended
    return found


def _older(groups: Sequence[Group], recordings: Mapping[int, Recording], full: set[str]) -> frozenset[int]:
    early: set[int] = set()
    lagging: set[int] = set()
    for group in groups:
        most = _most_done(group)
        fronts = {rank: first for rank, p in group.positions.items() if (first := front(group, rank, p)) is not None and first <= most}
        early.update(*(lacking for _, lacking in _impossible(group, recordings, full)), _ended_later(group, fronts, recordings))
        lagging |= fronts.keys()
    return frozenset(early | lagging if early else ())


def _most_done(group: Group) -> int:
    return max((p.done for p in group.positions.values()), default=0)


def _impossible(group: Group, recordings: Mapping[int, Recording], full: set[str]) -> Iterator[tuple[set[int], set[int]]]:
    """Members that have finished an operation, and members that have not entered it though nobody can finish it without them."""
    most = _most_done(group)
    lacking: dict[int, set[int]] = {}
    for rank, position in group.positions.items():
        if position.entered < most:
            lacking.setdefault(position.entered + 1, set()).add(rank)
    for never, ranks in lacking.items():
        if needs_everyone(group, never, recordings, full):
            yield {rank for rank, p in group.positions.items() if p.done >= never}, ranks


def _ended_later(group: Group, fronts: Mapping[int, int], recordings: Mapping[int, Recording]) -> set[int]:
    """Members whose dump ends before the last member came to the operation that they wait in (`fronts`), which others have finished."""
    ahead = clocks(group) if fronts else {}
    came = {first: _last_came(group, first, ahead) for first in set(fronts.values())}
    return {rank for rank, first in fronts.items() if came[first] - recordings[rank].newest + ahead.get(rank, 0) >= LEAST * 1e9}


def _last_came(group: Group, sequence: int, ahead: Mapping[int, float]) -> float:
    return max((at - ahead.get(rank, 0) for rank, lane in group.lanes.items() if (at := created_at(lane, sequence))), default=0)
