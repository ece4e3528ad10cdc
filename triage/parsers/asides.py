"""Finds the lines beside those that tell of faults: the periodic ones and the loud ones, and only where somebody will ask for them.

A busy log has hundreds of them in a megabyte, and what is needed are those around a fault, a turn in an engine's life, or an outage.
So while nothing happens, the scanner reports only the first of each rule in a piece (`RuleTable.sweep`). The last such piece is kept: when
something happens before the next periodic line, it is scanned again, in full. For what is asked when all is read (what came around an
outage, what looked like trouble before an end), parts of the file are read again (`again`). Where that cannot be done (a pipe, a
compressed file), every piece is scanned in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triage.knowledge.scanner import Hits
from triage.knowledge.table import RuleTable
from triage.model import Event, Place
from triage.parsers.again import Again
from triage.parsers.pulse import Pulse
from triage.parsers.tail import Tail
from triage.parsers.trouble import Trouble
from triage.sources.clock import Clock
from triage.sources.lines import Line
from triage.sources.opening import is_plain
from triage.sources.pieces import Piece

Offsets = Sequence[int]


class Asides:
    """The periodic, the loud and the last lines of one source. `of_beat`, `of_trouble`, `of_tail`: make events of them; no last lines
    are kept where nothing makes events of them.

    `repeated`: loud lines are kept each time, as far as there is room; a kernel has no lives, of which the last such line would be enough.
    """

    def __init__(
        self,
        table: RuleTable,
        source: str,
        clock: Clock,
        of_beat: Callable[[Line, Place, int, int], Event | None],
        of_trouble: Callable[[Line, Place, int], Event | None],
        of_tail: Callable[[Line, Place, int], Event | None] | None,
        *,
        repeated: bool = False,
    ) -> None:
        self._table = table
        self._repeated = repeated
        self._periodic, self._loud, self._stalls = table.is_periodic, table.is_trouble, table.stalls
        self.pulse = Pulse(source, clock, of_beat, self._stalls, Again(source, clock, self._periodic_hits))
        self.trouble = Trouble(clock, of_trouble, Again(source, clock, self._loud_hits))
        self.tail = Tail(clock, of_tail) if of_tail else None
        self._last: tuple[Piece, int] | None = None  # the last piece with periodic lines, where it was only swept, and its place in the source
        self._plain: dict[str, bool] = {}
        self._swept = False
        self._looked: dict[Piece, tuple[bool, Hits]] = {}  # what was scanned ahead: whether it was only swept, and the hits

    def look(self, piece: Piece) -> None:
        """Scans a piece that is asked for later; to be called from one thread, which may be another one than asks."""
        swept = self._may_be_swept(piece)
        self._looked[piece] = swept, (self._table.sweep_ahead if swept else self._table.scanner_ahead).scan(piece.data)

    def scan(self, piece: Piece) -> tuple[Hits, Hits]:
        """The hits of one piece: those that may tell of something, and those of asides, of which there may be only the first of each rule."""
        self._swept, hits = self._looked.pop(piece, (False, None))
        if hits is None or (self._swept and piece.later is None):
            self._swept = piece.later is not None and self._may_be_swept(piece)
            hits = (self._table.sweep if self._swept else self._table.scanner).scan(piece.data)
        if piece.overlap:
            hits = [hit for hit in hits if hit[0] > piece.overlap]
        asides = [hit for hit in hits if self._periodic[hit[1]] or self._loud[hit[1]]]
        return [hit for hit in hits if not (self._periodic[hit[1]] or self._loud[hit[1]])] if asides else hits, asides

    def around(self, piece: Piece, asides: Hits, base: int, telling: Offsets, turns: Offsets) -> list[Event]:
        """The events of the periodic lines next to the offsets `telling` in the piece just scanned; takes note of the loud ones.

        `turns`: offsets at which an engine's life turned. `base` makes of offsets in the piece ones that run through the whole source.
        """
        periodic, loud = self._parted(asides)
        if self._swept and not telling and not turns and not self._is_owed(periodic, loud):
            self._pass_by(piece, periodic, loud, base)
            return []
        if self._swept:
            periodic, loud = self._parted(self._table.asides.scan(piece.data))
        if not periodic or self._is_stall(periodic[0]) or (telling and telling[0] < periodic[0][0]):
            self._catch_up()
        else:
            self._last = None
        self.pulse.sample(piece, periodic, base)
        if self._repeated:
            self.trouble.keep(piece, loud, base)
        self.trouble.take(piece, loud, base, turns)
        if self.tail is not None:
            self.tail.take(piece, base, turns)
        return self.pulse.neighbours(piece, periodic, base, telling)

    def rest(self) -> list[Event]:
        """The source ends: the events of its last periodic lines, where nothing telling came after them."""
        self._catch_up()
        self.trouble.turn()
        if self.tail is not None:
            self.tail.end()
        return self.pulse.rest()

    def _may_be_swept(self, piece: Piece) -> bool:
        """Whether a piece is what a file holds, so that it can be read again. The last one of a source may not, since its end is told in full."""
        if piece.lead or piece.is_open or piece.overlap or not piece.origins.are_raw:
            return False
        if piece.file not in self._plain:
            self._plain[piece.file] = is_plain(piece.file)
        return self._plain[piece.file]

    def _is_owed(self, periodic: Hits, loud: Hits) -> bool:
        """Whether lines of this piece are still wanted because of what was in an earlier one, or show that nothing moves."""
        if (periodic and self.pulse.is_owed) or (loud and self.trouble.is_owed):
            return True
        return any(self._is_stall(hit) for hit in periodic)

    def _is_stall(self, hit: tuple[int, int]) -> bool:
        return hit[1] in self._stalls

    def _pass_by(self, piece: Piece, periodic: Hits, loud: Hits, base: int) -> None:
        self.pulse.pass_by(piece, periodic, base)
        self.trouble.pass_by(piece, loud, base)
        if periodic:
            self._last = piece, base

    def _catch_up(self) -> None:
        """The last periodic line so far may have to be shown: it stands in a piece that was only swept."""
        if self._last is not None:
            (piece, base), self._last = self._last, None
            self.pulse.neighbours(piece, self._periodic_hits(piece), base, ())

    def _parted(self, asides: Hits) -> tuple[Hits, Hits]:
        return [hit for hit in asides if self._periodic[hit[1]]], [hit for hit in asides if self._loud[hit[1]]]

    def _periodic_hits(self, piece: Piece) -> Hits:
        return self._parted(self._table.asides.scan(piece.data))[0]

    def _loud_hits(self, piece: Piece) -> Hits:
        return self._parted(self._table.asides.scan(piece.data))[1]
