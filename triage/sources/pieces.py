"""Gives a source as pieces of about a megabyte that a scanner can run over in one go.

Nothing is done per line for plain files. A piece is what the file holds, without terminal sequences; records (docker json-file,
journalctl -o json, vLLM's JSON) are rewritten into lines. Lines are cut out, and freed of their envelopes, only when asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from triage.model import Instant, Problem

from .clock import STREAMS, Clock, stamped
from .cutting import Block, blocks
from .envelopes import LONGEST, SEVERAL_HOSTS, has_several_hosts, layout_of
from .find import Source
from .lines import Line, read_text
from .opening import Stream, head, looks_binary
from .origins import Origin, Origins, Stripped, Unchanged, is_noisy, stripped
from .paths import STDIN, is_regular, size_on_disk
from .piece import Lead, Piece
from .steady import CUT, Steady
from .structured import Rewriter, shapes_of

__all__ = ["Line", "Piece", "first_piece", "lines_of", "looks_binary", "pieces", "texts_of"]

PIECE = 1 << 20
WORTH_A_THREAD = 8 * PIECE
HEAD = 1 << 16  # bytes of a file in which its layout is looked for
DATES = 16  # dates in the head of a file that are tried for one that a line is stamped with
FEW_LINES = 8  # a file with fewer of them is taken to be laid out like the one before it, too
TAIL_LINES = 32  # lines at the end of a piece in which stamps for the next one are looked for
_DATE = re.compile(rb"20(?<=\b20)\d\d-\d\d-\d\d[T ]\d\d:")  # begins with two plain characters, which are found many times as fast


def pieces(
    source: Source,
    clock: Clock,
    size: int = PIECE,
    problems: list[Problem] | None = None,
    *,
    numbered: bool = True,
    look: Callable[[Piece], None] | None = None,
) -> Iterator[Piece]:
    """The pieces of a source in order, file after file; a piece holds up to `size` raw bytes.

    `look` is given each of them as soon as it is read, in another thread while the last one is worked on; nothing where that is not worth it.
    Without `numbered`, lines get their numbers only where they are to be had for nothing: `sources.numbering` finds those of a few later.
    What could not be read is appended to `problems`; nothing that a file holds raises.
    """
    current: Piece | None = None
    ahead = look is not None and _is_big(source.files)
    try:
        read = _all(source, clock, max(size, 2), [] if problems is None else problems, numbered, look if ahead else None)
        for piece in chain(_ahead(read) if ahead else read, (None,)):
            if piece is not None and piece.is_first:
                _learn_the_year(piece, clock)
            if current is not None:
                current.later = piece
                if piece is not None:
                    piece.earlier = current
                clock.follow(current)
                yield current
                if current.earlier is not None:
                    current.earlier.later = None  # whoever keeps a piece shall not keep all that came after it
                current.earlier = None
                if piece is not None:
                    piece.known = _known_after(current, clock)
            current = piece
    finally:
        clock.follow(None)
        if current is not None:
            current.earlier = current.later = None


def _ahead(read: Iterator[Piece]) -> Iterator[Piece]:
    from .ahead import one_ahead  # a small log needs no thread

    return one_ahead(read)


def first_piece(source: Source, clock: Clock, size: int = HEAD) -> Piece | None:
    """The beginning of a source's newest file that is not empty, as a piece. What this takes from a pipe is still read later."""
    for file in reversed(source.files):
        first = head(file, size)
        whole = first[: first.rfind(b"\n") + 1] if len(first) == size else first
        piece = next(_Reader(source.name, clock, numbered=False).pieces(file, [Block(whole or first, 0, last=True)], lambda: 0, []), None)
        if piece is not None:
            return piece
    return None


def lines_of(piece: Piece) -> Iterator[Line]:
    """Every line of a piece, for kinds of log in which every line counts."""
    position = piece.overlap
    while position < len(piece.data):
        line = piece.line_at(position)
        yield line
        position = max(line.end, position) + 1


def texts_of(piece: Piece) -> Iterator[tuple[str, str]]:
    """The text of every line of a piece that begins a file, and the unit that wrote it: as `lines_of`, but no stamp is read."""
    if b"\r" in piece.data:
        yield from ((line.text, line.unit) for line in lines_of(piece))
        return
    begin = 0
    while begin < len(piece.data):
        end = piece.data.find(b"\n", begin)
        end = end if end >= 0 else len(piece.data)
        yield read_text(piece.data[begin:end], piece.layout)
        begin = end + 1


def _is_big(files: Sequence[str]) -> bool:
    """Whether files are to be read whose bytes are always there, and enough of them that a thread is worth its start."""
    sizes = list(map(size_on_disk, files))
    return None not in sizes and sum(filter(None, sizes)) > WORTH_A_THREAD


def _all(
    source: Source, clock: Clock, size: int, problems: list[Problem], numbered: bool, look: Callable[[Piece], None] | None
) -> Iterator[Piece]:
    reader = _Reader(source.name, clock, numbered)
    for file in source.files:
        with Stream(file, problems) as stream:
            before = Steady(stream.on_disk)
            for piece in reader.pieces(file, blocks(stream, size), lambda: stream.consumed, problems):
                if look is not None:
                    look(piece)
                yield piece
            if before.was_cut:
                problems.append(Problem(file, CUT))
            if file == STDIN and not stream.read:
                problems.append(Problem(STDIN, "standard input was empty (docker logs writes to standard error as well: 2>&1)"))


class _Reader:
    """Makes pieces of the blocks of a source's files, one file after the other."""

    def __init__(self, source: str, clock: Clock, numbered: bool = True) -> None:
        self._source = source
        self._numbered = numbered
        self._clock = clock
        self._layout: frozenset[str] = frozenset()

    def pieces(self, file: str, read: Iterable[Block], consumed: Callable[[], int], problems: list[Problem]) -> Iterator[Piece]:
        """The pieces that a file's blocks make. `consumed`: how many bytes of the file, as it lies on disk, were read so far."""
        rewriter: Rewriter | None = None
        lead: Lead | None = None
        line = told_line = 1
        told_size = taken = 0
        counts_all = self._numbered or not is_regular(file)
        for block in read:
            rewriter = rewriter or _rewriter(block, file, problems)
            counted = counts_all or bool(rewriter and rewriter.rewrites)
            data, origins = _seen(block, line if counted else 0, rewriter)
            is_first = bool(data and not told_size)
            if is_first:
                self._lay_out(data[:HEAD])
            if block.open and lead is None and data:
                lead = Lead(data[:LONGEST], Origin(block.base, line))
            first_line = line if counted else 0
            piece = Piece(self._source, file, data, base=block.base, first_line=first_line, origins=origins, layout=self._layout, clock=self._clock)
            if counted:
                line += block.newlines + (block.last and not block.raw.endswith(b"\n"))
            if data:
                end = block.base + len(block.raw)
                piece.size, told_size = end - told_size, end
                piece.lines, told_line = line - told_line, line
                piece.overlap = len(stripped(block.raw[: block.overlap])) if block.overlap else 0
                piece.lead = lead if block.inside else None
                piece.is_open = block.open
                piece.is_first = is_first
                piece.taken, taken = max(consumed() - taken, 0), max(consumed(), taken)
                yield piece
            if not block.open:
                lead = None

    def _lay_out(self, head: bytes) -> None:
        """Finds the doubtful forms of envelope that the file is written in; too few lines leave those of the file before in force."""
        before = self._layout if self._layout and head.count(b"\n") < FEW_LINES else frozenset()
        self._layout = layout_of(head) | before | self._layout.intersection((SEVERAL_HOSTS,))
        if has_several_hosts(head, self._layout):
            self._layout |= {SEVERAL_HOSTS}


def _rewriter(block: Block, file: str, problems: list[Problem]) -> Rewriter | None:
    """What rewrites a file with this first block; None for one of zeros, with which nothing has begun yet."""
    head = block.raw[:HEAD]
    head = stripped(head) if is_noisy(head) else head
    return Rewriter(shapes_of(head), file, problems) if head else None


def _seen(block: Block, line: int, rewriter: Rewriter | None) -> tuple[bytes, Origins]:
    """The block as the scanner sees it."""
    if rewriter and (rewritten := rewriter.rewrite(block, line)):
        return rewritten
    if is_noisy(block.raw):
        return stripped(block.raw), Stripped(block.base, line, block.raw)
    return block.raw, Unchanged(block.base, line)


def _learn_the_year(piece: Piece, clock: Clock) -> None:
    """Most engines' stamps have no year, but other lines between them may have one."""
    any(clock.learn(piece.line_at(found.start())) for found in islice(_DATE.finditer(piece.data, 0, HEAD), DATES))


def _known_after(piece: Piece, clock: Clock) -> dict[str, Instant]:
    """The last instant of each stream up to the end of the piece, as far as its last lines, earlier pieces and what was asked for tell."""
    known = piece.known | {stream: at for stream, (_, at) in piece.resolved.items() if at}
    fresh: set[str] = set()
    last = piece.line_at(len(piece.data) - 1)
    for line in chain((last,), islice(piece.upwards(last.start), TAIL_LINES)):
        at = stamped(piece, line, clock) if line.stream not in fresh else None
        if at and (line.stream in known or len(known) < STREAMS):
            known[line.stream] = at
            fresh.add(line.stream)
        if at and not line.stream:
            break
    return known
