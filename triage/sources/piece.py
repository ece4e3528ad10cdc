"""A piece of a source: what a scanner runs over, and the way from a place in it to the line, its neighbours and its origin."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from triage.model import Instant, Place

from .clock import Clock
from .lines import Line, read_line
from .origins import Origin, Origins

REACH = 400  # lines that are passed over in search of one of the same stream
KEPT_LINES = 512  # tracebacks of several ranks stand between each other, so the same lines are gone by again and again


class Lead(msgspec.Struct, frozen=True):
    """How and where a line begins that goes on in a later piece."""

    text: bytes
    origin: Origin


class Piece:
    """Some of a source's bytes, as a scanner sees them: whole lines, but for a line longer than a piece.

    `base`: offset of the piece's first byte in the decompressed file; `first_line`: its line number (1-based).
    `overlap`: matches that end inside `data[:overlap]` were in the piece before, too.
    `size`, `lines`: bytes and lines of the file that the piece stands for, without the overlap; `taken`: bytes read for it from the disk.
    `lead`: the beginning of the line that the piece begins inside of; `is_open`: it ends inside a line; `is_first`: a file begins with it.
    `known`: the last instant of each stream in earlier pieces. `resolved`: the last line of each stream that `carried` was asked for.
    `lines_read`: some lines by positions in them, as they were read last.
    `earlier`, `later`: the neighbours, from which lines are read as well, until the next piece is drawn.
    """

    __slots__ = (
        "base", "clock", "data", "earlier", "file", "first_line", "is_first", "is_open", "known", "later", "layout", "lead", "lines", "lines_read",
        "origins", "overlap", "resolved", "size", "source", "taken",
    )  # fmt: skip

    def __init__(
        self, source: str, file: str, data: bytes, *, base: int, first_line: int, origins: Origins, layout: frozenset[str], clock: Clock
    ) -> None:
        self.source = source
        self.file = file
        self.data = data
        self.base = base
        self.first_line = first_line
        self.origins = origins
        self.layout = layout
        self.clock = clock
        self.size = self.taken = len(data)
        self.lines = 0
        self.overlap = 0
        self.lead: Lead | None = None
        self.is_open = False
        self.is_first = False
        self.known: dict[str, Instant] = {}
        self.resolved: dict[str, tuple[int, Instant | None]] = {}
        self.lines_read: dict[int, Line] = {}
        self.earlier: Piece | None = None
        self.later: Piece | None = None

    def line_at(self, pos: int) -> Line:
        """The line around `data[pos]`; where carriage returns part it, the segment that holds `pos`. A newline belongs to its line."""
        return self.read(pos)

    def before(self, line: Line) -> Line | None:
        """The nearest line of the same stream above, which may stand in the piece before."""
        return next((above for above in self.upwards(line.start) if above.stream == line.stream), None)

    def after(self, line: Line) -> Line | None:
        """The nearest line of the same stream below, which may stand in the piece after."""
        return next((below for below in self.downwards(line.start) if below.stream == line.stream), None)

    def first_segment(self, line: Line) -> Line | None:
        """The segment that begins the line that `line` is a later segment of."""
        piece, shift = self._holder(line.start)
        begin = piece.data.rfind(b"\n", 0, line.start - shift) + 1
        return piece.read(begin, shift) if begin + shift < line.start else None

    def place(self, line: Line) -> Place:
        """Where the line begins in the decompressed file, or the record that it was made from."""
        piece, shift = self._holder(line.start)
        origin = piece.origin(line.start - shift)
        return Place(piece.source, piece.file, origin.offset, origin.number)

    def origin(self, position: int) -> Origin:
        """Where the line begins of which `position` is the first byte that this piece has."""
        if self.lead and self.data.find(b"\n", 0, position) < 0:
            return self.lead.origin
        return self.origins.origin(self.data, position)

    def read(self, position: int, shift: int = 0) -> Line:
        """The line at a position of this piece, in the offsets of the neighbour that lies `shift` before it."""
        if shift:
            return self._read(position, shift)
        line = self.lines_read.get(position)
        if line is None:
            if len(self.lines_read) >= KEPT_LINES:
                self.lines_read.clear()
            self.lines_read[position] = line = self._read(position, 0)
        return line

    def _read(self, position: int, shift: int) -> Line:
        begin = self.data.rfind(b"\n", 0, position) + 1
        end = self.data.find(b"\n", position)
        lead = self.lead.text if self.lead and not begin else b""
        return read_line(self.data, begin, end if end >= 0 else len(self.data), position, self.layout, self.clock, lead=lead, shift=shift)

    def upwards(self, start: int) -> Iterator[Line]:
        """The lines above the one at `start`, of all streams, the nearest first."""
        piece, shift = self._holder(start)
        position = start - shift
        for _ in range(REACH):
            position = piece.data.rfind(b"\n", 0, position)
            if position < 0:
                if piece.lead or piece.earlier is None:
                    return
                piece = piece.earlier
                shift -= len(piece.data)
                position = len(piece.data) - 1
            yield piece.read(position, shift)

    def downwards(self, start: int) -> Iterator[Line]:
        """The lines below the one at `start`, of all streams."""
        piece, shift = self._holder(start)
        position = start - shift
        for _ in range(REACH):
            position = piece.data.find(b"\n", position) + 1
            if position in (0, len(piece.data)):
                if piece.is_open or piece.later is None:
                    return
                shift += len(piece.data)
                piece, position = piece.later, 0
            end = piece.data.find(b"\n", position)
            yield piece.read(end if end >= 0 else len(piece.data) - 1, shift)

    def _holder(self, start: int) -> tuple[Piece, int]:
        """The piece in which a line with this offset stands, and the offset of that piece's data. Raises LookupError when it is gone."""
        if 0 <= start < len(self.data):
            return self, 0
        if start < 0 and self.earlier is not None:
            return self.earlier, -len(self.earlier.data)
        if start >= 0 and self.later is not None:
            return self.later, len(self.data)
        raise LookupError(f"no piece is held any more that has offset {start}")
