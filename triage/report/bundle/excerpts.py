"""Excerpts of logs: the lines that are cited with those around them, read once more from their files, freed of envelopes, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from triage.model import Place
from triage.report import words
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.paths import is_regular
from triage.sources.pieces import Line, Piece, pieces

BEFORE = 20  # lines
AFTER = 10


class Shown(msgspec.Struct, frozen=True):
    """A line of an excerpt: its number, the envelope's stamp (ISO 8601, or nothing), its text, and whether it is cited as evidence."""

    number: int
    stamp: str
    text: str
    cited: bool
    offset: int


def excerpt(file: str, places: Iterable[Place], *, before: int = BEFORE, after: int = AFTER) -> list[Shown]:
    """The lines at `places` of one file, each with those around it, in order; nothing where the file cannot be read once more."""
    wanted = sorted({place.offset for place in places})
    if not wanted or not is_regular(file):
        return []
    found: dict[tuple[int, str], Shown] = {}
    for piece in pieces(Source(file, (file,)), Clock()):
        end = piece.base + piece.size + piece.overlap if piece.later is None else piece.later.base + piece.later.overlap
        for offset in [o for o in wanted if o < end]:
            for shown in _around(piece, offset, before, after):
                known = found.get((shown.offset, shown.text))
                if known is None or (shown.cited and not known.cited):
                    found[shown.offset, shown.text] = shown
        wanted = [o for o in wanted if o >= end]
        if not wanted:
            break
    return sorted(found.values(), key=lambda shown: shown.offset)


def written(lines: Iterable[Shown]) -> str:
    """Lines as text: `>` before what is cited, the number, the stamp where there is one; a gap where lines are left out."""
    out: list[str] = []
    last = 0
    for line in lines:
        if last and line.number > last + 1:
            out.append("...")
        last = line.number
        stamp = f"{line.stamp} " if line.stamp else ""
        out.append(f"{'>' if line.cited else ' '}{line.number:>9} | {stamp}{line.text}")
    return "".join(f"{line}\n" for line in out)


def _around(piece: Piece, offset: int, before: int, after: int) -> Iterator[Shown]:
    position = _position(piece, offset)
    if position is None:
        return
    cited = piece.line_at(position)
    above = list(islice(piece.upwards(cited.start), before))
    below = islice(piece.downwards(cited.start), after)
    yield from (_shown(piece, line, cited=False) for line in reversed(above))
    yield _shown(piece, cited, cited=True)
    yield from (_shown(piece, line, cited=False) for line in below)


def _shown(piece: Piece, line: Line, *, cited: bool) -> Shown:
    place = piece.place(line)
    return Shown(place.line, words.iso(line.outer.earliest) if line.outer else "", line.text, cited, place.offset)


def _position(piece: Piece, offset: int) -> int | None:
    """Where in a piece's data the line begins that stands at a byte offset of the file; found by halving, since offsets only grow."""
    low, high = 0, len(piece.data)
    while low < high:
        middle = (low + high) // 2
        begin = piece.data.rfind(b"\n", 0, middle) + 1
        end = piece.data.find(b"\n", middle)
        if piece.origin(begin).offset > offset:
            high = begin
        elif end < 0 or piece.origin(min(end + 1, len(piece.data) - 1)).offset > offset or end + 1 >= len(piece.data):
            return begin
        else:
            low = end + 1
    return None
