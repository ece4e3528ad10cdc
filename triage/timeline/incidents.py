"""Joins boots, outages, dumps and kernel events into incidents: one death, stall or outage on one engine each.

Nothing is judged here. A boot becomes an incident when something in it ended, failed or could have; an outage, a dump or a
kernel event joins the incident whose time it overlaps, and stands alone where there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from triage.model import Boot, Dump, Event, Incident, Instant, Outage, Seconds
from triage.timeline.spans import Spans

SLACK: Seconds = 120.0
KERNEL_BEFORE: Seconds = 120.0
KERNEL_AFTER: Seconds = 60.0
KERNEL_CLUSTER: Seconds = 600.0
LONGEST_RESTART: Seconds = 1800.0
TROUBLE_KINDS = ("death", "exit", "stop")


class Window(msgspec.Struct, frozen=True):
    """The time in which an incident's evidence may lie: from the first trouble to the next life (seconds since the epoch)."""

    start: Seconds
    death: Seconds
    end: Seconds


def join(boots: Sequence[Boot], outages: Sequence[Outage], dumps: Sequence[Dump], kernel: Sequence[Event]) -> list[Incident]:
    """Incidents of all engines, each with its share of the outages, dumps and kernel events; ordered by time."""
    joined = _Joined(_of_boots(boots))
    lone_outages = [outage for outage in sorted(outages, key=lambda o: o.onset.earliest) if not joined.with_outage(outage)]
    joined.add(_of_outages(lone_outages, boots))
    lone_dumps = [dump for dump in dumps if not joined.with_dump(dump)]
    joined.add(_of_dump(dump) for dump in lone_dumps if dump.onset is not None or dump.suspects)  # else nothing was stuck in it
    lone_kernel = [event for event in kernel if not joined.with_kernel(event)]
    joined.add(_of_kernel(cluster) for cluster in _clusters(lone_kernel))
    return sorted(joined.incidents, key=_when)


def window(incident: Incident) -> Window | None:
    """When the incident's trouble began, when it ended the engine at the earliest, and until when its echoes last."""
    times = [e.at.earliest for e in incident.events if e.at and (e.kind in TROUBLE_KINDS or e.role == "root")]
    if incident.outage:
        times.append(incident.outage.onset.earliest)
    following = incident.next_boot
    if not times and following and following.start:
        times = [following.start.earliest]
    if not times:
        return None
    deaths = [e.at.earliest for e in incident.events if e.at and e.kind in TROUBLE_KINDS]
    death = min(deaths, default=max(times))
    return Window(min(times), death, _end(following, death))


def _end(following: Boot | None, death: Seconds) -> Seconds:
    if following and (again := following.ready or following.end or following.start):
        return min(again.latest, death + LONGEST_RESTART) if following.ready else again.latest
    return death + LONGEST_RESTART


def _of_boots(boots: Sequence[Boot]) -> list[Incident]:
    made = []
    for boot, following in _with_next(boots):
        if _troubled(boot) or following is not None:
            made.append(_boot_incident(boot, following))
    return made


def _with_next(boots: Sequence[Boot]) -> Iterable[tuple[Boot, Boot | None]]:
    for index, boot in enumerate(boots):
        following = boots[index + 1] if index + 1 < len(boots) else None
        same = following is not None and (following.source, following.stream) == (boot.source, boot.stream)
        yield boot, following if same else None


def _troubled(boot: Boot) -> bool:
    return any(e.kind in TROUBLE_KINDS or e.role in ("root", "teardown") or e.rule.endswith("stall-health-503") for e in boot.events)


def _boot_incident(boot: Boot, following: Boot | None) -> Incident:
    return Incident(
        id=incident_id(boot.id),
        engine=boot.engine,
        host=boot.host,
        stream=boot.stream,
        source=boot.source,
        boot=boot,
        next_boot=following,
        events=boot.events,
    )


def incident_id(*parts: str) -> str:
    """Eight hex digits that name an incident by what it is made of."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


class _Joined:
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


def _of_outages(outages: Sequence[Outage], boots: Sequence[Boot]) -> list[Incident]:
    """Outages that nothing else explains, each with what the boot that it fell into said around it."""
    lives = Spans()
    for number, boot in enumerate(boots if outages else ()):
        times = [e.at for e in boot.events if e.at]
        if times:
            lives.put(number, times[0].earliest, times[-1].latest + SLACK)
    made = []
    for outage in outages:
        covering = lives.reaching(outage.began.earliest, outage.began.earliest)
        made.append(_of_outage(outage, boots[covering[0]] if covering else None))
    return made


def _of_outage(outage: Outage, boot: Boot | None) -> Incident:
    around = tuple(e for e in boot.events if e.at and _near(e.at, outage)) if boot else ()
    return Incident(
        id=incident_id("outage", outage.target, f"{outage.began.earliest:.0f}"),
        engine=boot.engine if boot else "",
        host=boot.host if boot else "",
        stream=boot.stream if boot else "",
        source=boot.source if boot else outage.source,
        boot=boot,
        events=around,
        outage=outage,
    )


def _near(at: Instant, outage: Outage) -> bool:
    ended = outage.ended.latest if outage.ended else outage.began.latest
    return outage.onset.earliest - SLACK <= at.earliest <= ended + SLACK


def _of_dump(dump: Dump) -> Incident:
    when = f"{dump.onset.earliest:.0f}" if dump.onset else dump.directory
    return Incident(id=incident_id("dump", when), engine="", source=dump.directory, dump=dump)


def _clusters(events: Sequence[Event]) -> list[list[Event]]:
    clusters: list[list[Event]] = []
    for event in events:
        if clusters and _together(clusters[-1][-1], event):
            clusters[-1].append(event)
        else:
            clusters.append([event])
    return clusters


def _together(one: Event, other: Event) -> bool:
    if one.place.source != other.place.source or one.stream != other.stream:
        return False
    return one.at is None or other.at is None or abs(other.at.earliest - one.at.earliest) <= KERNEL_CLUSTER


def _of_kernel(events: Sequence[Event]) -> Incident:
    first = events[0]
    return Incident(
        id=incident_id("kernel", first.text[:200], f"{first.at.earliest:.0f}" if first.at else first.host),
        engine="",
        host=first.host,
        source=first.place.source,
        stream=first.stream,
        events=tuple(events),
    )


def _when(incident: Incident) -> tuple[Seconds, str]:
    span = window(incident)
    if span:
        return span.start, incident.id
    return (incident.dump.onset.earliest if incident.dump and incident.dump.onset else float("inf")), incident.id
