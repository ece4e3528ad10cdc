"""When an incident's evidence may lie: from its first trouble to the engine's next life."""

from __future__ import annotations

import msgspec

from triage.model import Boot, Incident, Seconds

LONGEST_RESTART: Seconds = 1800.0
TROUBLE_KINDS = ("death", "exit", "stop")


class Window(msgspec.Struct, frozen=True):
    """The time in which an incident's evidence may lie: from the first trouble to the next life (seconds since the epoch)."""

    start: Seconds
    death: Seconds
    end: Seconds


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
