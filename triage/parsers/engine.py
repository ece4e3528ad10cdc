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
from triage.model import Event, Instant, Kind, Place, Problem
from triage.parsers.asides import Asides
from triage.parsers.hits import by_line, whole_line
from triage.parsers.repeats import Repeats
from triage.parsers.silent import NONE, Silent, question, silent
from triage.parsers.steps import step
from triage.parsers.tags import Tag, tag
from triage.parsers.traceback import Traceback, traceback_before
from triage.sources.clock import Clock, carried
from triage.sources.envelopes import LONGEST, opened
from triage.sources.lines import LONGEST_TEXT as LONGEST_HELD
from triage.sources.pieces import Line, Piece

MOST_STREAMS = 256
LONGEST_TEXT = 4096
FIELDS = (b'="', b"[resource.labels.")  # how RFC 5424 and Google Cloud write the fields of their envelopes
SAY_NOTHING = ("Traceback (", "frame #", "The above exception was", "During handling of the above")
TURNS = ("boot", "stop", "death", "exit")  # lines before which those that look like trouble are kept


class EngineParser:
    """Turns the pieces of one source into events. `problems`: rules that took too long; `asides`: periodic lines, loud and last ones."""

    def __init__(self, table: RuleTable, source: str, kind: Kind, clock: Clock, *, last_lines: bool = True) -> None:
        self.table = table
        self.kind = kind
        self.clock = clock
        self.problems: list[Problem] = []
        of_tail = self._of_tail if last_lines else None
        self.asides = Asides(table, source, clock, self._of_beat, self._of_trouble, of_tail, repeated=kind == "kernel")
        self._scanned = 0
        self._held: tuple[Piece, Line] | None = None
        self._streams: dict[str, str] = {}  # each stream with the invocation of its last event
        self._repeats = Repeats(table)
        self._silent = silent(table, kind, frozenset())
        self._slow: set[str] = set()  # the rules that took too long here: what else the processor had to do is nothing about a line,
        self._unsure = Silent(table, kind, frozenset())  # so what was found out by them holds for this source only
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
            yield from self._ends(piece)
        self._held = self._dated = None  # what was read last need not be kept for what may be asked for later

    def _events_of(self, piece: Piece) -> list[Event]:
        hits, asides = self.asides.scan(piece)
        self._repeats.new_piece()
        self._silent = silent(self.table, self.kind, piece.layout)
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
        content = self._silent.content(raw, indices)
        speaking = indices - self._silent.rules_in(content) - self._unsure.rules_in(content)
        several = len(self._streams) > 1
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
            matched = self._matched(piece.file, line, rule)
            if matched is None:
                continue
            mute.discard(index)
            if rule.is_echo:
                echoes.add(line.start)
            if not plenty and self._is_wanted(rule, index, raw, several=several) and (event := self._event(piece, line, rule, matched)):
                yield event
        slow = frozenset(index for index in mute if self.table[index].id in self._slow) if self._slow else NONE
        self._silent.keep(content, frozenset(mute) - slow)
        self._unsure.keep(content, slow)

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

    def _event(self, piece: Piece, line: Line, rule: Rule, matched: tuple[str, dict[str, str]]) -> Event | None:
        """The event of one match; None for what its traceback dismisses."""
        order = self._scanned - piece.overlap + line.start
        chain = self._traceback(piece, line, order) if rule.is_root else Traceback()
        if chain.quoted or (chain.ignored and not rule.is_sticky):
            return None
        return self._made(line, piece.place(line), rule, order, matched, self._instant(piece, line), chain)

    def _line(self, piece: Piece, position: int) -> Line:
        """The line around a position: the last one again where that holds it, since several rules hit one line; of a long one only a part is held."""
        held = self._held
        if held is None or held[0] is not piece or not held[1].start <= position < held[1].end or held[1].end - held[1].start > LONGEST_HELD:
            self._held = held = (piece, piece.line_at(position))
        return held[1]

    def _of_beat(self, line: Line, place: Place, index: int, order: int) -> Event | None:
        rule = self.table[index]
        matched = self._matched(place.file, line, rule)
        return None if matched is None else self._made(line, place, rule, order, matched, self.clock.instant(line), Traceback())

    def _of_trouble(self, line: Line, place: Place, order: int) -> Event | None:
        """The event of a line that looks like trouble; None for one of an engine's life, or one that a rule knows as an echo.

        `message` is its text without the speaker; `known` names a root's signature that matches it. No word of a user is in either.
        """
        found = self._rules_of(line, place)
        if any(not rule.is_root and not rule.is_trouble and rule.kind != "config" for rule, _ in found):
            return None  # a rule that only takes figures from a line does not know what it says
        loud = next(((rule, matched) for rule, matched in found if rule.is_trouble), None)
        if loud is None:
            return None
        text = self._without_user_text(loud[1][0])
        message = tag(text).message.strip()
        if not message or message.startswith(SAY_NOTHING):
            return None
        known = next((rule.id for rule, _ in found if rule.is_root), "")
        data = {"message": message[:LONGEST_TEXT], "known": known}
        return self._made(line, place, loud[0], order, (text, data), self.clock.instant(line), Traceback())

    def _of_tail(self, line: Line, place: Place, order: int) -> Event | None:
        """The event of a line that may say anything; None for one that a rule knows as an echo, or as part of a life that does not end with it."""
        found = [rule for rule, _ in self._rules_of(line, place)]
        loud = any(rule.is_trouble for rule in found)
        if any(not rule.may_be_last and not (loud and rule.kind == "config") for rule in found):
            return None
        text = self._without_user_text(line.text)
        message = tag(text).message
        bare = message.strip()
        if not bare or bare.startswith((*SAY_NOTHING, 'File "')) or (message[:1].isspace() and ": " not in bare):  # frames, and the source below them
            return None
        said = {"message": bare[:LONGEST_TEXT]}
        return Event(
            kind="tail", rule="", place=place, text=text[:LONGEST_TEXT], stream=line.stream, order=order, origin=self._origin(line), data=said
        )

    def _rules_of(self, line: Line, place: Place) -> list[tuple[Rule, tuple[str, dict[str, str]]]]:
        """All rules that match a line, with what `_matched` gives."""
        rules = [self.table[index] for index in sorted({index for _, index in self.table.scanner.scan(line.text.encode())})]
        return [(rule, matched) for rule in rules if (matched := self._matched(place.file, line, rule)) is not None]

    def _matched(self, file: str, line: Line, rule: Rule) -> tuple[str, dict[str, str]] | None:
        """The line's text (without a user's words) and the rule's captures in it, where the rule matches and is meant for such lines."""
        if self._origin(line) not in rule.sources:
            return None
        asked = question(rule, line.text)
        if self._silent.is_miss(asked) or self._unsure.is_miss(asked):
            return None
        try:
            matched = self.table.evidence(rule, line.text)
        except TimeoutError:
            self.problems.append(Problem(file, f"rule {rule.id} took too long on a line that begins {line.text[:60]!r}", lost=False))
            self._slow.add(rule.id)
            self._unsure.miss(asked)
            return None
        if matched is None:
            self._silent.miss(asked)
        return matched

    def _made(
        self, line: Line, place: Place, rule: Rule, order: int, matched: tuple[str, dict[str, str]], at: Instant | None, chain: Traceback
    ) -> Event:
        text, data = matched
        if rule.kind == "step":
            data = step(data)
        if rule.kind == "step" or rule.is_echo:
            text = self._without_user_text(text)
        who = tag(text)
        if line.stream in self._streams or len(self._streams) < MOST_STREAMS:
            self._streams[line.stream] = line.invocation
        if line.invocation:
            data["invocation"] = line.invocation
        if rule.is_last:
            data["last"] = "yes"
        return Event(
            kind=rule.kind,
            rule=rule.id,
            place=place,
            text=text[:LONGEST_TEXT],
            at=at,
            stream=line.stream,
            role=rule.role,
            fault=rule.fault,
            process=who.process,
            pid=who.pid if who.pid is not None else line.pid,
            rank=_rank(line, who, data),
            level=who.level,
            host=line.host,
            data=data,
            frames=chain.frames,
            follows=chain.follows,
            order=order,
            origin=self._origin(line),
        )

    def _without_user_text(self, text: str) -> str:
        try:
            return self.table.user_words.own_text(text)
        except TimeoutError:
            return ""  # where it cannot be known what is whose, nothing is shown

    def _ends(self, piece: Piece) -> Iterator[Event]:
        """Where the log ends, for each of its streams: whether something was a stream's last word is evidence."""
        line = piece.line_at(len(piece.data) - 1)
        self._streams[line.stream] = line.invocation
        place = piece.place(line)
        for stream, invocation in self._streams.items():
            data = {"invocation": invocation} if invocation else {}
            yield Event(kind="end", rule="log-ends", place=place, text="", stream=stream, order=self._scanned, origin=self.kind, data=data)

    def _origin(self, line: Line) -> Kind:
        return "kernel" if line.unit == "kernel" else self.kind

    def _traceback(self, piece: Piece, line: Line, order: int) -> Traceback:
        if self._walked[0] != order:
            self._walked = (order, traceback_before(line, piece.before))
        return self._walked[1]

    def _instant(self, piece: Piece, line: Line) -> Instant | None:
        """When the line was written: the same again for several rules that hit it."""
        if self._dated is None or self._dated[0] is not line:
            self._dated = (line, self.clock.instant(line) or carried(piece, line, self.clock))
        return self._dated[1]


def _rank(line: Line, who: Tag, data: dict[str, str]) -> int | None:
    """The global rank that speaks: by the line's envelope, by its tag, or by what the rule captured."""
    told = line.rank if line.rank is not None else who.rank
    return int(data["rank"]) if told is None and data.get("rank", "").isdigit() else told
