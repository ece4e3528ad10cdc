"""Finds the lines beside those that tell of faults: the periodic ones and the loud ones, and only where somebody will ask for them.

A busy log has hundreds of them in a megabyte, and what is needed are those around a fault, a turn in an engine's life, or an outage.
So while nothing happens, the scanner reports only the first of each rule in a piece (`RuleTable.sweep`). The last such pieces are kept
waiting: when something happens they are scanned again, in full. For what is asked when all is read (what came around an outage, what
looked like trouble before it), parts of the file are read again (`again`). Where that cannot be done (a pipe, a compressed file), every
piece is scanned in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from triage.knowledge.scanner import Hits
from triage.knowledge.table import RuleTable
from triage.model import Event, Place
from triage.parsers.again import Again
from triage.parsers.pulse import Pulse
from triage.parsers.trouble import Trouble
from triage.sources.clock import Clock
from triage.sources.lines import Line
from triage.sources.opening import is_plain
from triage.sources.pieces import Piece

WAITING_BYTES = 2 << 20
WAITING = 64

Offsets = Sequence[int]


class Waiting(NamedTuple):
    """A piece that was only swept, where it begins in the whole source, and whether it has periodic lines and loud ones."""

    piece: Piece
    base: int
    periodic: bool
    loud: bool


class Asides:
    """The periodic and the loud lines of one source. `of_beat`, `of_trouble`: make events of them."""

    def __init__(
        self,
        table: RuleTable,
        source: str,
        clock: Clock,
        of_beat: Callable[[Line, Place, int, int], Event | None],
        of_trouble: Callable[[Line, Place, int], Event | None],
    ) -> None:
        self._table = table
        self._periodic = [rule.is_periodic for rule in table.rules]
        self._loud = [rule.is_trouble for rule in table.rules]
        self._stalls = frozenset(index for index, rule in enumerate(table.rules) if rule.kind == "stall")
        self.pulse = Pulse(source, clock, of_beat, self._stalls, Again(source, clock, lambda piece: self._parted(self._all_hits(piece))[0]))
        self.trouble = Trouble(clock, of_trouble, Again(source, clock, lambda piece: self._parted(self._all_hits(piece))[1]))
        self._waiting: list[Waiting] = []
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
            self._let_wait(piece, periodic, loud, base)
            return []
        if self._swept:
            periodic, loud = self._parted(self._all_hits(piece))
        self._catch_up()
        self.pulse.sample(piece, periodic, base)
        self.trouble.take(piece, loud, base, turns)
        return self.pulse.neighbours(piece, periodic, base, telling)

    def rest(self) -> list[Event]:
        """The source ends: the events of its last periodic lines, where nothing telling came after them."""
        self._catch_up()
        self.trouble.turn()
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
        return any(index in self._stalls for _, index in periodic)

    def _let_wait(self, piece: Piece, periodic: Hits, loud: Hits, base: int) -> None:
        if not periodic and not loud:
            return
        self.pulse.pass_by(piece, periodic, base)
        self.trouble.pass_by(piece, loud, base)
        if periodic:
            self._waiting = [w._replace(periodic=False) for w in self._waiting if w.loud]
        self._waiting.append(Waiting(piece, base, bool(periodic), bool(loud)))
        while len(self._waiting) > 2 and (len(self._waiting) > WAITING or sum(len(w.piece.data) for w in self._waiting) > WAITING_BYTES):
            self._drop_one()

    def _drop_one(self) -> None:
        """Lets go of the oldest piece but for the one that has the last periodic line."""
        oldest = next(index for index, waiting in enumerate(self._waiting) if not waiting.periodic)
        del self._waiting[oldest]

    def _catch_up(self) -> None:
        """Something happened: what stands in the pieces that waited may have to be shown."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            periodic, loud = self._parted(self._all_hits(one.piece))
            if one.periodic:
                self.pulse.neighbours(one.piece, periodic, one.base, ())
            if one.loud:
                self.trouble.take(one.piece, loud, one.base, ())

    def _parted(self, asides: Hits) -> tuple[Hits, Hits]:
        return [hit for hit in asides if self._periodic[hit[1]]], [hit for hit in asides if self._loud[hit[1]]]

    def _all_hits(self, piece: Piece) -> Hits:
        return self._table.scanner.scan(piece.data)
