"""Events by time: of ten thousand, those around a moment."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import itemgetter

from triage.model import Event, Seconds


class Nearby:
    """Events that have a time, to be asked for by it."""

    def __init__(self, events: Iterable[Event]) -> None:
        timed = sorted(((e.at.earliest, e.at.latest, e) for e in events if e.at is not None), key=itemgetter(0))
        self._events = timed
        self._begins = [begin for begin, _, _ in timed]
        self._widest = max((end - begin for begin, end, _ in timed), default=0.0)

    def within(self, low: Seconds, high: Seconds) -> list[Event]:
        """Those that may have been between `low` and `high`, both included, in order of time."""
        start, stop = bisect_left(self._begins, low - self._widest), bisect_right(self._begins, high)
        return [event for _, end, event in self._events[start:stop] if end >= low]
