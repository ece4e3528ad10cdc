"""Reads the many ways in which probing scripts write a date, into seconds since the epoch.

ISO 8601 with or without zone, `date` in its locales, `date -R`, access logs, compact stamps, epoch seconds to nanoseconds,
and the year-less stamps of syslog and klog::

    2026-11-12T03:10:00Z   2026/11/12 03:10:00   Thu Nov 12 03:10:00 AM UTC 2026   12/Nov/2026:03:10:00 +0000   1794453000123
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from triage.sources.clock import zone_of

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_DAY_NAME = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\w*,? +)"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?P<fraction>[.,]\d+)?"
_HALF = r"(?: ?(?P<half>[AP]M))?"

# Names that stand for one offset only; the others (IST, CST ...) are left to the zone that the user gives.
_EAST_OF_GREENWICH = {"Z": 0, "UTC": 0, "GMT": 0, "WET": 0, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "JST": 9, "KST": 9}
_OFFSETS = {**_EAST_OF_GREENWICH, "EST": -5, "EDT": -4, "PST": -8, "PDT": -7}
_ZONE = r"(?P<zone>Z| ?(?:UTC|GMT|WET|CES?T|EES?T|E[SD]T|P[SD]T|[JK]ST)(?![A-Za-z])|[+-]\d\d(?::?\d\d)?(?![\d:])| [+-]\d\d:?\d\d(?![\d:]))?"
_ANY_ZONE = r"(?: (?P<zone>[A-Z]{1,5}|[+-]\d\d:?\d\d))?"
_KNOWN_ZONE = rf"(?: (?P<zone>(?:{'|'.join(_OFFSETS)})(?![A-Za-z])|[+-]\d\d:?\d\d))?"

_EARLIEST_YEAR, _LATEST_YEAR = 1990, 2199
_EPOCH_DIGITS = {10: 1.0, 13: 1e3, 16: 1e6, 19: 1e9}


class Stamp(NamedTuple):
    """A date found in a text: seconds since the epoch, whether the text itself named the zone, and where it begins and ends."""

    seconds: float
    zoned: bool
    start: int
    end: int


class DateReader:
    """Reads dates for one log. `tz` is the zone of stamps without one (IANA name or offset), `year` that of the first stamp without one.

    Raises ValueError where the zone is unknown.
    """

    def __init__(self, tz: str = "UTC", year: int | None = None) -> None:
        self._zone = zone_of(tz)
        self._year = year
        self._last_yearless: float | None = None
        self._last_local: datetime | None = None
        self._styles = list(_STYLES)

    @property
    def is_utc(self) -> bool:
        """Whether dates without a zone are read as UTC, so that each of their days is as long as the others."""
        return self._zone is UTC

    def find(self, text: str, near: float | None = None) -> Stamp | None:
        """The date that the text begins with, else the first date in its first 160 characters; `near` helps year-less ones."""
        for position, (pattern, reads) in enumerate(self._styles):
            found = pattern.match(text)
            stamp = found and self._stamp(found, reads, near)
            if stamp:
                if position:
                    self._styles.insert(0, self._styles.pop(position))
                return stamp
        return self._inside(text[:160], near)

    def value(self, value: object) -> float | None:
        """A whole field (text or number) as seconds since the epoch, or None where it is no date."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            return None
        stamp = self.find(str(value).strip())
        return stamp.seconds if stamp and stamp.start == 0 else None

    def _inside(self, text: str, near: float | None) -> Stamp | None:
        """The first date further inside a text; a number alone is a date only after a key such as `ts=`."""
        hits = [(found, reads) for pattern, reads in _INSIDE if (found := pattern.search(text))]
        hits.sort(key=lambda hit: (hit[1] in _YEARLESS, hit[0].start()))
        return next((stamp for found, reads in hits if (stamp := self._stamp(found, reads, near))), None)

    def _stamp(self, found: re.Match[str], reads: _Reads, near: float | None) -> Stamp | None:
        try:
            seconds, zoned = reads(self, found, near)
        except (ValueError, OverflowError):
            return None
        return Stamp(seconds, zoned, found.start(), found.end())

    def iso(self, found: re.Match[str], _near: float | None) -> tuple[float, bool]:
        date, zone = found.group("date", "zone")
        if date[4] == "/":
            date = date.replace("/", "-")
        if zone and zone[-1].isalpha():
            return datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() - 3600 * _OFFSETS[zone.strip()], True
        return self._seconds(datetime.fromisoformat(date + zone.strip() if zone else date))

    def written(self, found: re.Match[str], _near: float | None) -> tuple[float, bool]:
        """`date` output and RFC 2822: month by name, 12 or 24 hours, the zone anywhere."""
        return self._seconds(_by_parts(found, int(found["year"])))

    def compact(self, found: re.Match[str], _near: float | None) -> tuple[float, bool]:
        local = datetime.strptime(found["day"] + found["time"], "%Y%m%d%H%M%S").replace(tzinfo=UTC if found["zone"] else None)
        return self._seconds(local)

    def epoch(self, found: re.Match[str], _near: float | None) -> tuple[float, bool]:
        whole, fraction = found.group("whole", "fraction")
        seconds = float(whole + (fraction or "")) / _EPOCH_DIGITS[len(whole)]
        return self._seconds(datetime.fromtimestamp(seconds, UTC))[0], True

    def yearless(self, found: re.Match[str], near: float | None) -> tuple[float, bool]:
        """syslog and klog: the year that brings the stamp nearest to the last one. Raises ValueError without any year to start from."""
        near = self._last_yearless if near is None else near
        if near is not None:
            this_year = datetime.fromtimestamp(near, UTC).year
            years = [self._in_year(found, year) for year in (this_year - 1, this_year, this_year + 1)]
            best = min((seconds for seconds in years if seconds is not None), key=lambda seconds: abs(seconds - near))
        elif self._year is not None:
            best = self._seconds(_by_parts(found, self._year))[0]
        else:
            raise ValueError("a stamp without a year, and no year to start from")
        self._last_yearless = best
        return best, False

    def _in_year(self, found: re.Match[str], year: int) -> float | None:
        try:
            return self._seconds(_by_parts(found, year))[0]
        except ValueError:
            return None

    def _seconds(self, moment: datetime) -> tuple[float, bool]:
        if not _EARLIEST_YEAR <= moment.year <= _LATEST_YEAR:
            raise ValueError(f"no probe was made in {moment.year}")
        if moment.tzinfo is not None:
            return moment.timestamp(), True
        return self._placed(moment).timestamp(), False

    def _placed(self, local: datetime) -> datetime:
        """A wall-clock time in the user's zone; in the hour that a clock change repeats, order in the log tells which of the two."""
        placed = local.replace(tzinfo=self._zone)
        if self._zone is UTC:
            return placed
        last, self._last_local = self._last_local, local
        if placed.utcoffset() == placed.replace(fold=1).utcoffset() or last is None:
            return placed
        if (last.fold == 1 or local < last) and abs(local - last) < timedelta(hours=2):
            self._last_local = local.replace(fold=1)
            return placed.replace(fold=1)
        return placed


def _by_parts(found: re.Match[str], year: int) -> datetime:
    parts = found.groupdict()
    month = int(parts["number"]) if parts.get("number") else _MONTHS.index(parts["month"]) + 1
    hour, half = int(parts["hour"]), parts.get("half")
    if half:
        hour = hour % 12 + (12 if half == "PM" else 0)
    micros = int(float(f"0{(parts['fraction'] or '.0').replace(',', '.')}") * 1e6)
    moment = datetime(year, month, int(parts["day"]), hour, int(parts["minute"]), int(parts["second"]), micros)  # noqa: DTZ001 - zone follows
    return _with_zone(moment, parts.get("zone"))


def _with_zone(moment: datetime, zone: str | None) -> datetime:
    if not zone:
        return moment
    if zone in _OFFSETS:
        return (moment - timedelta(hours=_OFFSETS[zone])).replace(tzinfo=UTC)
    if zone[0] in "+-":
        return datetime.fromisoformat(f"{moment.isoformat()}{zone}")
    return moment


_Reads = Callable[[DateReader, re.Match[str], float | None], tuple[float, bool]]
_COMMA_FRACTION = r",\d+(?![\d,])(?!$)"  # `10:00:00,200,0.4` and `10:00:00,200` are columns: a time and a status
_ISO = rf"(?P<date>\d{{4}}(?P<mark>[-/])\d\d(?P=mark)\d\d[T _]\d\d:\d\d(?::\d\d(?:\.\d+|{_COMMA_FRACTION})?)?){_ZONE}"
_WRITTEN = (
    rf"{_DAY_NAME}(?:{_MONTH} +(?P<day>\d{{1,2}})) +{_CLOCK}{_HALF}{_ANY_ZONE} (?P<year>\d{{4}})(?!\d)",
    rf"{_DAY_NAME}?(?P<day>\d{{1,2}})[ /-]{_MONTH}(?:[ /-](?P<year>\d{{4}}))[, :]+{_CLOCK}{_HALF}{_KNOWN_ZONE}",
    rf"{_DAY_NAME}(?P<day>\d{{1,2}}) {_MONTH} +{_CLOCK}{_HALF}{_ANY_ZONE} (?P<year>\d{{4}})(?!\d)",
)
_COMPACT = r"(?P<day>20\d{6})[T_ -]?(?P<time>\d{6})(?P<zone>Z)?(?![\d.])"
_EPOCH = r"(?P<whole>\d{19}|\d{16}|\d{13}|\d{10})(?P<fraction>\.\d+)?(?![\w.-])"
_SYSLOG = rf"{_MONTH} +(?P<day>\d{{1,2}}) {_CLOCK}"
_KLOG = rf"[IWEF](?P<number>\d\d)(?P<day>\d\d) {_CLOCK}"

_BEFORE = r"[\[('\"]*"
_AFTER = r"[\])'\"]*"
_YEARLESS: tuple[_Reads, ...] = (DateReader.yearless,)
_KINDS: tuple[tuple[str, _Reads], ...] = (
    (_ISO, DateReader.iso),
    *((pattern, DateReader.written) for pattern in _WRITTEN),
    (_COMPACT, DateReader.compact),
    (_EPOCH, DateReader.epoch),
    (_KLOG, DateReader.yearless),
    (_SYSLOG, DateReader.yearless),
)
_STYLES: tuple[tuple[re.Pattern[str], _Reads], ...] = tuple((re.compile(_BEFORE + pattern + _AFTER), reads) for pattern, reads in _KINDS)
_INSIDE: tuple[tuple[re.Pattern[str], _Reads], ...] = tuple(
    (re.compile((r"(?<=[=:\[\"])" if reads is DateReader.epoch else r"(?<![\w.])") + _BEFORE + pattern + _AFTER), reads)
    for pattern, reads in _KINDS
    if reads is not DateReader.compact
)
