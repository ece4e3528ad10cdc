"""Finds, for the events of one window of a log, the stored ones that are the very same lines, whatever way they came.

Two events are one line when rule and text are the same and their instants lie no further apart than two ways (docker, journald, a
copy of the file without outer stamps) stamp one line. Each stored line stands for one new line at most.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from triage.model import Event, Seconds

TOLERANCE: Seconds = 2.0
ENOUGH = 0.5  # of the lines of a window that the store should have too, those that it must have to be of the same log
STRANGE = 0.25  # a window of the same log shares more than that with what is stored of its time
FEW = 4
PERIODIC = ("progress", "stall")
Kept = Callable[[Event], bool]


class Stored(msgspec.Struct, frozen=True):
    """What of a stored event is needed to know it again."""

    id: int
    source: int
    segment: int
    position: int
    low: Seconds | None
    high: Seconds | None
    frames: int  # length of the JSON list
    how: str | None


Lines = Mapping[tuple[str, str], Sequence[Stored]]


class Match(msgspec.Struct, frozen=True):
    """Which stored event each new one is (by its index), per source that has any, and how much of the window that source has.

    Of each rule a few lines count, and of one that the source has lines of only those: of a flood each reading keeps others.
    """

    pairs: dict[int, Stored]
    telling: int
    expected: int

    @property
    def is_same_log(self) -> bool:
        return self.telling > 0 and self.telling >= ENOUGH * self.expected

    @property
    def is_other_log(self) -> bool:
        """Whether the source covers this window and has hardly any of its telling lines: another engine's log under the same name."""
        return self.expected >= FEW and self.telling < STRANGE * self.expected


def matches(db: sqlite3.Connection, events: Sequence[Event], is_kept: Kept, *, kernel: bool) -> dict[int, Match]:
    """For each stored source with lines in the time of `events`: the pairs of lines that are the same.

    `is_kept` says of an event whether the store has all lines like it, so that one which is missing tells of another log.
    """
    timed = [e.at for e in events if e.at]
    if not timed:
        return {}
    low, high = min(t.earliest for t in timed) - TOLERANCE, max(t.latest for t in timed) + TOLERANCE
    stored: dict[int, dict[tuple[str, str], list[Stored]]] = defaultdict(lambda: defaultdict(list))
    spans: dict[int, tuple[Seconds, Seconds]] = {}
    for rule, text, *rest in db.execute(
        "SELECT rule, text, id, source, segment, position, at_low, at_high, length(frames), how FROM events"
        " WHERE sorted_at BETWEEN ? AND ? AND at_low IS NOT NULL AND (origin = 'kernel') = ? ORDER BY sorted_at, position",
        (low, high, kernel),
    ):
        known = Stored(*rest)
        stored[known.source][rule, text].append(known)
        if known.low is not None:
            before = spans.get(known.source, (known.low, known.low))
            spans[known.source] = min(before[0], known.low), max(before[1], known.low)
    return {source: _match(events, lines, spans[source], is_kept) for source, lines in stored.items()}


def _match(events: Sequence[Event], stored: Lines, span: tuple[Seconds, Seconds], is_kept: Kept) -> Match:
    pairs = _pairs(events, stored)
    told: dict[str, Counter[bool]] = defaultdict(Counter)
    for index, event in enumerate(events):
        if event.kind not in PERIODIC and event.at and span[0] - TOLERANCE <= event.at.earliest <= span[1] + TOLERANCE:
            told[event.rule][index in pairs] += int(index in pairs or is_kept(event))
    known = [min(lines[True], FEW) for lines in told.values()]
    strange = [min(lines[False], FEW) for lines in told.values() if not lines[True]]
    return Match(pairs, sum(known), sum(known) + sum(strange))


def _pairs(events: Sequence[Event], stored: Lines) -> dict[int, Stored]:
    """Each event with its line: those of the very same instant first, since of a flood of equal lines each has a neighbour in reach."""
    pairs: dict[int, Stored] = {}
    used: set[int] = set()
    for within in (0.0, TOLERANCE):
        for index, event in enumerate(events):
            if index not in pairs and (known := _nearest(event, stored.get((event.rule, event.text), ()), used, within)) is not None:
                used.add(known.id)
                pairs[index] = known
    return pairs


def _nearest(event: Event, known: Sequence[Stored], used: set[int], within: Seconds) -> Stored | None:
    best, distance = None, within
    for one in known:
        if one.id in used or one.low is None or one.high is None or event.at is None:
            continue
        apart = max(0.0, one.low - event.at.latest, event.at.earliest - one.high)
        if apart < distance or (best is None and apart <= distance):
            best, distance = one, apart
            if not apart:
                break
    return best
