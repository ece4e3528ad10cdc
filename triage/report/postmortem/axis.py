"""Scales: from times, counts and lengths to shares of a width, with ticks where people expect them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from triage.model import Seconds

STEPS: tuple[Seconds, ...] = (60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400)
DAY = 86400.0
_LENGTHS = (0.1, 1, 10, 60, 120, 300, 600, 1800, 3600, 4 * 3600, 86400, 7 * 86400)


def share(value: float, low: float, high: float) -> float:
    """Where a value lies between two bounds, 0 to 1; in the middle where the bounds are one."""
    return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5


def log_share(value: float, low: float, high: float) -> float:
    return share(math.log(max(value, low)), math.log(low), math.log(high))


def time_ticks(start: Seconds, end: Seconds, most: int = 10) -> Iterator[tuple[Seconds, str]]:
    """Round times (UTC) and their labels, no more than `most`; months where even two weeks are too short a step."""
    step = next((s for s in STEPS if (end - start) / s <= most), None)
    if step is None:
        yield from _month_ticks(start, end, most)
        return
    at = math.ceil(start / step) * step
    while at <= end:
        told = datetime.fromtimestamp(at, UTC)
        yield at, told.strftime("%m-%d" if step >= DAY or not at % DAY else "%H:%M")
        at += step


def _month_ticks(start: Seconds, end: Seconds, most: int) -> Iterator[tuple[Seconds, str]]:
    months = max(1, math.ceil((end - start) / (30 * DAY) / most))
    month = datetime.fromtimestamp(start, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    while (at := month.timestamp()) <= end:
        if at >= start and not (month.year * 12 + month.month - 1) % months:
            yield at, month.strftime("%Y-%m")
        month = (month + timedelta(days=32)).replace(day=1)


def count_ticks(most: float, ticks: int = 4) -> list[float]:
    """Round figures from 0 up to `most`."""
    if most <= 0:
        return [0.0]
    raw = most / ticks
    unit = 10 ** math.floor(math.log10(raw))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= raw)
    return [step * n for n in range(int(most / step) + 1)]


def length_ticks(low: Seconds, high: Seconds) -> list[Seconds]:
    """Lengths of time that people count in, for a log axis."""
    return [length for length in _LENGTHS if low <= length <= high]
