"""Joins boots, outages, dumps and kernel events into incidents: one death, stall or outage on one engine each.

Nothing is judged here. A boot becomes an incident when something in it ended, failed or could have; an outage, a dump or a
kernel event joins the incident whose time it overlaps, and stands alone where there is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.model import Boot, Dump, Event, Incident, Instant, Outage, Seconds

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
    incidents = _of_boots(boots)
    incidents, lone_outages = _with_outages(incidents, outages)
    incidents += [_of_outage(outage, boots) for outage in lone_outages]
    incidents, lone_dumps = _with_dumps(incidents, dumps)
    incidents += [_of_dump(dump) for dump in lone_dumps if dump.onset is not None or dump.suspects]  # else nothing was stuck in it
    incidents, lone_kernel = _with_kernel(incidents, kernel)
    incidents += [_of_kernel(cluster) for cluster in _clusters(lone_kernel)]
    return sorted(incidents, key=_when)


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


def _with_outages(incidents: list[Incident], outages: Sequence[Outage]) -> tuple[list[Incident], list[Outage]]:
    alone = []
    free = {index: span for index, incident in enumerate(incidents) if (span := window(incident))}  # those without an outage yet
    for outage in sorted(outages, key=lambda o: o.onset.earliest):
        index = _best(free, outage)
        if index is None:
            alone.append(outage)
        else:
            incidents[index] = msgspec.structs.replace(incidents[index], outage=outage)
            del free[index]
    return incidents, alone


def _best(free: Mapping[int, Window], outage: Outage) -> int | None:
    """Of some incidents' windows by their index, the one whose death lies in the outage, or nearest to it."""
    ended = outage.ended.latest if outage.ended else outage.began.latest + LONGEST_RESTART
    best, best_distance = None, float("inf")
    for index, span in free.items():
        if span.death > ended + SLACK or max(span.end, span.death) < outage.onset.earliest - SLACK:
            continue
        distance = _distance(span.death, outage.onset.earliest, ended)
        if distance < best_distance:
            best, best_distance = index, distance
    return best


def _distance(moment: Seconds, start: Seconds, end: Seconds) -> Seconds:
    return max(start - moment, moment - end, 0.0)


def _of_outage(outage: Outage, boots: Sequence[Boot]) -> Incident:
    boot = next((b for b in boots if _covers(b, outage)), None)
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


def _covers(boot: Boot, outage: Outage) -> bool:
    times = [e.at for e in boot.events if e.at]
    return bool(times) and times[0].earliest <= outage.began.earliest <= times[-1].latest + SLACK


def _near(at: Instant, outage: Outage) -> bool:
    ended = outage.ended.latest if outage.ended else outage.began.latest
    return outage.onset.earliest - SLACK <= at.earliest <= ended + SLACK


def _with_dumps(incidents: list[Incident], dumps: Sequence[Dump]) -> tuple[list[Incident], list[Dump]]:
    alone = []
    for dump in dumps:
        index = _life_of(incidents, dump) if dump.idle else _home_of(incidents, dump)
        if index is None:
            alone.append(dump)
        else:
            incidents[index] = msgspec.structs.replace(incidents[index], **{"idle_dump" if dump.idle else "dump": dump})
    return incidents, alone


def _home_of(incidents: Sequence[Incident], dump: Dump) -> int | None:
    if dump.onset is None:
        return None
    reach = (dump.timeout or 600.0) + 2 * SLACK
    for index, incident in enumerate(incidents):
        span = window(incident)
        if span and not incident.dump and dump.onset.earliest - SLACK <= span.death <= dump.onset.latest + reach:
            return index
    return None


def _life_of(incidents: Sequence[Incident], dump: Dump) -> int | None:
    """The incident that ended the life in which a dump without anybody stuck was made; none where several may have."""
    if dump.newest is None:
        return None
    found = []
    for index, incident in enumerate(incidents):
        span, start = window(incident), incident.boot.start if incident.boot else None
        if span and start and not incident.idle_dump and start.earliest - SLACK <= dump.newest.earliest <= span.death + SLACK:
            found.append(index)
    return found[0] if len(found) == 1 else None


def _of_dump(dump: Dump) -> Incident:
    when = f"{dump.onset.earliest:.0f}" if dump.onset else dump.directory
    return Incident(id=incident_id("dump", when), engine="", source=dump.directory, dump=dump)


def _with_kernel(incidents: list[Incident], kernel: Sequence[Event]) -> tuple[list[Incident], list[Event]]:
    alone = []
    spans = [window(incident) for incident in incidents]
    for event in kernel:
        index = _struck(spans, event)
        if index is None:
            alone.append(event)
        else:
            old = incidents[index]
            incidents[index] = msgspec.structs.replace(old, events=(*old.events, event))
            spans[index] = window(incidents[index])
    return incidents, alone


def _struck(spans: Sequence[Window | None], event: Event) -> int | None:
    if event.at is None:
        return None
    for index, span in enumerate(spans):
        if span and span.start - KERNEL_BEFORE <= event.at.earliest <= span.death + KERNEL_AFTER:
            return index
    return None


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
