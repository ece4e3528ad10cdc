"""Turns stamps into instants: completes a missing year or zone, says what it assumed, and notices a clock that is wrong."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from triage.expressions import compiled_later
from triage.model import How, Instant, Place, Seconds

from .stamps import Stamp, dated_stamps, inner_stamps, last_inner_stamp

if TYPE_CHECKING:
    from .lines import Line
    from .pieces import Piece

DAY = 86400.0
HALF_A_YEAR = 184 * DAY
NEAR = 180 * DAY  # from a date within that time the same date of other years is further away
LEAP_YEARS_APART = 9  # from one year that has a 29 February back to another, at most eight, and the year itself
BACKWARDS = 60.0  # seconds; processes that share a log are often some seconds out of order
JUMPS_TOLD = 3
OFFSET_UNIT = 900.0  # zones differ by quarters of an hour, and by two of them at least
OFFSETS = 64  # lines whose two clocks are compared
OFFSET_SLACK = 120.0  # seconds by which a line may reach the outer clock late
STREAMS = 4096  # streams of one source that are followed
LOOK_BACK = 400  # lines in which a line without a stamp looks for one

_QUARTER = timedelta(minutes=15)
_OFFSET = compiled_later(r"(?:UTC|GMT)?([+-])([0-9]{1,2})(?::?([0-9][0-9]))?")


class _Places(Protocol):
    def place(self, line: Line) -> Place: ...


class Clock:
    """Reads the stamps of one source. Stamps without a zone are in `tz`: an IANA name or an offset such as `+02:00`.

    The first stamp without a year is in `year`, and each later one within half a year of the one before it. Where `year` is None, they
    are in the year that puts them nearest to a dated line of the same log; where there is none, they are the latest such date up to a day
    after `reference`, the time (seconds since the epoch) at which the log was last written, or now. Raises ValueError for an unknown `tz`.
    """

    def __init__(self, tz: str = "UTC", year: int | None = None, reference: float | None = None) -> None:
        self._tz = tz
        self._zone = zone_of(tz)
        self._year = year
        self._reached_in_year: Seconds | None = None  # the last stamp without a year, where the first one's year was given
        self._reference = time.time() if reference is None else reference
        self._year_from = "the present date" if reference is None else "file time"
        self._dated: Seconds | None = None  # when the last line was written that told its year
        self._years: dict[str, set[int]] = {}  # those that were found, by what they were found from
        self._notes: dict[str, None] = {}
        self._offsets: Counter[int] = Counter()
        self._jumps: list[str] = []
        self._more_jumps = 0
        self._latest: dict[str, Instant] = {}
        self._piece: _Places | None = None
        self._reached = 0

    def instant(self, line: Line) -> Instant | None:
        """When the line was written: by its outer stamp, else by the stamp in its text, else unknown."""
        at, other = self._read_both(line)
        if at is None:
            return None
        if other is not None:
            self._compare(at, other)
        self._check_order(line, at)
        return at

    def _read_both(self, line: Line) -> tuple[Instant | None, Stamp | None]:
        """The instant of a line, and another stamp to compare it with: the last one in its text."""
        if line.outer is not None:
            return line.outer, last_inner_stamp(line.text) if self._offsets.total() < OFFSETS else None
        stamps = inner_stamps(line.text)
        at = self.read(stamps[0], "inner stamp") if stamps else None
        return at, stamps[-1] if len(stamps) > 1 else None

    def read(self, stamp: Stamp, how: How) -> Instant | None:
        """The instant of a stamp, as wide as its resolution (a second, or sharp) and its zone leave it; None for no such date."""
        moments = self._moments(stamp)
        if not moments:
            self._note_dropped(stamp)
            return None
        if stamp.year is not None:
            self._dated = moments[0].timestamp()
        elif self._year is None:
            self._years.setdefault(self._year_from if self._dated is None else "dated lines", set()).add(moments[0].year)
        if not stamp.zone:
            self._notes.setdefault(f"{how}s read as {self._tz} (no zone in the log)")
        elif stamp.zone.isalpha() and not _written_zone(stamp.zone) and moments[0].tzname() != stamp.zone:
            self._notes.setdefault(f"zone {stamp.zone} in the log read as {self._tz}")
        if len(moments) > 1:
            self._notes.setdefault(_doubt(moments[0], moments[1], self._tz))
        return Instant(*_span(moments, stamp), how)

    @property
    def assumptions(self) -> list[str]:
        """What was assumed or found wrong and must be told with the result."""
        years = self._years.items()
        told = [f"year{'s' * (len(found) > 1)} {', '.join(map(str, sorted(found)))} inferred from {origin}" for origin, found in years]
        told += [*self._notes, *self._jumps]
        if self._more_jumps:
            told.append(f"clock ran backwards {self._more_jumps} more times")
        (offset, count), *_ = self._offsets.most_common(1) or [(0, 0)]
        if offset and 2 * count > self._offsets.total():
            told.append(f"inner clock is {_hours(abs(offset) * OFFSET_UNIT)} {'behind' if offset > 0 else 'ahead of'} the outer")
        return told

    def learn(self, line: Line) -> bool:
        """Whether the year is known now; it is taken from the line where that has one."""
        for stamp in dated_stamps(line.text):
            if stamp.year is not None and (moments := self._in_year(stamp, stamp.year)):
                self._dated = moments[0].timestamp()
        return self._dated is not None

    def follow(self, piece: _Places | None) -> None:
        """From here on lines are those of `piece`, which names the place where the clock is seen to jump; None: of none in order.

        A line at offset 0 is not judged: it may be one that somebody has kept and reads by itself.
        """
        self._piece = piece
        self._reached = 0

    def _moments(self, stamp: Stamp) -> tuple[datetime, ...]:
        """The moments that a stamp may name, the year found where it has none; empty where there is no such date."""
        if stamp.year is not None:
            return self._in_year(stamp, stamp.year)
        if self._year is not None:
            return self._from_year(stamp, self._year)
        if self._dated is not None:
            return self._near(stamp, self._dated)
        limit = self._reference + DAY
        newest = time.gmtime(limit).tm_year + 1  # it may be next year already, in a zone ahead of UTC
        for year in range(newest, newest - LEAP_YEARS_APART - 1, -1):
            moments = self._in_year(stamp, year)
            if moments and moments[0].timestamp() <= limit:
                return moments
        return ()

    def _from_year(self, stamp: Stamp, year: int) -> tuple[datetime, ...]:
        """In the year that the user gave for the first such stamp, and on from there over each New Year; empty for a date that year lacks."""
        last = self._reached_in_year
        years = [year] if last is None else [time.gmtime(last).tm_year + step for step in (0, 1, -1)]
        dates = [moments for each in years if (moments := self._in_year(stamp, each))]
        if last is not None:
            dates = [moments for moments in dates if abs(moments[0].timestamp() - last) <= HALF_A_YEAR]
        found = min(dates, key=lambda moments: 0 if last is None else abs(moments[0].timestamp() - last), default=())
        if found:
            self._reached_in_year = found[0].timestamp()
        return found

    def _note_dropped(self, stamp: Stamp) -> None:
        if stamp.year is None and self._year is not None and (stamp.month, stamp.day) == (2, 29):
            self._notes.setdefault(f"stamps of 02-29 were dropped: there is no such day in {self._year} (--year)")

    def _near(self, stamp: Stamp, dated: Seconds) -> tuple[datetime, ...]:
        reach = LEAP_YEARS_APART if (stamp.month, stamp.day) == (2, 29) else 1
        around = time.gmtime(dated).tm_year
        same = self._in_year(stamp, around)
        if same and abs(same[0].timestamp() - dated) < NEAR:
            return same
        years = range(around - reach, around + reach + 1)
        dates = [moments for year in years if (moments := self._in_year(stamp, year))]
        return min(dates, key=lambda moments: abs(moments[0].timestamp() - dated), default=())

    def _in_year(self, stamp: Stamp, year: int) -> tuple[datetime, ...]:
        """One moment, or two where the zone's wall clock showed that time twice and nothing tells which is meant."""
        try:
            zone = _written_zone(stamp.zone) or self._zone
            first = datetime(year, stamp.month, stamp.day, stamp.hour, stamp.minute, stamp.second, tzinfo=zone)
        except ValueError:
            return ()
        if isinstance(zone, timezone):
            return (first,)
        second = first.replace(fold=1)
        if first.utcoffset() == second.utcoffset():
            return (first,)
        return tuple(side for side in (first, second) if side.tzname() == stamp.zone) or (first, second)

    def _compare(self, outer: Instant, inner: Stamp) -> None:
        moments = self._in_year(inner, inner.year) if inner.year is not None else self._near(inner, outer.middle)
        if not moments:
            return
        behind = outer.middle - sum(_span(moments, inner)) / 2
        quarters = round(behind / OFFSET_UNIT)
        is_zone = abs(quarters) > 1 and abs(behind - quarters * OFFSET_UNIT) <= OFFSET_SLACK
        self._offsets[quarters if is_zone else 0] += 1

    def _check_order(self, line: Line, at: Instant) -> None:
        if self._piece is None or line.start <= self._reached:
            return
        self._reached = line.start
        last = self._latest.get(line.stream)
        if last and at.latest < last.earliest - BACKWARDS:
            self._note_jump(last.earliest - at.earliest, line, self._piece)
        if last or len(self._latest) < STREAMS:
            self._latest[line.stream] = at

    def _note_jump(self, seconds: Seconds, line: Line, piece: _Places) -> None:
        if len(self._jumps) == JUMPS_TOLD:
            self._more_jumps += 1
            return
        place = piece.place(line)
        where = f"{place.file}:{place.line}" if place.line else f"{place.file}, byte {place.offset}"
        self._jumps.append(f"clock ran backwards by {seconds:.0f} s at {where}")


def carried(piece: Piece, line: Line, clock: Clock) -> Instant | None:
    """The line's own instant, else that of the nearest stamped line before it in its stream, marked as carried.

    An answer is kept until the next line of that stream is asked for, so lines asked for in order cost one walk in all.
    """
    at = clock.instant(line)
    if at is None and (above := _above(piece, line, clock)):
        at = Instant(above.earliest, above.latest, "carried")
    piece.resolved[line.stream] = line.start, at
    return at


def stamped(piece: Piece, line: Line, clock: Clock) -> Instant | None:
    """The instant of a line, else that with which the line begins whose last segment it is."""
    at = clock.instant(line)
    first = piece.first_segment(line) if at is None else None
    return clock.instant(first) if first else at


def _above(piece: Piece, line: Line, clock: Clock) -> Instant | None:
    start, known = piece.resolved.get(line.stream, (line.start, None))
    above = line
    for _ in range(LOOK_BACK):
        if at := stamped(piece, above, clock):
            return at
        before = piece.before(above)
        if before is None or before.start <= start < line.start:
            break
        above = before
    return known if start < line.start else piece.known.get(line.stream)


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """The zone with an IANA name or an offset such as `+02:00`. Raises ValueError where there is none."""
    if name in ("UTC", "GMT", "Z"):
        return UTC
    if offset := _OFFSET.fullmatch(name):
        sign, hours, minutes = offset.groups()
        return timezone((1 if sign == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes or 0)))
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"no time zone {name!r}: give a name such as Europe/Berlin or an offset such as +02:00") from None


def _span(moments: tuple[datetime, ...], stamp: Stamp) -> tuple[Seconds, Seconds]:
    sides = [moment.timestamp() for moment in moments]
    if stamp.fraction is None:
        return min(sides), max(sides) + 1
    return min(sides) + stamp.fraction, max(sides) + stamp.fraction


def _doubt(first: datetime, second: datetime, tz: str) -> str:
    """What must be told of a wall-clock time for which the zone has two readings: it came twice, or never."""
    gap = (first.utcoffset() or timedelta()) - (second.utcoffset() or timedelta())
    if gap < timedelta():
        return f"{first:%Y-%m-%d %H:%M} does not exist in {tz}: the log is in another zone"
    begin = end = first.replace(minute=first.minute // 15 * 15, second=0, microsecond=0)
    while _comes_twice(begin - _QUARTER):
        begin -= _QUARTER
    while _comes_twice(end):
        end += _QUARTER
    return f"DST repeats {begin:%H:%M}-{end:%H:%M} on {first:%Y-%m-%d} in {tz}: instants there are {_hours(gap.total_seconds())} wide"


def _comes_twice(moment: datetime) -> bool:
    return moment.replace(fold=0).utcoffset() != moment.replace(fold=1).utcoffset()


def _hours(seconds: Seconds) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours and minutes else f"{hours} h" if hours else f"{minutes} min"


@lru_cache(maxsize=64)
def _written_zone(zone: str) -> tzinfo | None:
    """The zone that a stamp names by itself. An abbreviation such as CET names none: it only tells summer from winter."""
    return zone_of(zone) if zone in ("Z", "UTC", "GMT") or zone[:1] in ("+", "-") else None
