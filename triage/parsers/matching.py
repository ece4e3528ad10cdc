"""Tells for every line of a log which rules match it, and which lines look like trouble and are known to no rule: for who writes rules.

Nothing is judged and nothing held back here: what `EngineParser` passes over (periodic lines, roots on the line of an echo, the
sixty-fifth line of a rule) is counted, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from triage.knowledge.table import Rule, RuleTable
from triage.model import Kind, Place, Problem
from triage.parsers.options import Options
from triage.parsers.tags import tag
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.pieces import Line, Piece, lines_of, pieces

MOST_SHOWN = 10_000
INSIDE = ("Traceback (most recent call last)", "During handling of the above", "The above exception was", "frame #", "| ", "+-")
LONGEST_GIST = 160
_VOLATILE = re.compile(r"\b(?:0x)?[0-9a-f]{8,}\b|\d+")  # addresses and ids, and every other figure: lines that differ in nothing else are alike


class MatchedLine(msgspec.Struct, frozen=True):
    """One line, with the ids of the rules that match it; `like` counts this line and those that differ from it only in figures."""

    place: Place
    text: str
    rules: tuple[str, ...] = ()
    like: int = 1


class Tally(msgspec.Struct, frozen=True):
    """How many lines of a source one rule matches, and where the first stands."""

    rule: str
    lines: int
    first: Place


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """What rules say of one source. Of an engine's or the kernel's log: `tallies`, some of the lines, and trouble that no rule knows.

    Of a probe log: how many probes bear each symbol, how many lines nobody understood (`unknown`), and some of those.
    """

    name: str
    kind: Kind
    lines: int = 0
    matched: int = 0
    tallies: tuple[Tally, ...] = ()
    shown: tuple[MatchedLine, ...] = ()
    unmatched: tuple[MatchedLine, ...] = ()
    symbols: dict[str, int] = {}
    unknown: int = 0
    unknown_shown: tuple[MatchedLine, ...] = ()
    problems: tuple[Problem, ...] = ()


def matching(source: Source, kind: Kind, table: RuleTable, options: Options, *, most: int) -> Matching:
    """What the rules say of one source, with at most `most` lines shown for each rule.

    Raises ValueError for a probe format that is no usable regex and for an unknown time zone.
    """
    problems: list[Problem] = []
    read = pieces(source, Clock(tz=options.tz, year=options.year), problems=problems)
    if kind == "probe":
        return _of_probes(source, read, table, options, problems)
    tally = _Tally(table, kind, most)
    lines = sum(tally.take(piece) for piece in read)
    return Matching(
        name=source.name,
        kind=kind,
        lines=lines,
        matched=tally.matched,
        tallies=tuple(Tally(rule, count, tally.firsts[rule]) for rule, count in tally.counts.items()),
        shown=tuple(tally.shown),
        unmatched=tuple(tally.unmatched.values()),
        problems=tuple(problems),
    )


class _Tally:
    """Takes the pieces of one source and counts. `counts` and `firsts` by rule, `unmatched` by what tells one loud line from another."""

    def __init__(self, table: RuleTable, kind: Kind, most: int) -> None:
        self.counts: dict[str, int] = {}
        self.firsts: dict[str, Place] = {}
        self.shown: list[MatchedLine] = []
        self.unmatched: dict[str, MatchedLine] = {}
        self.matched = 0
        self._table = table
        self._kind = kind
        self._most = most

    def take(self, piece: Piece) -> int:
        """Takes one piece and tells how many lines it stands for."""
        hits = [hit for hit in self._table.scanner.scan(piece.data) if hit[0] > piece.overlap]
        found = ((piece.line_at(end - 1), index) for end, index in hits)
        for _, same in groupby(found, key=lambda one: one[0].start):
            group = list(same)
            self._take_line(piece, group[0][0], sorted({index for _, index in group}))
        return piece.lines

    def _take_line(self, piece: Piece, line: Line, indexes: Iterable[int]) -> None:
        rules = [rule for rule in map(self._table.__getitem__, indexes) if self._matches(rule, line)]
        if not rules:
            return
        known = [rule for rule in rules if not rule.is_trouble]
        if known:
            self._count(piece, line, known)
        elif not _is_inside_report(line.text) and not self._is_users(rules, line):
            self._count_unmatched(piece, line)

    def _matches(self, rule: Rule, line: Line) -> bool:
        origin = "kernel" if line.unit == "kernel" else self._kind
        try:
            return origin in rule.sources and self._table.evidence(rule, line.text) is not None
        except TimeoutError:
            return False

    def _is_users(self, rules: Sequence[Rule], line: Line) -> bool:
        """Whether what looks like trouble is in the words of a user only."""
        own = self._table.user_words.own_text(line.text)
        return not any(rule.match(own) for rule in rules)

    def _count(self, piece: Piece, line: Line, rules: Sequence[Rule]) -> None:
        self.matched += 1
        place = piece.place(line)
        wanted = any(self.counts.get(rule.id, 0) < self._most for rule in rules)
        for rule in rules:
            self.counts[rule.id] = self.counts.get(rule.id, 0) + 1
            self.firsts.setdefault(rule.id, place)
        if wanted and len(self.shown) < MOST_SHOWN:
            self.shown.append(MatchedLine(place, line.text, tuple(rule.id for rule in rules)))

    def _count_unmatched(self, piece: Piece, line: Line) -> None:
        name = _VOLATILE.sub("", line.text)[:LONGEST_GIST]
        seen = self.unmatched.get(name)
        if seen is not None:
            self.unmatched[name] = msgspec.structs.replace(seen, like=seen.like + 1)
        elif len(self.unmatched) < MOST_SHOWN:
            self.unmatched[name] = MatchedLine(piece.place(line), line.text)


def _is_inside_report(text: str) -> bool:
    """Whether a line is part of a traceback or a report, loud only by its level: what it ends in is what tells."""
    message = tag(text).message
    return not message.strip() or message[0].isspace() or message.startswith(INSIDE)


def _of_probes(source: Source, read: Iterator[Piece], table: RuleTable, options: Options, problems: list[Problem]) -> Matching:
    from triage.parsers.rows import probe_log

    log = probe_log(read, options, table.knowledge.probes)
    symbols: dict[str, int] = {}
    for probe in log.probes:
        symbols[probe.symbol] = symbols.get(probe.symbol, 0) + 1
    nowhere = Place(source.name, source.files[-1], 0)
    return Matching(
        name=source.name,
        kind="probe",
        matched=len(log.probes),
        symbols=symbols,
        unknown=log.unknown,
        unknown_shown=tuple(MatchedLine(row.place or nowhere, row.text) for row in log.unknown_samples),
        problems=tuple(problems),
    )


def texts(source: Source) -> Iterator[tuple[str, str]]:
    """Every line of a log without its envelope, with `file:line`; what cannot be read of it is left out."""
    for piece in pieces(source, Clock()):
        for line in lines_of(piece):
            place = piece.place(line)
            yield f"{place.file}:{place.line}", line.text
