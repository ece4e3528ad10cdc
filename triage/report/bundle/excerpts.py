"""Excerpts of logs: the lines that are cited with those around them, read once more from their files, freed of envelopes, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable
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
UNSEEN = 60  # lines above those that are shown which are read, too: a prompt or a key may have begun there


class Shown(msgspec.Struct, frozen=True):
    """A line of an excerpt: its number, the envelope's stamp (ISO 8601, or nothing), its text, and whether it is cited as evidence.

    One that is `unseen` is not shown: it was read for what it may leave open for the lines below it.
    """

    number: int
    stamp: str
    text: str
    cited: bool
    offset: int
    unseen: bool = False


class Window(msgspec.Struct, frozen=True):
    """A cited line and those around it, in order."""

    above: tuple[Shown, ...]
    cited: Shown
    below: tuple[Shown, ...]

    def narrowed(self, around: int) -> Window:
        """The window with at most so many lines shown on either side."""
        hidden = max(0, len(self.above) - around)
        above = (msgspec.structs.replace(line, unseen=line.unseen or at < hidden) for at, line in enumerate(self.above))
        return Window(tuple(above), self.cited, self.below[:around])


def windows(file: str, offsets: Iterable[int], *, before: int = BEFORE, after: int = AFTER) -> dict[int, Window]:
    """The lines at byte offsets (decompressed) of a file, each with those around it, by their offsets, in one reading of the file.

    What cannot be read once more has none.
    """
    wanted = sorted(set(offsets), reverse=True)
    found: dict[int, Window] = {}
    if not wanted or not is_regular(file):
        return found
    for piece in pieces(Source(file, (file,)), Clock()):
        end = piece.base + piece.size + piece.overlap if piece.later is None else piece.later.base + piece.later.overlap
        while wanted and wanted[-1] < end:
            offset = wanted.pop()
            window = _around(piece, offset, before, after)
            if window is not None:
                found[offset] = window
        if not wanted:
            break
    return found


def merged(seen: Iterable[Window]) -> list[Shown]:
    """The lines of several windows of one file, each once, in order."""
    lines: dict[tuple[int, str], Shown] = {}
    for window in seen:
        for line in (*window.above, window.cited, *window.below):
            known = lines.get((line.offset, line.text))
            if known is None or (known.unseen, line.cited) > (line.unseen, known.cited):
                lines[line.offset, line.text] = line
    return sorted(lines.values(), key=lambda line: line.offset)


def excerpt(file: str, places: Iterable[Place], *, before: int = BEFORE, after: int = AFTER) -> list[Shown]:
    """The lines at `places` of one file, each with those around it, in order; nothing where the file cannot be read once more."""
    seen = windows(file, (place.offset for place in places), before=before, after=after)
    return [line for line in merged(seen[offset] for offset in sorted(seen)) if not line.unseen]


def written(lines: Iterable[Shown]) -> str:
    """Lines as text: `>` before what is cited, the number, the stamp where there is one; a gap where lines are left out."""
    out: list[str] = []
    last = 0
    for line in (line for line in lines if not line.unseen):
        if last and line.number > last + 1:
            out.append("...")
        last = line.number
        stamp = f"{line.stamp} " if line.stamp else ""
        out.append(f"{'>' if line.cited else ' '}{line.number:>9} | {stamp}{line.text}")
    return "".join(f"{line}\n" for line in out)


def _around(piece: Piece, offset: int, before: int, after: int) -> Window | None:
    position = _position(piece, offset)
    if position is None:
        return None
    cited = piece.line_at(position)
    above = [_shown(piece, line, unseen=n >= before) for n, line in enumerate(islice(piece.upwards(cited.start), before + UNSEEN))]
    below = [_shown(piece, line) for line in islice(piece.downwards(cited.start), after)]
    return Window(tuple(reversed(above)), _shown(piece, cited, cited=True), tuple(below))


def _shown(piece: Piece, line: Line, *, cited: bool = False, unseen: bool = False) -> Shown:
    place = piece.place(line)
    return Shown(place.line, words.iso(line.outer.earliest) if line.outer else "", line.text, cited, place.offset, unseen)


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
