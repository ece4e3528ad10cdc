"""The short way for the bulk of a log: good probes whose lines differ in nothing but their dates and the seconds they took.

Nothing is understood here. A line that the readers have understood becomes a shape (all its text but dates and figures), and later
lines of the same shape mean the same; whatever else comes takes the long way. The shape that comes next is mostly the one that came
next the last time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from triage.model import Seconds
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.records import Answer
from triage.parsers.probe.spots import Spot, spot, spots_of

_FIGURE = re.compile(r'(?<=[ =:,;|"(])[0-9]{1,6}\.[0-9]{1,15}(?![.0-9])')  # with what stands before it, so that no IP address is one
_DECIMAL = r"[0-9]{1,6}\.[0-9]{1,15}"
_WHOLE = re.compile(r'(?<=[ =:,;|"(])[0-9]{1,9}(?=ms\b|s\b|[ ,;|"})]|$)')
_INTEGER = "[0-9]{1,9}"
_LONGEST = 1024
_MOST_TRIED = 64
_MOST_LEARNT = 512
_UNITS = (1.0, 1e-3)

Part = tuple[int, int, str]
"""From, to, and the pattern for what stands there."""


Times = tuple[Seconds | None, Seconds | None, Seconds | None]
"""The stamp of a line (None where its text has none), its end and its duration, in seconds (since the epoch)."""


class Shape:
    """Lines that differ in dates and figures only, what they mean, and the shape that followed them last."""

    __slots__ = ("answer", "end", "many", "read", "stamp", "symbol", "then", "zoned")

    def __init__(self, pattern: str, answer: Answer, symbol: str, zoned: bool, unit: Seconds, dates: dict[str, Spot]) -> None:
        self.answer = answer
        self.symbol = symbol
        self.zoned = zoned
        self.stamp = dates.get("stamp")
        self.end = dates.get("end")
        self.read = _reader(re.compile(pattern, re.DOTALL), self.stamp, self.end, unit)
        self.many = _reader_of_many(re.compile(f"^({pattern})$", re.MULTILINE), self.stamp, self.end, unit)
        self.then = self

    def learn(self, dates: dict[str, Spot]) -> None:
        """Learn the days of another line's dates."""
        for known, date in ((self.stamp, dates.get("stamp")), (self.end, dates.get("end"))):
            if known is not None and date is not None:
                known.learn(date)


Known = tuple[Shape, Times]


class Bulk:
    """The shapes of one log."""

    def __init__(self, dates: DateReader) -> None:
        self._dates = dates
        self._shapes: dict[str, Shape] = {}
        self._recent: list[Shape] = []
        self._last: Shape | None = None

    def known(self, text: str) -> Known | None:
        """What a line says that is of a known shape, else None."""
        last = self._last
        if last is None:
            return None
        shape = last.then
        times = shape.read(text)
        if times is None:
            other = self._another(text, shape)
            if other is None:
                return None
            last.then = shape = other[0]
            times = other[1]
        self._last = shape
        return shape, times

    def all_known(self, texts: Sequence[str]) -> tuple[Shape, list[Times]] | None:
        """What lines say that are all of the shape that came last, and follows itself; else None."""
        shape = self._last
        if shape is None or shape.then is not shape or shape.stamp is None:
            return None
        times = shape.many(texts)
        return None if times is None else (shape, times)

    def learn(self, text: str, stamp: Seconds | None, zoned: bool, answer: Answer, symbol: str) -> None:
        """Remember how a good probe's line looks. `stamp` is the date that was read from it, None where it has none."""
        if answer.timeout is not None or len(text) > _LONGEST or len(self._shapes) >= _MOST_LEARNT:
            return
        dates = self._dates_of(text, stamp, zoned, answer.end)
        figures = None if dates is None else _figures(text, answer, [(date.start, date.end) for date in dates.values()])
        if dates is None or figures is None:
            return
        pattern = _pattern(text, [*((date.start, date.end, _named(name, date.pattern)) for name, date in dates.items()), *figures[0]])
        shape = self._shapes.get(pattern)
        if shape is None:
            bare = msgspec.structs.replace(answer, start=None, end=None, duration=None)
            shape = self._shapes[pattern] = Shape(pattern, bare, symbol, zoned, figures[1], dates)
        shape.learn(dates)
        self._remember(shape)

    def _another(self, text: str, tried: Shape) -> Known | None:
        if len(text) <= _LONGEST:
            for position, shape in enumerate(self._recent):
                if shape is not tried and (times := shape.read(text)):
                    self._recent.insert(0, self._recent.pop(position))
                    return shape, times
        return None

    def _remember(self, shape: Shape) -> None:
        if self._last is not None:
            self._last.then = shape
        self._last = shape
        if shape in self._recent:
            self._recent.remove(shape)
        self._recent.insert(0, shape)
        del self._recent[_MOST_TRIED:]

    def _dates_of(self, text: str, stamp: Seconds | None, zoned: bool, end: Seconds | None) -> dict[str, Spot] | None:
        """The stamp and the end of a line by these names; None where they cannot be read the short way."""
        if stamp is None:
            return {} if end is None else None
        if not (zoned or self._dates.is_utc) or stamp == end:
            return None
        first = self._stamp_of(text, stamp)
        last = _only(text, end) if first and end is not None else None
        if first is None or (end is not None and (last is None or (last.start < first.end and first.start < last.end))):
            return None
        return {"stamp": first, "end": last} if last else {"stamp": first}

    def _stamp_of(self, text: str, stamp: Seconds) -> Spot | None:
        found = self._dates.find(text)
        if found is None or found.seconds != stamp:
            return _only(text, stamp)
        written = text[found.start : found.end]
        bare = written.strip("[]()\"'")
        start = found.start + written.find(bare)
        return spot(text, start, start + len(bare), stamp)


def _reader(pattern: re.Pattern[str], stamp: Spot | None, end: Spot | None, unit: Seconds) -> Callable[[str], Times | None]:
    """What gives the times of a line of a shape, and None for any other line."""
    match, groups = pattern.fullmatch, pattern.groupindex
    first, last, figure = groups.get("stamp", 0), groups.get("end", 0), groups.get("duration", 0)

    def read(text: str) -> Times | None:
        found = match(text)
        if found is None:
            return None
        began = ended = took = None
        if stamp is not None and (began := stamp.read(found, first)) is None:
            return None
        if end is not None and (ended := end.read(found, last)) is None:
            return None
        if figure:
            took = float(found[figure]) * unit
        return began, ended, took

    return read


def _reader_of_many(pattern: re.Pattern[str], stamp: Spot | None, end: Spot | None, unit: Seconds) -> Callable[[Sequence[str]], list[Times] | None]:
    """The same for many lines at once, None where one of them is another.

    The first group of `pattern` is the whole line, so that what `findall` gives has the groups of the shape under their own numbers.
    """
    find, groups = pattern.findall, {name: index - 1 for name, index in pattern.groupindex.items()}
    first, last, figure = groups.get("stamp", 0), groups.get("end", 0), groups.get("duration", 0)

    def read(texts: Sequence[str]) -> list[Times] | None:
        found = find("\n".join(texts))
        if len(found) != len(texts):
            return None
        began = stamp.read_all(found, first) if stamp is not None else [None] * len(found)
        ended = end.read_all(found, last) if end is not None else [None] * len(found)
        if began is None or ended is None:
            return None
        took = [float(said[figure]) * unit for said in found] if figure else [None] * len(found)
        return list(zip(began, ended, took, strict=True))

    return read


def _only(text: str, seconds: Seconds) -> Spot | None:
    """The one date of a text that says `seconds`."""
    told = spots_of(text, seconds)
    return spot(text, *told[0], seconds) if len(told) == 1 else None


def _figures(text: str, answer: Answer, dates: list[tuple[int, int]]) -> tuple[list[Part], Seconds] | None:
    """The figures of a line, with that of its duration as a group, and the unit of that, 0 for none; None where it may be any of several."""
    found = [f for f in _FIGURE.finditer(text) if not _overlap(f, dates)]
    if any(f[0] in answer.evidence or f[0] in answer.target for f in found):
        return None
    parts = {f.span(): _DECIMAL for f in found}
    if answer.duration is None:
        return [(*span, pattern) for span, pattern in parts.items()], 0.0
    wholes = [f for f in _WHOLE.finditer(text) if not _overlap(f, dates) and f[0] not in answer.evidence and f[0] not in answer.target]
    told = _saying(found, answer.duration) or _saying(wholes, answer.duration)
    if len(told) != 1:
        return None
    (figure, unit), = told
    parts[figure.span()] = _named("duration", f"({parts.get(figure.span(), _INTEGER)})")
    return [(*span, pattern) for span, pattern in parts.items()], unit


def _saying(figures: list[re.Match[str]], seconds: Seconds) -> list[tuple[re.Match[str], Seconds]]:
    return [(f, unit) for f in figures for unit in _UNITS if abs(float(f[0]) * unit - seconds) < 1e-9]


def _overlap(found: re.Match[str], spans: list[tuple[int, int]]) -> bool:
    return any(found.start() < end and start < found.end() for start, end in spans)


def _named(name: str, pattern: str) -> str:
    """A pattern that begins with a group, with that group called by a name."""
    return f"(?P<{name}>{pattern[1:]}"


def _pattern(text: str, parts: list[Part]) -> str:
    """All of a text as it is, but for its parts."""
    pieces, reached = [], 0
    for start, end, pattern in sorted(parts):
        pieces += [re.escape(text[reached:start]), pattern]
        reached = end
    return "".join((*pieces, re.escape(text[reached:])))
