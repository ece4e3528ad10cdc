"""Where the lines of one shape have a date, and how it is read there: the day by a table, the time of day by arithmetic, an epoch as a number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from triage.model import Seconds

_CLOCK = re.compile(r"(?<![0-9])(?:[0-9]{2}:[0-9]{2}(?::[0-9]{2})?|(?<=[0-9]{8}[T_ -])[0-9]{6})(?![0-9:])")
_FRACTION = re.compile(r"([.,])[0-9]+")
_EPOCH = re.compile(r"(?<![\w.])([0-9]{10}|[0-9]{13}|[0-9]{16}|[0-9]{19})(\.[0-9]+)?(?![\w.])")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?")
_YEAR = re.compile(r"(?<![0-9])(?:19|2[01])[0-9]{2}")
_DAY: Seconds = 86400.0
_SIZES = {10: 1.0, 13: 1e3, 16: 1e6, 19: 1e9}
_EARLIEST, _LATEST = datetime(1990, 1, 1, tzinfo=UTC).timestamp(), datetime(2200, 1, 1, tzinfo=UTC).timestamp()
_MOST_DAYS = 4096


class Found(Protocol):
    """The groups of a match by their numbers: a match, or what `findall` gives of one whose first group is all of it."""

    def __getitem__(self, group: int, /) -> str: ...


class Spot(Protocol):
    """A date in a line. `pattern` has `groups` groups; `read` gives seconds since the epoch from them, None where they are no date it knows."""

    start: int
    end: int
    pattern: str
    groups: int

    def read(self, found: Found, first: int) -> Seconds | None: ...

    def read_all(self, found: Sequence[Found], first: int) -> list[Seconds] | None:
        """The same of many lines; None where one of them is no date it knows."""
        ...

    def learn(self, other: Spot) -> None: ...


class _Clocks(dict[str, int]):
    """Seconds since midnight by how they are written: `03:10:00`, `03:10`, `031000`. Raises KeyError where there stands no time."""

    def __missing__(self, text: str) -> int:
        digits = text.replace(":", "").ljust(6, "0")
        hour, minute, second = int(digits[:2]), int(digits[2:4]), int(digits[4:])
        if hour > 23 or minute > 59 or second > 59:
            raise KeyError(text)
        self[text] = 3600 * hour + 60 * minute + second
        return self[text]


_CLOCKS = _Clocks()


class DaySpot:
    """A date of which the text before the time of day tells the day, once a line of that day has been understood."""

    def __init__(self, text: str, start: int, end: int, clock: re.Match[str]) -> None:
        self.start, self.end = start, end
        fraction = _FRACTION.match(text, clock.end(), end)
        rest = text[fraction.end() if fraction else clock.end() : end]
        self.pattern = f"(.{{{clock.start() - start}}})({re.sub('[0-9]', '[0-9]', clock[0])})" + _of(fraction) + re.escape(rest)
        self.groups = 3 if fraction else 2
        self.days: dict[str, int] = {}

    def begin(self, found: re.Match[str], seconds: Seconds) -> bool:
        """Learn the day of one line, of which the date is known. False where it cannot be had again from its parts."""
        day, clock = found.group(1, 2)
        try:
            self.days[day] = round(seconds - _CLOCKS[clock] - self._fraction(found, 1))
        except KeyError:
            return False
        return self.read(found, 1) == seconds

    def read(self, found: Found, first: int) -> Seconds | None:
        try:
            whole = self.days[found[first]] + _CLOCKS[found[first + 1]]
        except KeyError:
            return None
        return float(whole) if self.groups == 2 else (1_000_000 * whole + int(found[first + 2].ljust(6, "0"))) / 1_000_000

    def read_all(self, found: Sequence[Found], first: int) -> list[Seconds] | None:
        if self.groups == 3:
            return _all_of([self.read(groups, first) for groups in found])
        days, clock = self.days, first + 1
        try:
            return [float(days[groups[first]] + _CLOCKS[groups[clock]]) for groups in found]
        except KeyError:
            return None

    def learn(self, other: Spot) -> None:
        if isinstance(other, DaySpot):
            if len(self.days) >= _MOST_DAYS:
                self.days.clear()
            self.days.update(other.days)

    def _fraction(self, found: Found, first: int) -> float:
        return float(f"0.{found[first + 2]}") if self.groups == 3 else 0.0


class EpochSpot:
    """Seconds, milli-, micro- or nanoseconds since the epoch."""

    groups = 1

    def __init__(self, found: re.Match[str]) -> None:
        self.start, self.end = found.span()
        self._size = _SIZES[len(found[1])]
        self._is_fine = self._size > 1e6 or found[2] is not None
        self.pattern = f"([0-9]{{{len(found[1])}}}{r'[.][0-9]+' if found[2] else ''})"

    def read(self, found: Found, first: int) -> Seconds | None:
        seconds = float(found[first]) / self._size
        if not _EARLIEST <= seconds < _LATEST:
            return None
        return datetime.fromtimestamp(seconds, UTC).timestamp() if self._is_fine else seconds

    def read_all(self, found: Sequence[Found], first: int) -> list[Seconds] | None:
        return _all_of([self.read(groups, first) for groups in found])

    def learn(self, other: Spot) -> None:
        """Nothing: every number says its own time."""


def _all_of(seconds: list[Seconds | None]) -> list[Seconds] | None:
    known = [each for each in seconds if each is not None]
    return known if len(known) == len(seconds) else None


def spot(text: str, start: int, end: int, seconds: Seconds) -> Spot | None:
    """The date `text[start:end]`, which says `seconds` since the epoch; None where lines like it cannot be read the short way."""
    epoch = _EPOCH.fullmatch(text, start, end)
    if epoch:
        made: Spot = EpochSpot(epoch)
        found = re.compile(made.pattern).fullmatch(text, start, end)
        return made if found and made.read(found, 1) == seconds else None
    clock = _CLOCK.search(text, start, end)
    if clock is None or not _YEAR.search(text, start, end) or text[clock.end() : end].rstrip("])'\"").endswith(("AM", "PM")):
        return None
    return _day_spot(text, start, end, clock, seconds)


def spots_of(text: str, seconds: Seconds) -> list[tuple[int, int]]:
    """Where a text may say a time: each ISO date and epoch in it that does."""
    told = []
    for found in _ISO.finditer(text):
        written = found[0].replace(",", ".")
        try:
            moment = datetime.fromisoformat(written)
        except ValueError:
            continue
        if (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() == seconds:
            told.append(found.span())
    return told + [found.span() for found in _EPOCH.finditer(text) if float(found[0]) / _SIZES[len(found[1])] == seconds]


def _day_spot(text: str, start: int, end: int, clock: re.Match[str], seconds: Seconds) -> DaySpot | None:
    made = DaySpot(text, start, end, clock)
    found = re.compile(made.pattern).fullmatch(text, start, end)
    if found is None or not made.begin(found, seconds):
        return None
    is_iso = _ISO.fullmatch(text, start, end) is not None
    return made if made.groups == 2 or is_iso else None  # other fractions are rounded in other ways


def _of(fraction: re.Match[str] | None) -> str:
    """The pattern of a fraction of a second: what is finer than microseconds says nothing."""
    return f"{re.escape(fraction[1])}([0-9]{{1,6}})[0-9]*" if fraction else ""
