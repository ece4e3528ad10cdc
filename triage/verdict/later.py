"""Which events come after another one: by their order within one source, by the clock between sources; asked in logarithmic time.

An incident may have ten thousand lines that could be its root, and of each one it is asked whether the engine went on after it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from triage.model import Event, Seconds

NEVER: Seconds = float("-inf")


def is_later(later: Event, event: Event) -> bool:
    """Whether one event came after another; not where they stand in two sources and one of them has no time."""
    if later.place.source == event.place.source:
        return later.order > event.order
    return bool(later.at and event.at and later.at.earliest > event.at.latest)


class _Source:
    """The events of one source: their orders, ascending, and for each how late it gets from there on."""

    def __init__(self, events: list[Event]) -> None:
        events.sort(key=lambda e: e.order)
        self.orders = [event.order for event in events]
        times = [event.at.earliest if event.at else NEVER for event in reversed(events)]
        self.latest = [*reversed(list(accumulate(times, max))), NEVER]


class Later:
    """Some events of an incident; what is asked of them agrees with `is_later`."""

    def __init__(self, events: Iterable[Event]) -> None:
        by_source: dict[str, list[Event]] = {}
        for event in events:
            by_source.setdefault(event.place.source, []).append(event)
        self._sources = {name: _Source(found) for name, found in by_source.items()}

    def latest(self, event: Event) -> Seconds:
        """The latest time of those after `event`; `NEVER` where none of them has a time."""
        latest = NEVER
        for name, source in self._sources.items():
            if name == event.place.source:
                latest = max(latest, source.latest[bisect_right(source.orders, event.order)])
            elif event.at and source.latest[0] > event.at.latest:
                latest = max(latest, source.latest[0])
        return latest

    def in_source(self, event: Event) -> int:
        """How many stand below `event` in its own source."""
        source = self._sources.get(event.place.source)
        return len(source.orders) - bisect_right(source.orders, event.order) if source else 0

    def follow(self, event: Event) -> bool:
        """Whether any comes after `event`."""
        return self.in_source(event) > 0 or self.latest(event) > NEVER
