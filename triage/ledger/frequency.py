"""How often each class comes in the time that engines served and somebody looked: exact interval, clustering, trend, and the quiet it would take."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.ledger import rates
from triage.ledger.evidence import Death, Evidence
from triage.ledger.silence import quiet_needed
from triage.ledger.stretches import Stretch, less, total
from triage.model import Seconds

ALL = "all as one"


class Frequency(msgspec.Struct, frozen=True, kw_only=True):
    """One class: events in service, in `seconds` of exposure. `outside`: those that came while starting, or when nobody could see it serving."""

    fault_class: str
    events: int
    seconds: Seconds
    interval: rates.Interval | None = None
    clustering: rates.Clustering | None = None
    trend: rates.Trend | None = None
    needed: Seconds | None = None
    outside: int = 0
    last: Seconds | None = None


def frequencies(evidence: Evidence) -> list[Frequency]:
    """Every class that came, most often first, and all of them as one where there are several."""
    served = exposure_of(evidence)
    faults = [death for death in evidence.deaths if death.fault]
    by_class: dict[str, list[Death]] = {}
    for death in faults:
        by_class.setdefault(death.fault_class, []).append(death)
    made = sorted((_frequency(name, own, served) for name, own in by_class.items()), key=lambda f: (-f.events, f.fault_class))
    return [*made, _frequency(ALL, faults, served)] if len(made) > 1 else made


def exposure_of(evidence: Evidence) -> list[Stretch]:
    """The engine time that counts, one engine after the other: READY, seen, and not idle."""
    holes = [*evidence.gaps, *(evidence.idle or ())]
    return less([life.stretch for life in evidence.lives], holes)


def _frequency(name: str, deaths: Sequence[Death], served: Sequence[Stretch]) -> Frequency:
    seconds = total(served)
    inside = [d for d in deaths if d.phase != "boot" and d.within(served)]
    times = [d.elapsed(served) for d in inside]
    return Frequency(
        fault_class=name,
        events=len(inside),
        seconds=seconds,
        interval=rates.interval(len(inside), seconds) if seconds else None,
        clustering=rates.clustering(times, seconds) if seconds else None,
        trend=rates.trend(times, seconds) if seconds else None,
        needed=quiet_needed(len(inside), seconds) if inside else None,
        outside=len(deaths) - len(inside),
        last=max((d.at for d in deaths), default=None),
    )
