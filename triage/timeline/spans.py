"""Stretches of time by the hours they lie in, so that what belongs to one of thousands is found without asking each of them."""

from __future__ import annotations

from collections import defaultdict

from triage.model import Seconds

HOUR: Seconds = 3600.0
WIDEST = 64  # hours; a longer stretch is asked every time


class Spans:
    """Numbered stretches of time; one that is put again stands where it was put last."""

    def __init__(self) -> None:
        self._spans: dict[int, tuple[Seconds, Seconds]] = {}
        self._hours: defaultdict[int, set[int]] = defaultdict(set)
        self._wide: set[int] = set()

    def put(self, number: int, low: Seconds, high: Seconds) -> None:
        """The stretch of this number lasts from `low` to `high`, both included."""
        self._spans[number] = (low, high)
        hours = _hours(low, high)
        if len(hours) > WIDEST:
            self._wide.add(number)
            return
        for hour in hours:
            self._hours[hour].add(number)

    def reaching(self, low: Seconds, high: Seconds) -> list[int]:
        """The numbers of those that have a moment between `low` and `high`, in order."""
        hours = _hours(low, high)
        able = self._wide.union(*(self._hours[hour] for hour in hours if hour in self._hours)) if len(hours) <= WIDEST else self._spans
        return sorted(number for number in able if self._spans[number][0] <= high and self._spans[number][1] >= low)


def _hours(low: Seconds, high: Seconds) -> range:
    return range(int(low // HOUR), int(high // HOUR) + 1)
