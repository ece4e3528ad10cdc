"""Keeps the last lines before each turn in an engine's life, whatever they say: what no rule knows may still be like what was seen before."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from triage.model import Event, Place
from triage.parsers.trouble import Kept
from triage.sources.clock import Clock
from triage.sources.lines import Line, read_line
from triage.sources.pieces import Piece

LINES = 8  # lines that are kept before a turn
WALKED = 24  # lines that are looked at for them
LONGEST = 1024
MOST_BYTES = 8 << 20  # of all lines of one source; what comes later in the log than that is lost
_SAY_NOTHING = (b"Traceback (", b"INFO:     ")  # the head of a traceback, access lines


class Tail:
    """The last lines before turns of one source. `make` gives the event of a line, or None where a rule knows what it is."""

    def __init__(self, clock: Clock, make: Callable[[Line, Place, int], Event | None]) -> None:
        self.clock = clock
        self._make = make
        self._kept: dict[int, Kept] = {}
        self._sorted: list[int] = []  # the orders of what was kept, once somebody asks
        self._room = MOST_BYTES
        self._last: tuple[Piece, int] | None = None

    def take(self, piece: Piece, base: int, turns: Sequence[int]) -> None:
        """Keeps what stands before each of the offsets `turns` in the piece. `base` makes of offsets ones that run through the whole source."""
        self._last = (piece, base)
        for turn in turns:
            self._before(piece, base, turn)

    def end(self) -> None:
        """The source ends: its last lines are kept."""
        if self._last is not None:
            self._before(*self._last, len(self._last[0].data))
            self._last = None

    def between(self, first: int, last: float) -> list[Event]:
        """Events of the kept lines whose order lies from `first` to `last`: the last 8 of them that no rule knows, in order."""
        orders = self._sorted = self._sorted or sorted(self._kept)
        found: list[Event] = []
        for order in reversed(orders[bisect_left(orders, first) : bisect_right(orders, last)]):
            kept = self._kept[order]
            event = self._make(read_line(kept.raw, 0, len(kept.raw), 0, kept.layout, self.clock), kept.place, kept.order)
            found += [event] if event is not None else []
            if len(found) == LINES:
                break
        return found[::-1]

    def _before(self, piece: Piece, base: int, end: int) -> None:
        taken = 0
        self._sorted = []
        for _ in range(WALKED):
            if end <= 0 or taken == LINES:
                return
            begin = piece.data.rfind(b"\n", 0, end - 1) + 1
            raw = piece.data[begin : min(end, begin + LONGEST)].rstrip(b"\r\n")
            if begin == 0 and piece.lead:
                return
            if raw.strip() and not raw.startswith(_SAY_NOTHING):
                self._keep(piece, base + begin, begin, raw)
                taken += 1
            end = begin

    def _keep(self, piece: Piece, order: int, begin: int, raw: bytes) -> None:
        if order not in self._kept and len(raw) <= self._room:
            origin = piece.origin(begin)
            self._kept[order] = Kept(order, raw, 0, Place(piece.source, piece.file, origin.offset, origin.number), piece.layout)
            self._room -= len(raw)
