"""Reads an engine's own output (also bare C++ and interpreter text, and kernel lines among it) into events.

Nothing is done per line: one pass of the scanner over a piece of bytes says where rules may match, and only those lines
are cut out, freed of their envelope and matched exactly. A sample of what becomes three events (boot, root, death)::

    (APIServer pid=1) INFO 11-20 05:40:01 [api_server.py:1977] vLLM API server version 0.11.2
    (Worker_TP0 pid=812) ERROR 11-20 05:51:01 [multiproc_executor.py:844] RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when ...
    (EngineCore_DP0 pid=301) ERROR 11-20 05:51:02 [core.py:844] EngineCore encountered a fatal error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from triage.knowledge.scanner import Hits
from triage.knowledge.table import Rule, RuleTable
from triage.model import Event, Instant, Kind
from triage.parsers.asides import Asides
from triage.parsers.hits import by_line, whole_line
from triage.parsers.making import Maker, Matched
from triage.parsers.repeats import Repeats
from triage.parsers.traceback import Traceback, traceback_before
from triage.sources.clock import Clock, carried
from triage.sources.envelopes import LONGEST, opened
from triage.sources.lines import LONGEST_TEXT as LONGEST_HELD
from triage.sources.pieces import Line, Piece

FIELDS = (b'="', b"[resource.labels.")  # how RFC 5424 and Google Cloud write the fields of their envelopes
TURNS = ("boot", "stop", "death", "exit")  # lines before which those that look like trouble are kept


class EngineParser:
    """Turns the pieces of one source into events. `problems`: rules that took too long; `asides`: periodic lines, loud and last ones."""

    def __init__(self, table: RuleTable, source: str, kind: Kind, clock: Clock, *, last_lines: bool = True) -> None:
        self.table = table
        self.clock = clock
        maker = self._maker = Maker(table, kind, clock)
        self.problems = maker.problems
        of_tail = maker.of_tail if last_lines else None
        self.asides = Asides(table, source, clock, maker.of_beat, maker.of_trouble, of_tail, repeated=kind == "kernel")
        self._scanned = 0
        self._held: tuple[Piece, Line] | None = None
        self._repeats = Repeats(table)
        self._dated: tuple[Line, Instant | None] | None = None
        self._walked: tuple[int, Traceback] = (-1, Traceback())  # several rules match one line: its traceback is walked once

    def events(self, pieces: Iterable[Piece]) -> Iterator[Event]:
        """The events of all pieces: all but the periodic ones, and of those the neighbours of the others and the last.

        They come in order of their place, but for the last periodic ones, which are known only at the end.
        """
        piece = None
        for piece in pieces:
            yield from self._events_of(piece)
            self._scanned += len(piece.data) - piece.overlap
        if piece is not None and piece.data:
            yield from self.asides.rest()
            yield from self._maker.ends(piece, self._scanned)
        self._held = self._dated = None  # what was read last need not be kept for what may be asked for later

    def _events_of(self, piece: Piece) -> list[Event]:
        hits, asides = self.asides.scan(piece)
        self._repeats.new_piece()
        self._maker.memory.lay_out(piece.layout)
        events = [event for line in by_line(piece.data, hits) for event in self._line_events(piece, line)]
        base = self._scanned - piece.overlap
        telling = [event.order - base for event in events if self.table.by_id[event.rule].is_telling]
        turns = sorted(event.order - base for event in events if event.kind in TURNS)
        events += self.asides.around(piece, asides, base, telling, turns)
        return sorted(events, key=lambda event: event.order)

    def _line_events(self, piece: Piece, hits: Hits) -> Iterator[Event]:
        """The events of one line. Where a rule knows the line as an echo, what looks like a fault in it is none."""
        indices = frozenset([index for _, index in hits])
        if indices <= self._repeats.enough:
            return
        begin, raw = whole_line(piece.data, hits)
        memory = self._maker.memory
        content = memory.content(raw, indices)
        speaking = indices - memory.mute_in(content)
        several = len(self._maker.streams) > 1
        if speaking <= self._repeats.enough or self._repeats.is_flood(speaking - self._repeats.enough, raw, several=several):
            return
        told: set[tuple[int, int]] = set()
        echoes: set[int] = set()
        mute = set(speaking)
        for end, index in self._echoes_first(hits, speaking, begin + self._own_length(piece, raw)):
            rule = self.table[index]
            plenty = self._repeats.is_plenty(index, raw, several=several)
            if plenty and not rule.is_echo:
                mute.discard(index)
                continue
            line = self._line(piece, end - 1)
            if (line.start, index) in told or (rule.is_fault and line.start in echoes):
                continue
            told.add((line.start, index))
            matched = self._maker.matched(piece.file, line, rule)
            if matched is None:
                continue
            mute.discard(index)
            if rule.is_echo:
                echoes.add(line.start)
            if not plenty and self._is_wanted(rule, index, raw, several=several) and (event := self._event(piece, line, rule, matched)):
                yield event
        memory.keep(content, frozenset(mute))

    def _own_length(self, piece: Piece, raw: bytes) -> int:
        """How many bytes of a line come before the words of a user. The fields of an envelope hold no such words, whatever they are called."""
        own = self.table.user_words.own_length(raw)
        if own == len(raw) or not any(field in raw[:own] for field in FIELDS):
            return own
        envelope = opened(raw[:LONGEST].decode("latin-1"), piece.layout).length
        return envelope + self.table.user_words.own_length(raw[envelope:])

    def _echoes_first(self, hits: Hits, speaking: Collection[int], own: int) -> Hits:
        """The hits up to where the words of a user begin; behind it only those of a step, of which nothing but figures is taken."""
        kept = [hit for hit in hits if hit[1] in speaking and (hit[0] <= own or self.table[hit[1]].kind == "step")]
        return sorted(kept, key=lambda hit: not self.table[hit[1]].is_echo)

    def _is_wanted(self, rule: Rule, index: int, raw: bytes, *, several: bool) -> bool:
        """Counts one match; whether it is worth an event: of what harms nobody a few in each life of the engine are."""
        if rule.kind == "boot":
            self._repeats.new_life()
        if rule.is_harmless:
            return self._repeats.is_told(index)
        self._repeats.count(index, raw, several=several)
        return True

    def _event(self, piece: Piece, line: Line, rule: Rule, matched: Matched) -> Event | None:
        """The event of one match; None for what its traceback dismisses."""
        order = self._scanned - piece.overlap + line.start
        chain = self._traceback(piece, line, order) if rule.is_root else Traceback()
        if chain.quoted or (chain.ignored and not rule.is_sticky):
            return None
        return self._maker.made(line, piece.place(line), rule, order, matched, self._instant(piece, line), chain)

    def _line(self, piece: Piece, position: int) -> Line:
        """The line around a position: the last one again where that holds it, since several rules hit one line; of a long one only a part is held."""
        held = self._held
        if held is None or held[0] is not piece or not held[1].start <= position < held[1].end or held[1].end - held[1].start > LONGEST_HELD:
            self._held = held = (piece, piece.line_at(position))
        return held[1]

    def _traceback(self, piece: Piece, line: Line, order: int) -> Traceback:
        if self._walked[0] != order:
            self._walked = (order, traceback_before(line, piece.before))
        return self._walked[1]

    def _instant(self, piece: Piece, line: Line) -> Instant | None:
        """When the line was written: the same again for several rules that hit it."""
        if self._dated is None or self._dated[0] is not line:
            self._dated = (line, self.clock.instant(line) or carried(piece, line, self.clock))
        return self._dated[1]
