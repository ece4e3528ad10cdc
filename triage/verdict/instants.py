"""When an incident's fault began, when the engine was dead, and how long that took: intervals by the definitions of the design."""

from __future__ import annotations

from collections.abc import Iterable

from triage.knowledge.load import Knowledge
from triage.model import Event, Incident, Instant, Outage, Seconds, Span
from triage.verdict.causes import Causes
from triage.verdict.context import Context

Named = tuple[Instant | None, str]
SINCE = ("onset", "progress", "ready", "first-failed-probe")


def timeout_in_force(incident: Incident, knowledge: Knowledge) -> Seconds | None:
    """The timeout that would end a hang here, in seconds: from the line, else the boot, else the engine's default."""
    for event in incident.events:
        if "timeout_ms" in event.data and event.kind == "death":
            return float(event.data["timeout_ms"]) / 1000
        if "timeout_s" in event.data and event.kind == "death":
            return float(event.data["timeout_s"])
    if incident.dump and incident.dump.timeout:
        return incident.dump.timeout
    told = incident.boot.config.get("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "") if incident.boot else ""
    if told.isdigit():
        return float(told)
    engine = knowledge.engines.get(incident.engine)
    return engine.defaults.get("execute_model_timeout", engine.defaults.get("watchdog_timeout")) if engine else None


def onset(context: Context, causes: Causes) -> Named:
    """When the fault began, and from what that is known; best evidence first."""
    incident = context.incident
    watchdog = [e for e in incident.events if "ran_ms" in e.data and e.at]
    root = causes.root
    if watchdog and (root is None or root.fault == "collective-hang"):
        starts = [e.at.shifted(-float(e.data["ran_ms"]) / 1000) for e in watchdog if e.at]
        return min(starts, key=lambda i: i.earliest), "watchdog line minus the time it says the operation ran"
    if incident.dump and incident.dump.onset and (root is None or root.fault == "collective-hang"):
        return incident.dump.onset, "when the stuck operation was enqueued, by the dumps"
    if root is not None and root.at and root.fault != "engine-stall":
        return root.at, "first fault line"
    stalled = _stall(context, root)
    if stalled[0] is not None:
        return stalled
    if root is not None and root.at:
        return root.at, "first fault line"
    return (incident.outage.onset, "between the last good and the first failing probe") if incident.outage else (None, "")


def _stall(context: Context, root: Event | None) -> Named:
    """Between the last line that proves progress and the first that shows none (or the death itself)."""
    end = root or context.first_death() or context.first_stop()
    if end is None:
        return None, ""
    before = [e for e in context.events if e.at and e.order < end.order and e.place.source == end.place.source]
    progress = [e for e in before if e.makes_tokens]
    if not progress or progress[-1].at is None:
        return None, ""
    stalls = [e.at for e in before if e.kind == "stall" and e.order > progress[-1].order and e.at]
    latest = stalls[0].latest if stalls else (end.at.latest if end.at else progress[-1].at.latest)
    return Instant(progress[-1].at.earliest, latest, "computed"), "between the last line with progress and the first without"


def dead(incident: Incident, began: Instant | None) -> Named:
    """When the engine was dead: the first death mark or exit after the onset, or a refused probe before that."""
    marks = [e for e in incident.events if e.kind in ("death", "exit") and e.at and (began is None or e.at.latest >= began.earliest)]
    mark = min(marks, key=lambda e: (e.at.earliest if e.at else 0.0, e.order), default=None)
    refused = _refused(incident.outage)
    if mark is not None and mark.at and (refused is None or mark.at.earliest <= refused.latest):
        return mark.at, f"{mark.kind} mark ({mark.rule})"
    return (refused, "first refused probe") if refused else (None, "")


def _refused(outage: Outage | None) -> Instant | None:
    """The first refused probe where it opens the outage: between the last good probe and it."""
    return outage.onset if outage and outage.first == "r" else None


def recovered(incident: Incident) -> Instant | None:
    """When it served again: the next boot's READY or the first good probe, whichever came first."""
    times = [incident.next_boot.ready if incident.next_boot else None, incident.outage.ended if incident.outage else None]
    return min((t for t in times if t), key=lambda t: t.earliest, default=None)


def time_to_death(incident: Incident, since: str = "onset") -> Span | None:
    """Seconds from `since` (onset, progress, ready, first-failed-probe) to dead, as bounds; None where either is not known."""
    start = _start(incident, since)
    if start is None or incident.dead is None:
        return None
    if incident.outage and start is incident.dead is incident.outage.onset:  # one gap between two probes says nothing of its own length
        return None
    low = max(0.0, incident.dead.earliest - start.latest)
    return Span(low, max(low, incident.dead.latest - start.earliest), since)


def _start(incident: Incident, since: str) -> Instant | None:
    if since == "onset":
        return incident.onset
    if since == "ready":
        return incident.boot.ready if incident.boot else None
    if since == "first-failed-probe":
        return incident.outage.began if incident.outage else None
    return _last_progress(incident.events, incident.dead)


def _last_progress(events: Iterable[Event], end: Instant | None) -> Instant | None:
    times = [e.at for e in events if e.makes_tokens and e.at and (end is None or e.at.earliest <= end.earliest)]
    return times[-1] if times else None
