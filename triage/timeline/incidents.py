"""Joins boots, outages, dumps and kernel events into incidents: one death, stall or outage on one engine each.

Nothing is judged here. A boot becomes an incident when something in it ended, failed or could have; an outage, a dump or a
kernel event joins the incident whose time it overlaps, and stands alone where there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from triage.model import Boot, Dump, Event, Incident, Instant, Outage, Seconds
from triage.timeline.joining import SLACK, Joined
from triage.timeline.spans import Spans
from triage.timeline.windows import TROUBLE_KINDS, window

KERNEL_CLUSTER: Seconds = 600.0


def join(boots: Sequence[Boot], outages: Sequence[Outage], dumps: Sequence[Dump], kernel: Sequence[Event]) -> list[Incident]:
    """Incidents of all engines, each with its share of the outages, dumps and kernel events; ordered by time."""
    joined = Joined(_of_boots(boots))
    lone_outages = [outage for outage in sorted(outages, key=lambda o: o.onset.earliest) if not joined.with_outage(outage)]
    joined.add(_of_outages(lone_outages, boots))
    lone_dumps = [dump for dump in dumps if not joined.with_dump(dump)]
    joined.add(_of_dump(dump) for dump in lone_dumps if dump.onset is not None or dump.suspects)  # else nothing was stuck in it
    lone_kernel = [event for event in kernel if not joined.with_kernel(event)]
    joined.add(_of_kernel(cluster) for cluster in _clusters(lone_kernel))
    return sorted(joined.incidents, key=_when)


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
