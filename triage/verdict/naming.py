"""Decides an incident's class from its causes: a fault, a stop, an honest `unclassified`, or nothing at all.

The order of the questions matters and is the whole of this module: was it stopped from outside before anything failed; did a
fault with a cited root kill it; did something die or stop answering without a root; is there only something mild to tell?
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.knowledge.load import Knowledge
from triage.model import UNCLASSIFIED, Event, Incident, Instant, Seconds
from triage.verdict.causes import Causes
from triage.verdict.context import Context

STUCK: Seconds = 60.0
SILENT: Seconds = 300.0  # as long as an engine lets one step take: a very long prompt is silent for minutes, too
RESUMED: Seconds = 600.0
STARTING = ("boot", "capture", "unknown")
STUCK_LINES = ("stall-shm", "stall-health")


def fault_class(context: Context, causes: Causes, mild: Causes) -> str | None:
    """The class id, or None where the evidence shows nothing that died, stalled, was stopped or is worth telling."""
    incident = context.incident
    if causes.stop is not None and not _failed_before(causes, causes.stop, context):
        return "engine-stall" if _stuck_before(incident, causes.stop, context) else "external-stop"
    if causes.root is not None and _counts(causes, incident, context):
        return causes.root.fault
    if incident.dump is not None:
        return "collective-hang"
    if _replaced(incident, causes, context) and _stood_still(context):
        return "engine-stall"
    if context.first_death() is not None or _replaced(incident, causes, context):
        return UNCLASSIFIED
    if incident.outage is not None:
        return _unanswered(incident, mild, context)
    return UNCLASSIFIED if context.refused_health() or context.left_behind() else _mild_class(mild, context)


def is_fault(name: str, knowledge: Knowledge) -> bool:
    """Whether a class counts as a fault; something that died unexplained does."""
    known = knowledge.classes.get(name)
    return name == UNCLASSIFIED or bool(known and known.fault)


def _failed_before(causes: Causes, stop: Event, context: Context) -> bool:
    """Whether something had already failed when the stop came: a death mark, or a fault that is deadly by itself."""
    moment = context.when(stop)
    death = context.first_death()
    if death is not None and context.when(death) < moment:
        return True
    return causes.root is not None and _deadly(causes, context) and context.when(causes.root) < moment


def _stuck_before(incident: Incident, stop: Event, context: Context) -> bool:
    """Whether the engine had visibly stopped working when it was told to stop: probes timing out, or its own word for a minute."""
    outage = incident.outage
    if outage and outage.first == "t" and stop.at and outage.began.latest + STUCK < stop.at.earliest:
        return True
    return _stood_still(context, before=stop)


def _stood_still(context: Context, before: Event | None = None) -> bool:
    """Whether a serving engine's last word about its work was, for a minute or more, that nothing moved."""
    earlier = [e for e in context.events if before is None or context.when(e) < context.when(before)]
    stuck = [e for e in earlier if e.rule.endswith(STUCK_LINES)]
    if stuck and context.phase(stuck[-1]) == "serving" and not context.progress_after(stuck[-1], 0.0):
        return True
    return _fell_silent([e for e in earlier if e.serves], context.next_sign_of_life(before))


def _fell_silent(signs: Sequence[Event], ended: Instant | None) -> bool:
    """Whether the last statistics say that requests ran and no token came, and nothing came after them for as long as a step may take.

    A healthy engine with requests goes on with its statistics; one that hangs writes that line once.
    """
    last = signs[-1] if signs else None
    return bool(last and last.rule.endswith("stall-stats") and last.at and ended and last.at.latest + SILENT < ended.earliest)


def _counts(causes: Causes, incident: Incident, context: Context) -> bool:
    """Whether a root is an incident: deadly by itself, or something died, exited, stopped answering or began anew after it."""
    if causes.root is None or causes.signature is None:
        return False
    if _deadly(causes, context) or (context.last_words(causes.root) and context.phase(causes.root) in STARTING):
        return True
    ended = context.first_death() is not None or any(e.kind == "exit" for e in incident.events)
    return ended or incident.outage is not None or incident.dump is not None or incident.next_boot is not None


def _deadly(causes: Causes, context: Context) -> bool:
    """Whether a root is deadly by itself, or the exception left the process of an engine that was not up yet."""
    if causes.root is None or causes.signature is None:
        return False
    return causes.signature.fatal or (context.phase(causes.root) in STARTING and context.left_with(causes.root))


def _replaced(incident: Incident, causes: Causes, context: Context) -> bool:
    """Whether an engine that had served was followed by a new boot without any word of its end."""
    if incident.next_boot is None or causes.stop is not None or not context.served():
        return False
    return not (context.exited() or context.closed() or context.finished())


def _unanswered(incident: Incident, mild: Causes, context: Context) -> str:
    """The class of an outage in which nothing died as far as the log shows."""
    if _only_slow(incident):
        return "saturation"
    starting = incident.boot is not None and incident.boot.boundary == "banner" and not context.served()
    return "slow-start" if starting and mild.root is not None and mild.root.fault == "slow-start" else UNCLASSIFIED


def _only_slow(incident: Incident) -> bool:
    """Whether probes timed out while the log shows tokens made, during the outage or soon after it by the same engine.

    What came much later may be another life in a gap of the log.
    """
    outage = incident.outage
    if outage is None or outage.first != "t" or outage.ended is None or incident.boot is None:
        return False
    times = [e.at for e in incident.boot.events if e.kind == "progress" and e.at]
    return any(outage.began.earliest <= at.latest and at.earliest <= outage.ended.latest + RESUMED for at in times)


def _mild_class(mild: Causes, context: Context) -> str | None:
    if mild.root is None or (mild.root.fault == "slow-start" and context.served_after(mild.root)):
        return None
    if mild.root.fault == "saturation":  # a busy engine that answers everybody is a healthy one: nobody was kept waiting here
        return None
    if mild.root.fault == "slow-start" and context.met_trouble():
        return UNCLASSIFIED
    return mild.root.fault
