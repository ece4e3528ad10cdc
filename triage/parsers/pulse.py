"""Keeps an engine's periodic lines (stats, batches, progress bars) as they came, and makes events only of those that are asked for.

A busy log has one every few seconds for weeks. What is needed of them are the neighbours of a fault and those around an outage.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

import msgspec

from triage.knowledge.scanner import Hits
from triage.model import Event, Instant, Place, Seconds
from triage.parsers.again import Again, Stretch
from triage.sources.clock import Clock
from triage.sources.lines import Line, read_line
from triage.sources.pieces import Piece

MOST_KEPT = 8192
AFTER = 2
LONGEST_STALL = 256
MOST_RECALLED = 256
LONGEST_BEAT = 2048
STAMPLESS_PASSED = 16
READ_AGAIN = 8  # pieces of a file at each end of an outage


class Beat(msgspec.Struct, frozen=True):
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
    """A sample of one source's periodic lines, some thousands and one of each part that can be read again: when it is full, every second one goes.

    `stalls`: the rules whose lines show that nothing moves. `again`: the parts that were only swept.
    """

    def __init__(
        self,
        source: str,
        clock: Clock,
        make: Callable[[Line, Place, int, int], Event | None],
        stalls: frozenset[int],
        again: Again,
    ) -> None:
        self._stalls = stalls
        self.source = source
        self.clock = clock
        self._make = make
        self._again = again
        self._beats: list[Beat] = []
        self._stride = 1
        self._skip = 0  # how many hits go by before the next one that belongs to the sample
        self._owed = 0  # how many lines after the last telling one are still to come
        self._last: list[Beat] = []  # the last lines so far that were not given, where nothing telling came after them
        self._read_again: dict[Stretch, list[Beat]] = {}

    @property
    def is_owed(self) -> bool:
        """Whether lines are still wanted that come after a telling one."""
        return self._owed > 0

    def neighbours(self, piece: Piece, hits: Hits, base: int, telling: Sequence[int]) -> list[Event]:
        """The events of a piece's periodic hits next to the lines at the offsets `telling`; remembers the last ones.

        `base` turns offsets in the piece into ones that run through the whole source.
        """
        near = set(range(min(self._owed, len(hits))))
        self._owed = max(0, self._owed - len(hits))
        for offset in telling:
            after = bisect_left(hits, (offset, 0))
            near.update(self._before(hits, after))
            near.update(range(after, min(len(hits), after + AFTER)))
            self._owed = max(self._owed, after + AFTER - len(hits))
        beats = [beat(piece, *hits[index], base) for index in near]
        if telling and all(self._is_stall(hit) for hit in hits[: min(LONGEST_STALL, bisect_left(hits, (telling[0], 0)))]):
            beats += self._last  # what came before a stall that began in an earlier piece, or at the very beginning of this one
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

    def sample(self, piece: Piece, hits: Hits, base: int) -> None:
        """Takes all of a piece's periodic hits into the sample, or every so many of them."""
        self._beats += [beat(piece, end, rule, base) for end, rule in hits[self._skip :: self._stride]]
        self._skip = (self._skip - len(hits)) % self._stride
        while len(self._beats) > MOST_KEPT:
            self._beats = self._beats[::2]
            self._stride *= 2

    def pass_by(self, piece: Piece, hits: Hits, base: int) -> None:
        """Takes the first periodic line of a piece into the sample, and remembers where to find the others."""
        if hits:
            self._beats.append(beat(piece, *hits[0], base))
            self._again.note(piece, base, self._beats[-1].order - base, self._beats[-1].raw)

    def event(self, of: Beat) -> Event | None:
        """The event of one periodic line; None where its rule does not match it after all."""
        return self._make(self._line(of), Place(self.source, of.file, of.offset), of.rule, of.order)

    def between(self, start: Seconds, end: Seconds) -> list[Event]:
        """Events of the lines from `start` to `end` (seconds since the epoch), by their own stamps, and of the nearest one on each side.

        All of them near both ends, where the file can be read again, else those of the sample; some in between.
        """
        beats = self._around(self._beats, start, end, 1)
        first, stop = (beats[0].order if beats else 0), (beats[-1].order if beats else 0)
        again = self._again.within(first, stop) if beats else []
        if len(again) > 2 * READ_AGAIN:
            again = again[:READ_AGAIN] + again[-READ_AGAIN:]
        dense = {(of.order, of.rule): of for of in (*beats, *(of for stretch in again for of in self._all_of(stretch)))}
        wanted = self._around([dense[place] for place in sorted(dense)], start, end, 1)
        return [event for of in _thinned(wanted) if (event := self.event(of)) is not None]

    def _around(self, beats: list[Beat], start: Seconds, end: Seconds, margin: int) -> list[Beat]:
        """Those of the beats, which are in order, that lie in a span of time, and so many more on each side."""
        return beats[max(0, self._first_after(beats, start) - margin) : self._first_after(beats, end) + margin]

    def _all_of(self, stretch: Stretch) -> list[Beat]:
        """The periodic lines of a part of a file, read again; none where the file is no longer what it was."""
        if stretch not in self._read_again:
            if len(self._read_again) >= 2 * READ_AGAIN:
                self._read_again.pop(next(iter(self._read_again)))
            found = self._again.read(stretch)
            self._read_again[stretch] = [] if found is None else [beat(found[0], *hit, stretch.order) for hit in found[1]]
        return self._read_again[stretch]

    def _first_after(self, beats: list[Beat], moment: Seconds) -> int:
        """The index of the first line at or after `moment`, by bisection: a log's clock runs forwards but for small steps."""
        low, high = 0, len(beats)
        while low < high:
            middle = (low + high) // 2
            at = self._instant_near(beats, middle)
            if at is None or at.earliest < moment:
                low = middle + 1
            else:
                high = middle
        return low

    def _instant_near(self, beats: list[Beat], index: int) -> Instant | None:
        for of in beats[index : index + STAMPLESS_PASSED]:
            at = self.clock.instant(self._line(of))
            if at is not None:
                return at
        return None

    def _line(self, of: Beat) -> Line:
        return read_line(of.raw, 0, len(of.raw), of.at, of.layout, self.clock)


def _thinned(beats: list[Beat]) -> list[Beat]:
    """The first and the last of them, and some in between, where there are too many."""
    if len(beats) <= MOST_RECALLED:
        return beats
    edge = 3 * MOST_RECALLED // 8
    middle = beats[edge:-edge]
    return beats[:edge] + middle[:: -(-len(middle) // (MOST_RECALLED - 2 * edge))] + beats[-edge:]
