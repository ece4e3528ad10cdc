"""Keeps lines that look like trouble (rules/trouble.toml) as they came, and makes events only of those that are asked for.

An incident without a root has nothing else to show. So what is kept are the last such lines before each turn in an engine's life
(a boot, a stop, a death, the end of the log), some after it, since an exception often stands below the mark of a death, and a
sample of the others: what the engine said and went on from. All of it is bounded, however loud a log is.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from triage.expressions import compiled_later
from triage.knowledge.scanner import Hits
from triage.model import Event, Place
from triage.parsers.again import Again, Stretch
from triage.sources.clock import Clock
from triage.sources.lines import Line, read_line
from triage.sources.pieces import Piece

BEFORE = 16  # different lines that are kept before a turn
AFTER = 12  # lines that are kept after one
WALKED = 128  # lines that are looked at for them, backwards
MOST_SAMPLED = 4096
MOST_BYTES = 16 << 20  # of lines near turns; what comes later in the log than that is lost
MOST_MADE = 32
MOST_READ = 4096
READ_AGAIN = 8  # parts of a file that are read again for the last lines before a place
LONGEST = 2048
GIST = 160
_DIGITS = b"0123456789"
_FRAME = compiled_later(rb"\] {3}")  # engines repeat their prefix, with the level of an error, before each line of a traceback


class Kept(msgspec.Struct, frozen=True):
    """One line: its place in the order of the source, its bytes, where a rule hit, where it stands, and how it is laid out."""

    order: int
    raw: bytes
    at: int
    place: Place
    layout: frozenset[str]


class Loud(msgspec.Struct, frozen=True):
    """A line in a piece: where it begins, the hit in it, and its bytes."""

    begin: int
    hit: tuple[int, int]
    raw: bytes


def gist(raw: bytes) -> bytes:
    """What tells one loud line from another: its beginning without digits, so that ranks and repetitions are one."""
    return raw.translate(None, _DIGITS)[:GIST]


class Trouble:
    """The lines of one source that look like trouble. `make` gives the event of a line, or None where a rule knows what it is.

    `again`: the parts that were only swept.
    """

    def __init__(self, clock: Clock, make: Callable[[Line, Place, int], Event | None], again: Again) -> None:
        self.clock = clock
        self._make = make
        self._again = again
        self._read_again: dict[Stretch, list[Kept]] = {}
        self._near: dict[bytes, Kept] = {}
        self._given: dict[int, Kept] = {}
        self._room = MOST_BYTES
        self._sample: list[Kept] = []
        self._sorted: list[Kept] = []  # all that was kept, once somebody asks
        self._stride = 1
        self._count = 0
        self._owed = 0

    def take(self, piece: Piece, hits: Hits, base: int, turns: Sequence[int]) -> None:
        """Takes a piece's hits, ordered. `turns` are offsets in the piece at which an engine's life turned.

        `base` makes of offsets in the piece ones that run through the whole source.
        """
        start = 0
        for turn in turns:
            stop = bisect_left(hits, (turn, 0), start)
            self._pass(piece, hits[start:stop], base)
            self.turn()
            start = stop
        self._pass(piece, hits[start:], base)

    @property
    def is_owed(self) -> bool:
        """Whether lines are still wanted that come after a turn."""
        return self._owed > 0

    def pass_by(self, piece: Piece, hits: Hits, base: int) -> None:
        """Takes some lines of a piece into the sample, and remembers where to find the others: it may be that nobody asks for them."""
        self._sorted = []
        for number, loud in enumerate(_forwards(piece, hits, len(hits))):
            self._take_sample(_kept(piece, loud, base))
            if not number:
                self._again.note(piece, base, loud.begin, loud.raw)

    def keep(self, piece: Piece, hits: Hits, base: int) -> None:
        """Takes the lines of a piece into the sample, alike or not."""
        self._sorted = []
        for loud in _forwards(piece, hits, len(hits)):
            self._take_sample(_kept(piece, loud, base))

    def turn(self) -> None:
        """Something in the engine's life ends or begins here: what stands before it may have to be shown."""
        for kept in self._near.values():
            self._give(kept)
        self._near.clear()
        self._owed = AFTER

    def between(self, first: int, last: float) -> list[Event]:
        """Events of the kept lines whose order lies from `first` to `last`, and of those near `last` that are read again.

        The last 32 of them, in order.
        """
        if not self._sorted:
            lines = {kept.order: kept for kept in (*self._sample, *self._given.values(), *self._near.values())}
            self._sorted = [lines[order] for order in sorted(lines)]
        start, stop = bisect_left(self._sorted, first, key=_order), bisect_right(self._sorted, last, key=_order)
        swept = (kept for stretch in self._again.within(first, last)[-READ_AGAIN:] for kept in self._all_of(stretch))
        near = {kept.order: kept for kept in (*self._sorted[start:stop], *swept) if first <= kept.order <= last}
        return [event for order in sorted(near)[-MOST_MADE:] if (event := self._event(near[order])) is not None]

    def _all_of(self, stretch: Stretch) -> list[Kept]:
        """The loud lines of a part of a file, read again; none where the file is no longer what it was."""
        if stretch not in self._read_again:
            if len(self._read_again) >= 2 * READ_AGAIN:
                self._read_again.pop(next(iter(self._read_again)))
            found = self._again.read(stretch)
            loud = _forwards(*found, MOST_READ) if found else ()
            self._read_again[stretch] = [_kept(found[0], each, stretch.order) for each in loud] if found else []
        return self._read_again[stretch]

    def every(self) -> list[Event]:
        """Events of all kept lines, in order; for sources that are no engine's, of which few lines are kept."""
        lines = {kept.order: kept for kept in (*self._sample, *self._given.values(), *self._near.values())}
        return [event for order in sorted(lines) if (event := self._event(lines[order])) is not None]

    def _pass(self, piece: Piece, hits: Hits, base: int) -> None:
        if not hits:
            return
        self._sorted = []
        for loud in _forwards(piece, hits, self._owed):
            self._give(_kept(piece, loud, base))
            self._owed -= 1
        for name, loud in reversed(_distinct(_backwards(piece, hits)).items()):  # in order, for that is how places are found fast
            kept = _kept(piece, loud, base)
            self._near.pop(name, None)
            self._near[name] = kept
            self._take_sample(kept)
        for name in list(self._near)[:-BEFORE]:
            del self._near[name]

    def _give(self, kept: Kept) -> None:
        if kept.order not in self._given and len(kept.raw) <= self._room:
            self._given[kept.order] = kept
            self._room -= len(kept.raw)

    def _take_sample(self, kept: Kept) -> None:
        """One of so many lines; when the sample is full, every second one goes."""
        self._count += 1
        if self._count % self._stride == 0:
            self._sample.append(kept)
        if len(self._sample) > MOST_SAMPLED:
            self._sample = self._sample[::2]
            self._stride *= 2

    def _event(self, kept: Kept) -> Event | None:
        line = read_line(kept.raw, 0, len(kept.raw), kept.at, kept.layout, self.clock)
        return self._make(line, kept.place, kept.order)


def _order(kept: Kept) -> int:
    return kept.order


def _distinct(lines: Iterable[Loud]) -> dict[bytes, Loud]:
    """The first of each kind of line, up to as many as are kept before a turn."""
    found: dict[bytes, Loud] = {}
    for loud in lines:
        found.setdefault(gist(loud.raw), loud)
        if len(found) == BEFORE:
            break
    return found


def _backwards(piece: Piece, hits: Hits) -> Iterator[Loud]:
    """The lines that were hit, the last one first."""
    index = len(hits) - 1
    for _ in range(WALKED):
        if index < 0:
            return
        begin = piece.data.rfind(b"\n", 0, hits[index][0] - 1) + 1
        first = bisect_left(hits, (begin + 1, 0), 0, index)
        loud = _loud(piece, hits[first], begin)
        if loud is not None:
            yield loud
        index = first - 1


def _forwards(piece: Piece, hits: Hits, most: int) -> Iterator[Loud]:
    """The lines that were hit, in order, up to `most`."""
    done = 0
    for hit in hits:
        if most <= 0:
            return
        if hit[0] <= done:
            continue
        begin = piece.data.rfind(b"\n", 0, hit[0] - 1) + 1
        done = piece.data.find(b"\n", hit[0] - 1)
        done = done if done >= 0 else len(piece.data)
        loud = _loud(piece, hit, begin)
        if loud is not None:
            most -= 1
            yield loud


def _loud(piece: Piece, hit: tuple[int, int], begin: int) -> Loud | None:
    """The line, or of a longer one its beginning; None for a frame's, one that begins in an earlier piece, or is hit far inside."""
    if hit[0] - begin > LONGEST or (not begin and piece.lead):
        return None
    end = piece.data.find(b"\n", hit[0] - 1)
    raw = piece.data[begin : min(end if end >= 0 else len(piece.data), begin + LONGEST)]
    return None if _FRAME.search(raw, 0, GIST) else Loud(begin, hit, raw)


def _kept(piece: Piece, loud: Loud, base: int) -> Kept:
    origin = piece.origin(loud.begin)
    place = Place(piece.source, piece.file, origin.offset, origin.number)
    return Kept(base + loud.begin, loud.raw, loud.hit[0] - 1 - loud.begin, place, piece.layout)
