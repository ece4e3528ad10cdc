"""Finds what Hyperscan finds, where there is no Hyperscan: texts by Aho-Corasick in one pass, then each pattern on the lines that have its text.

Of every line it reports what Hyperscan reports of that line by itself: each offset at which some match of a pattern ends. (In a piece Hyperscan
also finds matches that run over the end of a line. No rule can confirm one: rules see a line by itself.) A pattern with a lookaround is tried as
it stands, while Hyperscan reports more of it than matches. A pattern that gives no text is tried on every line.

The ends are found by a lookbehind, which `regex` tries at each offset behind the first match. It may backtrack, so it has a limit of time for
each line; behind that the line counts as hit, and the rule, which has a limit of its own, decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.literals import literals_and_width
from triage.knowledge.load import RuleError
from triage.knowledge.patterns import ScanPattern

Hits = list[tuple[int, int]]


class Compiled(NamedTuple):
    """A pattern, and one that matches, empty, wherever a match of it ends."""

    match: regex.Pattern[bytes]
    end: regex.Pattern[bytes]


class Fallback:
    """Scans pieces of bytes for all patterns. Raises RuleError where a pattern is no regex or matches nothing at all; the message names the rule.

    What Python's `re` takes and `regex` does not is found on first use only.
    """

    def __init__(self, patterns: Sequence[ScanPattern]) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation

        self.patterns = tuple(patterns)
        self._compiled: list[Compiled | None] = [None] * len(patterns)  # on first use: a log has hits of few rules
        owners: dict[bytes, list[int]] = {}
        self._everywhere: list[int] = []  # patterns that give no text
        for index, pattern in enumerate(patterns):
            texts = _texts(pattern)
            for text in texts:
                owners.setdefault(text, []).append(index)
            if not texts:
                self._everywhere.append(index)
        self._owners = list(owners.values())
        self._automaton = BytesAhoCorasick(list(owners), implementation=Implementation.DFA) if owners else None

    def twin(self) -> Fallback:
        """Itself: nothing in it changes while it scans."""
        return self

    def scan(self, data: bytes) -> Hits:
        """`(end offset, pattern index)` of every match that does not leave its line, ordered by offset."""
        hits: Hits = []
        done: set[int] = set()
        for begin, end, indices in self._candidates(data):
            line = data[begin:end]
            for index in indices:
                if index in done:
                    continue
                ends = self._ends_in(index, line)
                if self.patterns[index].once and ends:
                    done.add(index)
                    ends = ends[:1]
                hits += [(begin + at, index) for at in ends]
        hits.sort()
        return hits

    def run(self, data: bytes) -> None:
        """Scans `data` and tells nobody."""
        self.scan(data)

    def _candidates(self, data: bytes) -> Iterator[tuple[int, int, set[int]]]:
        """The lines that may hold a match, in order: where each begins and ends, and the patterns to be tried on it."""
        found = self._automaton.find_matches_as_indexes(data.lower(), overlapping=True) if self._automaton else []
        if self._everywhere:
            yield from self._each_line(data, found)
            return
        begin, end, wanted = 0, -1, set[int]()
        for text, start, stop in found:  # ordered by where they end, and no text holds the end of a line but one that is crossed
            if start >= begin and stop <= end:
                wanted.update(self._owners[text])
                continue
            if wanted:
                yield begin, end, wanted
            begin, end = data.rfind(b"\n", 0, start) + 1, _line_end(data, start)
            wanted = set(self._owners[text]) if stop <= end else set()
        if wanted:
            yield begin, end, wanted

    def _each_line(self, data: bytes, found: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, set[int]]]:
        begin, at = 0, 0
        while begin < len(data):
            end = _line_end(data, begin)
            wanted = set(self._everywhere)
            while at < len(found) and found[at][2] <= end:
                wanted.update(self._owners[found[at][0]])
                at += 1
            yield begin, end, wanted
            begin = end + 1

    def _ends_in(self, index: int, line: bytes) -> list[int]:
        """Where matches of a pattern end in a line; at its end where that could not be told in time."""
        compiled = self._compiled[index] = self._compiled[index] or _compiled(self.patterns[index])
        try:
            first = compiled.match.search(line, timeout=SECONDS_PER_LINE)
            if first is None:
                return []
            return [found.end() for found in compiled.end.finditer(line, first.start() + 1, timeout=SECONDS_PER_LINE)]
        except TimeoutError:
            return [len(line)]


def _line_end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return end if end >= 0 else len(data)


def _compiled(pattern: ScanPattern) -> Compiled:
    flags = regex.MULTILINE | (regex.IGNORECASE if pattern.ignore_case else 0)
    expression = pattern.expression.encode()
    try:
        return Compiled(regex.compile(expression, flags), regex.compile(b"(?<=(?:%s))" % expression, flags))
    except regex.error as error:
        raise _refused(pattern, str(error)) from error


def _texts(pattern: ScanPattern) -> frozenset[bytes]:
    """The texts of a pattern; none for one that `regex` takes and `re` does not, which is tried everywhere."""
    try:
        parsed = literals_and_width(pattern.expression.encode())
    except (re.error, RecursionError, OverflowError):
        _compiled(pattern)
        return frozenset()
    if not parsed.shortest:
        raise _refused(pattern, "it matches nothing at all")
    return parsed.texts


def _refused(pattern: ScanPattern, why: str) -> RuleError:
    return RuleError(f"rule {pattern.rule}: the scanner cannot compile {pattern.expression!r} ({why}); give it a plainer `scan` pattern")
