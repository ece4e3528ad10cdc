"""Looks through the logs of a run once for all lines that a trial asks about, and keeps counts and extremes, not the lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.load import Knowledge
from triage.knowledge.patterns import scan_pattern
from triage.knowledge.scanner import Scanner
from triage.knowledge.schema import Line as LineRule
from triage.knowledge.table import RuleTable
from triage.model import Instant, Seconds, SourceInfo
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.paths import path_of
from triage.sources.pieces import Piece, pieces

KEPT = 256


class Sought(NamedTuple):
    """A pattern that is looked for, under a name; its group `value`, where it has one, is a figure."""

    name: str
    pattern: str
    scan: str = ""


class Sighting(NamedTuple):
    """One line that matched: when, where, its text, and its named groups."""

    at: Instant | None
    file: str
    text: str
    groups: dict[str, str]

    @property
    def value(self) -> float | None:
        text = self.groups.get("value", "").replace(",", "")
        try:
            return float(text) if text else None
        except ValueError:
            return None


class Seen(msgspec.Struct):
    """All lines of one name: how many, the sum and the extremes of their figures, the first of them, and the one with the largest figure."""

    count: int = 0
    total: float = 0.0
    figures: int = 0
    smallest: float | None = None
    largest: float | None = None
    at_largest: Sighting | None = None
    kept: list[Sighting] = msgspec.field(default_factory=list)

    @property
    def first(self) -> Sighting | None:
        return self.kept[0] if self.kept else None

    def add(self, sighting: Sighting) -> None:
        self.count += 1
        if len(self.kept) < KEPT:
            self.kept.append(sighting)
        value = sighting.value
        if value is None:
            return
        self.total += value
        self.figures += 1
        self.smallest = value if self.smallest is None else min(self.smallest, value)
        if self.largest is None or value > self.largest:
            self.largest, self.at_largest = value, sighting


class Window(NamedTuple):
    """From when until when lines count (seconds since the epoch); None: no bound. Lines without a time always count."""

    since: Seconds | None = None
    until: Seconds | None = None

    def holds(self, at: Instant | None) -> bool:
        if at is None:
            return True
        return (self.since is None or at.latest >= self.since) and (self.until is None or at.earliest <= self.until)


class Lines:
    """Looks for some patterns in logs. Raises RuleError where the scanner cannot be made for one of them; the message names it."""

    def __init__(self, sought: Iterable[Sought], known: Knowledge) -> None:
        self._sought = list(sought)
        self._patterns = [regex.compile(one.pattern) for one in self._sought]
        self._table = RuleTable(known)
        rules = [LineRule(id=one.name, kind="config", pattern=one.pattern, scan=one.scan, summary="", samples=()) for one in self._sought]
        self._scanner = Scanner([scan_pattern(rule) for rule in rules]) if rules else None

    def look(self, sources: Sequence[SourceInfo], *, tz: str = "UTC", year: int | None = None, window: Window | None = None) -> dict[str, Seen]:
        """What of the patterns these sources show; a name with no line has a count of 0."""
        seen = {one.name: Seen() for one in self._sought}
        for info in sources:
            clock = Clock(tz=tz, year=year, reference=_written(info.files))
            for piece in pieces(Source(info.name, info.files), clock):
                self._piece(piece, clock, window or Window(), seen)
        return seen

    def _piece(self, piece: Piece, clock: Clock, window: Window, seen: dict[str, Seen]) -> None:
        done: set[tuple[int, int]] = set()
        for end, index in self._scanner.scan(piece.data) if self._scanner else ():
            if piece.overlap and end <= piece.overlap:
                continue
            line = piece.line_at(end - 1)
            if (index, line.start) in done:
                continue
            done.add((index, line.start))
            groups = self._match(index, line.text)
            if groups is not None and window.holds(at := clock.instant(line)):
                seen[self._sought[index].name].add(Sighting(at, piece.file, line.text, groups))

    def _match(self, index: int, text: str) -> dict[str, str] | None:
        """The named groups; None where the line does not match in the part of it that the engine wrote itself."""
        try:
            found = self._patterns[index].search(self._table.user_words.own_text(text), timeout=SECONDS_PER_LINE)
        except TimeoutError:
            return None
        return None if found is None else {name: value for name, value in found.groupdict().items() if value is not None}


def _written(files: Sequence[str]) -> Seconds | None:
    """When the newest of the files was written last; None where that cannot be known."""
    try:
        return max(os.stat(path_of(file)).st_mtime for file in files)
    except (OSError, ValueError):
        return None
