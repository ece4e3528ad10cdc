"""The short way for the bulk of a log: good probes whose lines differ in nothing but their dates and the seconds they took.

Nothing is understood here. A line that the readers have understood becomes a template (all its text but dates and figures), and
later lines of the same template mean the same; whatever else comes takes the long way.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, NamedTuple

import msgspec

from triage.model import Seconds
from triage.parsers.probe.dates import DateReader
from triage.parsers.probe.records import Answer

_FIGURE = re.compile(r'([ =:,;|"(][0-9]{1,6}\.[0-9]{1,15})(?![.0-9])')  # with what stands before it, so that no IP address is one
_EPOCH = re.compile(r"\d{10}(?:\.\d+)?(?!\d)")
_CLOCK = re.compile(r"(?<!\d)\d\d:\d\d:\d\d(?![.,\d])")
_YEAR = re.compile(r"(?<!\d)(?:19|2[01])\d\d(?!\d)")
_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?P<zone>Z|[+-]\d\d:?\d\d)?")
_MOST = 4096
_PATIENCE = 64
_LONGEST = 1024
_UNITS = (1.0, 1e-3)


class Meaning(NamedTuple):
    """What a template stands for: the symbol, the answer without its times, and which figure (from 0) is its duration, in which unit."""

    symbol: str
    answer: Answer
    figure: int = -1
    unit: Seconds = 1.0


class Known(NamedTuple):
    """A line of a known template. Times in seconds since the epoch; `stamp` is None where the text has no date."""

    stamp: Seconds | None
    end: Seconds | None
    duration: Seconds | None
    meaning: Meaning


class Spot(NamedTuple):
    """Where lines have their date, and how it is read: by the standard library (with a zone added), as a number, or day by day."""

    start: int
    end: int
    way: Literal["iso", "epoch", "day"]
    clock: int = 0
    zone: str = ""


class Bulk:
    """The templates of one log."""

    def __init__(self, dates: DateReader) -> None:
        self.zoned = True
        self._dates = dates
        self._spot: Spot | None = None
        self._strangers = 0
        self._hopeless = False
        self._ends = False
        self._days: dict[str, Seconds] = {}
        self._templates: dict[str | tuple[str, ...], Meaning] = {}

    def known(self, text: str) -> Known | None:
        """What a line says that is of a known template, else None."""
        if not self._templates or len(text) > _LONGEST:
            return None
        spot, stamp, end, rest = self._spot, None, None, text
        if spot is not None:
            stamp, reached = self._read(text, spot)
            if stamp is None:
                return None
            rest = text[: spot.start] + text[reached:] if spot.start else text[reached:]
        if self._ends:
            end, rest = self._end(rest)
        meaning = self._templates.get(rest)
        if meaning is not None:
            return Known(stamp, end, None, meaning)
        parts = _FIGURE.split(rest)
        meaning = self._templates.get(tuple(parts[::2]))
        return None if meaning is None else Known(stamp, end, _duration(parts, meaning), meaning)

    def learn(self, text: str, stamp: Seconds | None, answer: Answer, symbol: str) -> None:
        """Remember how a good probe's line looks. `stamp` is the date that was read from it, None where it has none."""
        if self._hopeless or answer.timeout is not None or len(text) > _LONGEST or not self._learn_date(text, stamp):
            return
        rest = text if self._spot is None else text[: self._spot.start] + text[self._read(text, self._spot)[1] :]
        if answer.end is not None:
            self._ends = True
            end, rest = self._end(rest)
            if end != answer.end:
                return
        if len(self._templates) >= _MOST:
            self._hopeless = True
        else:
            self._learn_figures(rest, msgspec.structs.replace(answer, start=None, end=None, duration=None), symbol, answer.duration)

    def _learn_figures(self, rest: str, answer: Answer, symbol: str, duration: Seconds | None) -> None:
        parts = _FIGURE.split(rest)
        if any(part[1:] in answer.evidence or part[1:] in answer.target for part in parts[1::2]):
            return
        if duration is None:
            self._templates[tuple(parts[::2]) if len(parts) > 1 else rest] = Meaning(symbol, answer)
            return
        for index, part in enumerate(parts[1::2]):
            for unit in _UNITS:
                if abs(float(part[1:]) * unit - duration) < 1e-9:
                    self._templates[tuple(parts[::2])] = Meaning(symbol, answer, index, unit)
                    return

    def _end(self, rest: str) -> tuple[Seconds | None, str]:
        """A second date of the line, and the line without it."""
        found = _ISO.search(rest)
        if found is None:
            return None, rest
        try:
            end = datetime.fromisoformat(found[0] if found["zone"] else f"{found[0]}+00:00").timestamp()
        except ValueError:
            return None, rest
        return end, f"{rest[: found.start()]}\0{rest[found.end() :]}"

    def _learn_date(self, text: str, stamp: Seconds | None) -> bool:
        """Remember where the date stands. False where this line's date cannot be read the short way, or stands elsewhere than the others'."""
        if stamp is None:
            return self._spot is None
        spot = self._spot_of(text, stamp)
        if spot is None:
            return False
        if self._spot != spot:
            self._strangers += self._spot is not None
            if 0 < self._strangers < _PATIENCE:
                return False
            self._spot, self._strangers = spot, 0
            self._templates.clear()
            self._days.clear()
        if spot.way == "day" and len(self._days) < _MOST:
            self._days[_day(text, spot)] = stamp - _of_day(text, spot.clock)
        return True

    def _spot_of(self, text: str, stamp: Seconds) -> Spot | None:
        found = self._dates.find(text)
        if found is None or found.seconds != stamp or not (found.zoned or self._dates.is_utc):
            return None
        self.zoned = found.zoned
        written = text[found.start : found.end]
        bare = written.strip("[]()\"'")
        start = found.start + written.find(bare)
        spot = _spot(bare, start)
        return spot if spot is None or spot.way == "day" or self._read(text, spot)[0] == stamp else None

    def _read(self, text: str, spot: Spot) -> tuple[Seconds | None, int]:
        try:
            if spot.way == "iso":
                return datetime.fromisoformat(text[spot.start : spot.end] + spot.zone).timestamp(), spot.end
            if spot.way == "day":
                base = self._days.get(_day(text, spot))
                return (None if base is None else base + _of_day(text, spot.clock)), spot.end
            found = _EPOCH.match(text, spot.start)
            return (float(found[0]), found.end()) if found else (None, 0)
        except ValueError:
            return None, 0


def _duration(parts: list[str], meaning: Meaning) -> Seconds | None:
    return None if meaning.figure < 0 else float(parts[1 + 2 * meaning.figure][1:]) * meaning.unit


def _spot(bare: str, start: int) -> Spot | None:
    iso, clock = _ISO.fullmatch(bare), _CLOCK.search(bare)
    if iso:
        return Spot(start, start + len(bare), "iso", zone="" if iso["zone"] else "+00:00")
    if _EPOCH.fullmatch(bare):
        return Spot(start, 0, "epoch")
    if clock and _YEAR.search(bare) and "AM" not in bare and "PM" not in bare:
        return Spot(start, start + len(bare), "day", start + clock.start())
    return None


def _day(text: str, spot: Spot) -> str:
    """All of a date but its time of day."""
    return text[spot.start : spot.clock] + text[spot.clock + 8 : spot.end]


def _of_day(text: str, clock: int) -> Seconds:
    """Seconds since midnight. Raises ValueError where there stands no time."""
    hour, minute, second = int(text[clock : clock + 2]), int(text[clock + 3 : clock + 5]), int(text[clock + 6 : clock + 8])
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("no time of day")
    return 3600 * hour + 60 * minute + second
