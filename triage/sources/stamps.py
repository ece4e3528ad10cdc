"""Reads the time stamps that engines, containers and init systems write, as they stand there: which fields, and no guess at the rest.

Samples, an envelope's (outer) and a line's own (inner)::

    2026-11-01T09:43:00.123456789Z      docker -t, kubectl --timestamps, CRI
    Nov 01 09:43:00.123456              journald short and short-precise, syslog
    Sun 2026-11-01 09:43:00 CET         journald short-full
    INFO 11-20 05:51:01 [core.py:844]   vLLM: no year, no zone
    [2025-11-06 16:46:01 DP0 TP3]       SGLang
    [11/06/2025-16:46:01]               TensorRT-LLM
    [E1120 12:34:56.123456789 file.cpp] glog: month * 100 + day
    [Sun Nov  1 09:43:00 2026]          dmesg -T
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import msgspec

from triage.expressions import compiled_later

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DIGITS = "0123456789"
FAR_ENOUGH = 1024  # characters of a line in which its own stamp is looked for


class Stamp(msgspec.Struct, frozen=True):
    """A date and time of day as written. No year: not said. `fraction` in seconds, None where whole seconds are given.

    `zone` is "" where none is said, else "Z", an offset such as "+0100" or "+02:00", or an abbreviation such as "CET".
    """

    year: int | None
    month: int
    day: int
    hour: int
    minute: int
    second: int
    fraction: float | None = None
    zone: str = ""


_MONTH = f"(?P<name>{'|'.join(MONTHS)})"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_WEEKDAY = f"(?:{'|'.join(_WEEKDAYS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_FRACTION = r"(?:[.,](?P<fraction>\d{1,9})\d*)?"
_OFFSET = r"(?P<zone>Z|[+-]\d\d(?::?\d\d)?)"
_DATE = r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
_PROCESS = r"(?:\([^()]{1,80}\) ?){0,3}"
_LEVELS = ("DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL")
_LEVEL = f"(?:{'|'.join(_LEVELS)})"
_GLOG = "IWEF"  # the first letter of a level

_OUTER = tuple(
    compiled_later(pattern, re.ASCII)
    for pattern in (
        rf"{_DATE}[T ]{_TIME}{_FRACTION}(?: ?{_OFFSET})?$",
        rf"{_MONTH} +(?P<day>\d{{1,2}}) {_TIME}{_FRACTION}$",
        rf"{_WEEKDAY} {_DATE} {_TIME} (?P<zone>[A-Z]{{1,5}}|[+-]\d\d(?:\d\d)?)$",
    )
)

_Rows = Sequence[tuple[tuple[str, ...], re.Pattern[str]]]

_FIRST_WORDS = (  # of a line, behind what a line that has them can begin with
    (("(", "[", *_LEVELS, *_DIGITS), rf"{_PROCESS}(?:{_LEVEL}:? +)?\[?{_DATE}[T ]{_TIME}{_FRACTION}(?: ?{_OFFSET}\b)?(?!\d)"),
    (("(", "["), rf"{_PROCESS}\[(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{{4}})-{_TIME}{_FRACTION}\]"),
    (tuple(f"[{day}" for day in _WEEKDAYS), rf"\[{_WEEKDAY} {_MONTH} +(?P<day>\d{{1,2}}) {_TIME} (?P<year>\d{{4}})\]"),
    (MONTHS, rf"{_MONTH} +(?P<day>\d{{1,2}}) {_TIME}{_FRACTION}(?!\d)"),
    (("(", *_GLOG), rf"{_PROCESS}[{_GLOG}](?P<date>\d{{3,4}}) {_TIME}{_FRACTION}(?!\d)"),
)
_FIRST: _Rows = tuple((begins, compiled_later(pattern, re.ASCII)) for begins, pattern in _FIRST_WORDS)
_DATED: _Rows = tuple(row for row, (_, pattern) in zip(_FIRST, _FIRST_WORDS, strict=True) if "<year>" in pattern)
_INSIDE: _Rows = (  # anywhere, behind what must be in the line: a progress bar or a prefix of the user's own may stand before it
    ((" ",), compiled_later(rf"(?<![A-Z]){_LEVEL} (?P<month>\d\d)-(?P<day>\d\d) {_TIME} (?=\[?[^\s\]:]{{1,200}}:\d+\])", re.ASCII)),
    (tuple(f"[{letter}" for letter in _GLOG), compiled_later(rf"\[[{_GLOG}](?P<date>\d{{3,4}}) {_TIME}{_FRACTION}(?!\d)", re.ASCII)),
)
_CLOCK = compiled_later(_TIME, re.ASCII)


def outer_stamp(text: str) -> Stamp | None:
    """The stamp that is all of `text`, cut out of an envelope."""
    found = next((m for pattern in _OUTER if (m := pattern.match(text))), None)
    return _stamp(found) if found else None


def inner_stamps(text: str) -> list[Stamp]:
    """The stamps that the line's own writer put into it, the one that begins the line first."""
    near = text[:FAR_ENOUGH]
    return [_stamp(found) for found in (*_first(near, _FIRST), *_inside(near, _INSIDE))] if _CLOCK.search(near) else []


def last_inner_stamp(text: str) -> Stamp | None:
    """The last one of those, found without the others."""
    near = text[:FAR_ENOUGH]
    if not _CLOCK.search(near):
        return None
    found = next(chain(_inside(near, _INSIDE[::-1]), _first(near, _FIRST[::-1])), None)
    return _stamp(found) if found else None


def dated_stamps(text: str) -> list[Stamp]:
    """Those of them that tell their year."""
    return [_stamp(found) for found in _first(text[:FAR_ENOUGH], _DATED)]


def _first(near: str, rows: _Rows) -> Iterator[re.Match[str]]:
    return (found for begins, pattern in rows if near.startswith(begins) and (found := pattern.match(near)))


def _inside(near: str, rows: _Rows) -> Iterator[re.Match[str]]:
    return (found for needs, pattern in rows if any(need in near for need in needs) and (found := pattern.search(near)))


def _stamp(found: re.Match[str]) -> Stamp:
    field = found.groupdict()
    if "date" in field:
        month, day = divmod(int(field["date"]), 100)
    else:
        month, day = MONTHS.index(field["name"]) + 1 if "name" in field else int(field["month"]), int(field["day"])
    fraction = field.get("fraction")
    return Stamp(
        int(field["year"]) if field.get("year") else None,
        month,
        day,
        int(field["hour"]),
        int(field["minute"]),
        int(field["second"]),
        float(f"0.{fraction}") if fraction else None,
        field.get("zone") or "",
    )
