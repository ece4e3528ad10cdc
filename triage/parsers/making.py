"""Makes events of lines that rules match: what they say, who says it and when, without a word of a user."""

from __future__ import annotations

from collections.abc import Iterator

from triage.knowledge.table import Rule, RuleTable
from triage.model import Event, Instant, Kind, Place, Problem
from triage.parsers.silent import Memory, question
from triage.parsers.steps import step
from triage.parsers.tags import Tag, tag
from triage.parsers.traceback import Traceback
from triage.sources.clock import Clock
from triage.sources.pieces import Line, Piece

MOST_STREAMS = 256
LONGEST_TEXT = 4096
SAY_NOTHING = ("Traceback (", "frame #", "The above exception was", "During handling of the above")

Matched = tuple[str, dict[str, str]]  # the part of a line that is evidence, and a rule's captures in it


class Maker:
    """Makes the events of one source. `problems`: rules that took too long; `streams`: those met, each with the invocation of its last event."""

    def __init__(self, table: RuleTable, kind: Kind, clock: Clock) -> None:
        self.table = table
        self.kind = kind
        self.clock = clock
        self.memory = Memory(table, kind)
        self.problems: list[Problem] = []
        self.streams: dict[str, str] = {}

    def matched(self, file: str, line: Line, rule: Rule) -> Matched | None:
        """The line's text (without a user's words) and the rule's captures in it, where the rule matches and is meant for such lines."""
        if self.origin(line) not in rule.sources:
            return None
        asked = question(rule, line.text)
        if self.memory.is_miss(asked):
            return None
        try:
            matched = self.table.evidence(rule, line.text)
        except TimeoutError:
            self.problems.append(Problem(file, f"rule {rule.id} took too long on a line that begins {line.text[:60]!r}", lost=False))
            self.memory.too_slow(rule, asked)
            return None
        if matched is None:
            self.memory.miss(asked)
        return matched

    def made(self, line: Line, place: Place, rule: Rule, order: int, matched: Matched, at: Instant | None, chain: Traceback) -> Event:
        """The event of a rule that matched a line. `order`: its place among all of the source; `chain`: the traceback that ends with it."""
        text, data = matched
        if rule.kind == "step":
            data = step(data)
        if rule.kind == "step" or rule.is_echo:
            text = self._without_user_text(text)
        who = tag(text)
        if line.stream in self.streams or len(self.streams) < MOST_STREAMS:
            self.streams[line.stream] = line.invocation
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
            origin=self.origin(line),
        )

    def of_beat(self, line: Line, place: Place, index: int, order: int) -> Event | None:
        """The event of a periodic line; None where the rule that hit it does not match."""
        rule = self.table[index]
        matched = self.matched(place.file, line, rule)
        return None if matched is None else self.made(line, place, rule, order, matched, self.clock.instant(line), Traceback())

    def of_trouble(self, line: Line, place: Place, order: int) -> Event | None:
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
        return self.made(line, place, loud[0], order, (text, data), self.clock.instant(line), Traceback())

    def of_tail(self, line: Line, place: Place, order: int) -> Event | None:
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
            kind="tail", rule="", place=place, text=text[:LONGEST_TEXT], stream=line.stream, order=order, origin=self.origin(line), data=said
        )

    def ends(self, piece: Piece, order: int) -> Iterator[Event]:
        """Where the log ends, for each of its streams: whether something was a stream's last word is evidence."""
        line = piece.line_at(len(piece.data) - 1)
        self.streams[line.stream] = line.invocation
        place = piece.place(line)
        for stream, invocation in self.streams.items():
            data = {"invocation": invocation} if invocation else {}
            yield Event(kind="end", rule="log-ends", place=place, text="", stream=stream, order=order, origin=self.kind, data=data)

    def origin(self, line: Line) -> Kind:
        """Whose words a line holds: the kernel's may stand in any log of a host."""
        return "kernel" if line.unit == "kernel" else self.kind

    def _rules_of(self, line: Line, place: Place) -> list[tuple[Rule, Matched]]:
        """All rules that match a line, with what `matched` gives."""
        rules = [self.table[index] for index in sorted({index for _, index in self.table.scanner.scan(line.text.encode())})]
        return [(rule, matched) for rule in rules if (matched := self.matched(place.file, line, rule)) is not None]

    def _without_user_text(self, text: str) -> str:
        try:
            return self.table.user_words.own_text(text)
        except TimeoutError:
            return ""  # where it cannot be known what is whose, nothing is shown


def _rank(line: Line, who: Tag, data: dict[str, str]) -> int | None:
    """The global rank that speaks: by the line's envelope, by its tag, or by what the rule captured."""
    told = line.rank if line.rank is not None else who.rank
    return int(data["rank"]) if told is None and data.get("rank", "").isdigit() else told
