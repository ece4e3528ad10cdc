"""Remembers the parts of a source's files that were only swept, and reads one of them again where somebody asks what it holds."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

import msgspec

from triage.knowledge.scanner import Hits
from triage.sources.clock import Clock
from triage.sources.origins import Unchanged
from triage.sources.paths import path_of
from triage.sources.pieces import Piece

MARK = 512  # bytes of a line by which a part of a file is known again


class Stretch(msgspec.Struct, frozen=True):
    """A part of a file, from `offset` on, and its place in the order of the source. `mark` are bytes that stand `at` bytes inside it."""

    order: int
    offset: int
    length: int
    file: str
    layout: frozenset[str]
    at: int
    mark: bytes


class Again:
    """The swept parts of one source that hold lines of some kind. `hits` finds all such lines of a part that is read again."""

    def __init__(self, source: str, clock: Clock, hits: Callable[[Piece], Hits]) -> None:
        self._source = source
        self._clock = clock
        self._hits = hits
        self._stretches: list[Stretch] = []

    def note(self, piece: Piece, base: int, at: int, line: bytes) -> None:
        """Remembers a piece, which begins at `base` of the whole source and has `line` at its offset `at`."""
        self._stretches.append(Stretch(base, piece.base, len(piece.data), piece.file, piece.layout, at, line[:MARK]))

    def within(self, first: int, last: float) -> list[Stretch]:
        """Those that hold anything whose order lies from `first` to `last`."""
        start = bisect_left(self._stretches, first, key=_end)
        return self._stretches[start : bisect_right(self._stretches, last, key=_begin)]

    def read(self, stretch: Stretch) -> tuple[Piece, Hits] | None:
        """The part once more, with its hits; None where something else stands there now."""
        try:
            with open(path_of(stretch.file), "rb") as file:
                file.seek(stretch.offset)
                data = file.read(stretch.length)
        except OSError:
            return None
        if len(data) < stretch.length or not data.startswith(stretch.mark, stretch.at):
            return None
        origins = Unchanged(stretch.offset, 0)
        piece = Piece(self._source, stretch.file, data, base=stretch.offset, first_line=0, origins=origins, layout=stretch.layout, clock=self._clock)
        return piece, self._hits(piece)


def _begin(stretch: Stretch) -> int:
    return stretch.order


def _end(stretch: Stretch) -> int:
    return stretch.order + stretch.length - 1
