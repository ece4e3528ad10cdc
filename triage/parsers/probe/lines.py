"""Reads the lines of one log: takes the date off, knows a CSV header when it sees one, and remembers what comes again and again."""

from __future__ import annotations

import csv
import re
from typing import Protocol

import msgspec
import regex

from triage.expressions import SECONDS_PER_LINE
from triage.model import Seconds
from triage.parsers.probe import shapes
from triage.parsers.probe.dates import DateReader, Stamp
from triage.parsers.probe.keys import RESULT_KEYS, TIME_KEYS, answer_of
from triage.parsers.probe.records import Answer

_SYSLOG = re.compile(r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [A-Za-z][\w./-]*(?:\[\d+\])?|\d{4}-\d\d-\d\dT\S+ \S+ [A-Za-z][\w./-]*\[\d+\]): ")
_AROUND = " \t,;|:-]"
_REMEMBERED = 4096
_HEADER_WITHIN = 20


class Said(msgspec.Struct, frozen=True):
    """One line: its date as the text gives it (seconds since the epoch, None where it has none), and what it says."""

    stamp: Seconds | None
    zoned: bool
    answer: Answer | None


class Reader(Protocol):
    """Whatever reads one line; `near` is the instant that its envelope gave, in seconds since the epoch."""

    def read(self, text: str, near: Seconds | None) -> Said: ...


class LineReader:
    """Reads lines of any format."""

    def __init__(self, dates: DateReader) -> None:
        self._dates = dates
        self._header: tuple[str, list[str]] | None = None
        self._lines = 0
        self._known: dict[str, Answer | None] = {}

    def read(self, text: str, near: Seconds | None) -> Said:
        """The date and the answer of one line. Raises NothingSaidError for lines that are known to say nothing."""
        if text[0] == "{" or self._header is not None or self._lines < _HEADER_WITHIN:
            self._lines += 1
            answer = self._whole(text)
            if answer is not None:
                return Said(answer.start, True, answer)
        stamp, rest = self._dated(text, near)
        if stamp is None:
            return Said(None, False, self._said(text.strip(_AROUND)))
        return Said(stamp.seconds, stamp.zoned, self._said(rest))

    def _dated(self, text: str, near: Seconds | None) -> tuple[Stamp | None, str]:
        """The date of a line and the rest of it; a script's own date goes before syslog's."""
        syslog = _SYSLOG.match(text)
        if syslog:
            rest = text[syslog.end() :]
            inner = self._dates.find(rest, near)
            return (inner, _without(rest, inner)) if inner else (self._dates.find(text, near), rest)
        stamp = self._dates.find(text, near)
        return stamp, text if stamp is None else _without(text, stamp)

    def _whole(self, text: str) -> Answer | None:
        """The answer of a line whose date is one field among others: a JSON object, a row under a CSV header."""
        if text[0] == "{":
            return shapes.json_answer(text, self._dates)
        if self._header is None:
            self._header = csv_header(text)
            if self._header is not None:
                raise shapes.NothingSaidError
            return None
        delimiter, names = self._header
        cells = csv_cells(text, delimiter)
        return answer_of(dict(zip(names, cells, strict=True)), self._dates) if len(cells) == len(names) else None

    def _said(self, rest: str) -> Answer | None:
        if rest in self._known:
            return self._known[rest]
        answer = self._with_end(rest) if rest[:1].isdigit() and len(rest) > 10 else None
        answer = answer or shapes.read(rest, self._dates)
        if answer is None or answer.duration is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[rest] = answer
        return answer

    def _with_end(self, rest: str) -> Answer | None:
        """`END REST`, where a line gives both its dates."""
        second = self._dates.find(rest)
        if second is None or second.start or second.end >= len(rest):
            return None
        said = shapes.read(_without(rest, second), self._dates)
        return said and msgspec.structs.replace(said, end=second.seconds)


def _without(text: str, stamp: Stamp) -> str:
    if stamp.start == 0:
        return text[stamp.end :].strip(_AROUND)
    return f"{text[: stamp.start].strip(_AROUND)} {text[stamp.end :].strip(_AROUND)}".strip()


def csv_header(text: str) -> tuple[str, list[str]] | None:
    """The delimiter and the column names of a CSV header: it names a time and a result, and has no figures."""
    if any(character.isdigit() for character in text[:200]):
        return None
    for delimiter in ",;\t|":
        names = [name.strip().strip('"').lower() for name in text.lstrip("#\ufeff ").split(delimiter)]
        if len(names) > 1 and not TIME_KEYS.isdisjoint(names) and not RESULT_KEYS.isdisjoint(names):
            return delimiter, names
    return None


def csv_cells(text: str, delimiter: str) -> list[str]:
    """The fields of a row; none where its quotes are broken."""
    if '"' not in text:
        return [cell.strip() for cell in text.split(delimiter)]
    try:
        return next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


class UserFormat:
    """A user's own regex: named groups time, end, status, exit, error, target, ok and duration.

    Raises ValueError where it does not compile, names other groups, or none that could tell a result.
    """

    _GROUPS = frozenset(("time", "end", "status", "exit", "error", "target", "ok", "duration"))
    _RESULTS = frozenset(("status", "exit", "error", "ok"))

    def __init__(self, pattern: str, dates: DateReader) -> None:
        self._dates = dates
        try:
            self._pattern = regex.compile(pattern)
        except regex.error as error:
            raise ValueError(f"the probe format is no regular expression: {error}") from error
        names = self._pattern.groupindex.keys()
        if self._RESULTS.isdisjoint(names) or not self._GROUPS.issuperset(names):
            groups, results = ", ".join(sorted(self._GROUPS)), ", ".join(sorted(self._RESULTS))
            raise ValueError(f"a probe format names no other groups than {groups}, and at least one of {results}")

    def read(self, text: str, near: Seconds | None) -> Said:
        """The date and the answer of a line that fits; a line that does not fit says nothing."""
        try:
            found = self._pattern.search(text, timeout=SECONDS_PER_LINE)
        except TimeoutError:
            found = None
        if found is None:
            return Said(None, False, None)
        groups = found.groupdict()
        stamp = self._dates.find((groups.pop("time", None) or "").strip(), near)
        answer = answer_of(groups, self._dates)
        return Said(stamp and stamp.seconds, bool(stamp and stamp.zoned), answer)
