"""Keeps an engine's periodic lines (stats, batches, progress bars) as they came, and makes events only of those that are asked for.

A busy log has one every few seconds for weeks. What is needed of them are the neighbours of a fault and those around an outage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from triage.knowledge.scanner import Hits
from triage.model import Event, Instant, Place, Seconds
from triage.sources.clock import Clock
from triage.sources.lines import Line, read_line
from triage.sources.pieces import Piece

MOST_KEPT = 8192
AFTER = 2
LONGEST_STALL = 256
MOST_RECALLED = 256
LONGEST_BEAT = 2048
STAMPLESS_PASSED = 16


class Beat(NamedTuple):
    """One periodic line: its place in the order of the source, the index of its rule, its bytes, and how they are laid out."""

    order: int
    rule: int
    raw: bytes
    at: int
    file: str
    offset: int
    layout: frozenset[str]


def beat(piece: Piece, end: int, rule: int, scanned: int) -> Beat:
    """The line around the match that ends at `end`; of a long one only the part that a progress bar wrote last."""
    begin = piece.data.rfind(b"\n", 0, end) + 1
    stop = piece.data.find(b"\n", end)
    stop = stop if stop >= 0 else len(piece.data)
    if stop - begin > LONGEST_BEAT:
        begin, stop = max(begin, piece.data.rfind(b"\r", begin, end) + 1), min(stop, end + LONGEST_BEAT // 2)
    return Beat(scanned + begin, rule, piece.data[begin:stop], end - 1 - begin, piece.file, piece.base + begin, piece.layout)


class Pulse:
    """A sample of one source's periodic lines that never grows beyond some thousands: when it is full, every second one goes."""

    def __init__(self, source: str, clock: Clock, make: Callable[[Line, Place, int, int], Event | None], stalls: frozenset[int]) -> None:
        self._stalls = stalls  # the indices of rules whose lines show that nothing moves
        self.source = source
        self.clock = clock
        self._make = make
        self._beats: list[Beat] = []
        self._stride = 1
        self._skip = 0  # how many hits go by before the next one that belongs to the sample
        self._owed = 0  # how many lines after the last telling one are still to come
        self._last: list[Beat] = []  # the last lines so far that were not given, where nothing telling came after them

    def neighbours(self, piece: Piece, hits: Hits, base: int, telling: Sequence[int]) -> list[Event]:
        """Takes a piece's periodic hits into the sample, and gives the events of those next to the lines at the offsets `telling`.

        `base` turns offsets in the piece into ones that run through the whole source.
        """
        self._sample(piece, hits, base)
        near = set(range(min(self._owed, len(hits))))
        self._owed = max(0, self._owed - len(hits))
        for offset in telling:
            after = bisect_left(hits, (offset, 0))
            near.update(self._before(hits, after))
            near.update(range(after, min(len(hits), after + AFTER)))
            self._owed = max(self._owed, after + AFTER - len(hits))
        beats = [beat(piece, *hits[index], base) for index in near]
        if telling and (not hits or telling[0] < hits[0][0]):
            beats += self._last
        if telling:
            self._last = []
        if hits:
            fresh = [beat(piece, *hits[index], base) for index in self._before(hits, len(hits)) if index not in near]
            goes_on = self._is_stall(hits[0]) and all(map(self._is_stall, hits))
            self._last = [*self._last[:2], *fresh[-1:]] if goes_on and self._last else fresh
        return [event for of in beats if (event := self.event(of)) is not None]

    def rest(self) -> list[Event]:
        """The events of a source's last lines, where nothing telling came after them: how it was at work when last heard of."""
        return [event for of in self._last if (event := self.event(of)) is not None]

    def _before(self, hits: Hits, after: int) -> list[int]:
        """Of the lines before a place: the last, and where that shows no progress also the first such and the one before it."""
        first = after
        while first > 0 and after - first < LONGEST_STALL and self._is_stall(hits[first - 1]):
            first -= 1
        return sorted({index for index in (first - 1, first, after - 1) if 0 <= index < after})

    def _is_stall(self, hit: tuple[int, int]) -> bool:
        return hit[1] in self._stalls

    def _sample(self, piece: Piece, hits: Hits, base: int) -> None:
        self._beats += [beat(piece, end, rule, base) for end, rule in hits[self._skip :: self._stride]]
        self._skip = (self._skip - len(hits)) % self._stride
        while len(self._beats) > MOST_KEPT:
            self._beats = self._beats[::2]
            self._stride *= 2

    def event(self, of: Beat) -> Event | None:
        """The event of one periodic line; None where its rule does not match it after all."""
        return self._make(self._line(of), Place(self.source, of.file, of.offset), of.rule, of.order)

    def between(self, start: Seconds, end: Seconds) -> list[Event]:
        """Events of the sampled lines from `start` to `end` (seconds since the epoch), by their own stamps."""
        index = self._first_after(start)
        events: list[Event] = []
        while index < len(self._beats) and len(events) < MOST_RECALLED:
            event = self.event(self._beats[index])
            if event is not None and event.at is not None and event.at.earliest > end:
                break
            if event is not None:
                events.append(event)
            index += 1
        return events

    def _first_after(self, moment: Seconds) -> int:
        """The index of the first line at or after `moment`, by bisection: a log's clock runs forwards but for small steps."""
        low, high = 0, len(self._beats)
        while low < high:
            middle = (low + high) // 2
            at = self._instant_near(middle)
            if at is None or at.earliest < moment:
                low = middle + 1
            else:
                high = middle
        return low

    def _instant_near(self, index: int) -> Instant | None:
        for of in self._beats[index : index + STAMPLESS_PASSED]:
            at = self.clock.instant(self._line(of))
            if at is not None:
                return at
        return None

    def _line(self, of: Beat) -> Line:
        return read_line(of.raw, 0, len(of.raw), of.at, of.layout, self.clock)
