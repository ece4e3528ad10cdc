"""Incidents by weekday and hour of the day (UTC), with the chance that an even spread looks as uneven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from triage.report.postmortem.exposure import even_spread
from triage.report.postmortem.parts import Postmortem
from triage.report.postmortem.svg import Plot, box, drawing, label

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
ROW, FOOT, GUTTER = 22, 24, 9.0
SHADES = 5
UNLIKELY = 0.05
KEY = "Stronger: more faults began in that hour. UTC; faults of all classes, whatever is filtered."


def hours(of: Postmortem) -> Plot | None:
    """Hours across, weekdays down. None with fewer than two dated faults."""
    times = [datetime.fromtimestamp(c.at, UTC) for c in of.cards if c.fault and c.at is not None]
    if len(times) < 2:
        return None
    cells = Counter((t.weekday(), t.hour) for t in times)
    title = "Hour by weekday"
    return Plot(
        name="hours", title=title, says=_says(cells), svg=drawing("hours", title, ROW * 7 + FOOT, _inside(cells)), key=KEY,
        head=("UTC", *(f"{hour:02}" for hour in range(24))), rows=tuple(_rows(cells)),
    )  # fmt: skip


def _inside(cells: Counter[tuple[int, int]]) -> Iterator[str]:
    most, width = max(cells.values()), (100 - GUTTER) / 24
    for day, name in enumerate(DAYS):
        yield label("0", ROW * day + 15, name, "small")
        for hour in range(24):
            count = cells[day, hour]
            shade = 0 if not count else max(1, round(SHADES * count / max(most, SHADES)))
            told = f"{name} {hour:02}:00 to {hour:02}:59 UTC: {count:,}"
            yield box(f"{GUTTER + width * hour:.2f}%", ROW * day, f"{width:.2f}%", ROW, f"cell s{shade}", told)
            if count:
                yield label(f"{GUTTER + width * (hour + 0.5):.2f}%", ROW * day + 15, f"{count}", f"count t{shade}", "middle")
    for hour in range(0, 24, 3):
        yield label(f"{GUTTER + width * hour:.2f}%", ROW * 7 + 16, f"{hour:02}:00", "tick minor" if hour % 2 else "tick")


def _says(cells: Counter[tuple[int, int]]) -> str:
    by_hour = [sum(cells[day, hour] for day in range(7)) for hour in range(24)]
    fullest = max(range(24), key=by_hour.__getitem__)
    if by_hour.count(by_hour[fullest]) > 1:
        return f"No hour stands out: the fullest have {by_hour[fullest]:,} of {sum(by_hour):,} each."
    told = f"Most began between {fullest:02}:00 and {fullest:02}:59 UTC: {by_hour[fullest]:,} of {sum(by_hour):,}."
    chance = even_spread(by_hour)
    if chance is None:
        return told
    reading = "an even spread seldom does that" if chance < UNLIKELY else "so this says nothing about the hour"
    return f"{told} Spread evenly over the day, some hour has as many in {_of_hundred(chance)} of 100 cases: {reading}."


def _of_hundred(chance: float) -> str:
    return f"{100 * chance:.0f}" if 0.01 <= chance <= 0.99 else "more than 99" if chance > 0.5 else "fewer than 1"


def _rows(cells: Counter[tuple[int, int]]) -> Iterator[tuple[str, ...]]:
    for day, name in enumerate(DAYS):
        yield (name, *(f"{cells[day, hour] or ''}" for hour in range(24)))
