"""Outages, dumps and kernel lines find the incident whose time they overlap, among thousands without asking each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from triage.model import Dump, Event, Incident, Outage, Seconds
from triage.timeline.spans import Spans
from triage.timeline.windows import LONGEST_RESTART, Window, window

SLACK: Seconds = 120.0
KERNEL_BEFORE: Seconds = 120.0
KERNEL_AFTER: Seconds = 60.0


class Joined:
    """The incidents so far and when each has its evidence; what joins them finds its own among thousands."""

    def __init__(self, incidents: Iterable[Incident]) -> None:
        self.incidents: list[Incident] = []
        self._windows: list[Window | None] = []
        self._spans = Spans()
        self.add(incidents)

    def add(self, incidents: Iterable[Incident]) -> None:
        for incident in incidents:
            self.incidents.append(incident)
            self._windows.append(None)
            self._look(len(self.incidents) - 1)

    def _look(self, index: int) -> None:
        self._windows[index] = span = window(self.incidents[index])
        if span is not None:
            self._spans.put(index, span.start, max(span.end, span.death))

    def _replace(self, index: int | None, **fields: object) -> bool:
        if index is None:
            return False
        self.incidents[index] = msgspec.structs.replace(self.incidents[index], **fields)
        self._look(index)
        return True

    def _near(self, low: Seconds, high: Seconds) -> Iterator[tuple[int, Incident, Window]]:
        """The incidents whose evidence may lie between two times."""
        for index in self._spans.reaching(low, high):
            if span := self._windows[index]:
                yield index, self.incidents[index], span

    def with_outage(self, outage: Outage) -> bool:
        """Whether the outage has found its incident: the one without another whose death lies in it, or nearest to it."""
        began, ended = outage.onset.earliest, outage.ended.latest if outage.ended else outage.began.latest + LONGEST_RESTART
        able = [
            (_distance(span.death, began, ended), index)
            for index, incident, span in self._near(began - SLACK, ended + SLACK)
            if not incident.outage and span.death <= ended + SLACK and max(span.end, span.death) >= began - SLACK
        ]
        return self._replace(min(able)[1] if able else None, outage=outage)

    def with_dump(self, dump: Dump) -> bool:
        """Whether the dump has found its incident."""
        return self._replace(self._life_of(dump), idle_dump=dump) if dump.idle else self._replace(self._home_of(dump), dump=dump)

    def _home_of(self, dump: Dump) -> int | None:
        if dump.onset is None:
            return None
        low, high = dump.onset.earliest - SLACK, dump.onset.latest + (dump.timeout or 600.0) + 2 * SLACK
        return next((index for index, incident, span in self._near(low, high) if not incident.dump and low <= span.death <= high), None)

    def _life_of(self, dump: Dump) -> int | None:
        """The incident that ended the life in which a dump without anybody stuck was made; none where several may have."""
        if dump.newest is None:
            return None
        found = []
        for index, incident in enumerate(self.incidents):
            span, start = self._windows[index], incident.boot.start if incident.boot else None
            if span and start and not incident.idle_dump and start.earliest - SLACK <= dump.newest.earliest <= span.death + SLACK:
                found.append(index)
        return found[0] if len(found) == 1 else None

    def with_kernel(self, event: Event) -> bool:
        """Whether a line of the kernel has found the incident that it struck: the first one that it can belong to."""
        if event.at is None:
            return False
        at = event.at.earliest
        able = self._near(at - KERNEL_AFTER, at + KERNEL_BEFORE)
        index = next((i for i, _, span in able if span.start - KERNEL_BEFORE <= at <= span.death + KERNEL_AFTER), None)
        return self._replace(index, events=(*self.incidents[index].events, event) if index is not None else ())


def _distance(moment: Seconds, start: Seconds, end: Seconds) -> Seconds:
    return max(start - moment, moment - end, 0.0)
