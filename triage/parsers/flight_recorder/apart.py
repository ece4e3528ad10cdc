"""Dumps of an earlier hang that lie among those of a later one: a rank that leaves none this time leaves its old file where it was."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise

import msgspec

from triage.model import Problem
from triage.parsers.flight_recorder.records import Lane, RankDumps, Recording

# Clocks of hosts are not that far apart, and no operation waits that long.
FAR = 24 * 3600 * 10**9


def parted(dumps: RankDumps) -> list[RankDumps]:
    """The dumps, those that are more than a day older each as a hang of their own, the latest first.

    A rank that was idle for long is not one of an earlier hang: what it did last, the others did at the same time.
    """
    told = sorted((r for r in dumps.recordings if r.newest), key=lambda r: r.newest)
    cuts = [i for i, (one, other) in enumerate(pairwise(told), 1) if other.newest - one.newest > FAR and not _met(one, told[i:])]
    if not cuts:
        return [dumps]
    parts = [told[start:end] for start, end in pairwise([0, *cuts, len(told)])]
    latest = [*parts.pop(), *(r for r in dumps.recordings if not r.newest)]
    older = tuple(Problem(r.file, _why(r), lost=False) for part in parts for r in part)
    return [_only(dumps, latest, older), *(_only(dumps, part, ()) for part in reversed(parts))]


def _met(early: Recording, late: Iterable[Recording]) -> bool:
    """Whether an operation of the early one was also one of the late ones, at about the same time."""
    lanes = {lane.name: lane for lane in early.lanes}
    return any(_together(lanes[lane.name], lane) for recording in late for lane in recording.lanes if lane.name in lanes)


def _together(one: Lane, other: Lane) -> bool:
    times = dict(zip(one.numbers(), one.times(), strict=True))
    return any(abs(at - times[number]) <= FAR for number, at in zip(other.numbers(), other.times(), strict=True) if number in times)


def _why(recording: Recording) -> str:
    last = datetime.fromtimestamp(recording.newest / 1e9, UTC)
    return f"its last operation is of {last:%Y-%m-%d %H:%M} UTC, more than a day before those of the others: taken as of an earlier hang"


def _only(dumps: RankDumps, recordings: Iterable[Recording], problems: tuple[Problem, ...]) -> RankDumps:
    kept = tuple(sorted(recordings, key=lambda recording: recording.rank))
    if problems:
        return msgspec.structs.replace(dumps, recordings=kept, unreadable=(*dumps.unreadable, *problems))
    files = {recording.file for recording in kept}
    return msgspec.structs.replace(dumps, recordings=kept, unreadable=tuple(p for p in dumps.unreadable if p.file in files), lost=())
