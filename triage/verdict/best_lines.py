"""Finds the best lines of an incident that has no root: those nearest to its end that look like trouble and that it did not survive.

They are shown, and unknown incidents are told apart by them; they never name a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from triage.knowledge.load import Knowledge
from triage.model import UNCLASSIFIED, Event, Incident, Seconds, Verdict
from triage.verdict.causes import STATS_INTERVAL
from triage.verdict.context import Context
from triage.verdict.nearby import Nearby
from triage.verdict.normalise import masked

BEST = 5
QUIET = 16
MOST_VERDICTS = 5000
REPORT_BYTES = 16384  # how far below the mark of a death the rest of its report reaches
AROUND: Seconds = 120.0
KERNEL: Seconds = 60.0  # how far from a death the kernel's lines still belong to it
KERNEL_LINES = 4


class Loud(Protocol):
    """What one source keeps of its lines that look like trouble."""

    def between(self, first: int, last: float) -> list[Event]:
        """Those whose order lies from `first` to `last`."""
        ...


class Stretch(msgspec.Struct, frozen=True):
    """Where in a source the lines of one incident may stand, and where in it the end is, all by order; and where that life began."""

    began: int
    first: int
    mark: float
    last: float


def with_best_lines(
    verdicts: Iterable[Verdict], loud: Mapping[str, Loud], knowledge: Knowledge, tails: Mapping[str, Loud] | None = None,
    kernel: Sequence[Event] = (),
) -> list[Verdict]:
    """The verdicts, those without a root with their best lines; `loud` by the name of the source.

    Where `tails` are given (what each source keeps of its last lines), all verdicts get their best lines and their last ones, and with these
    what the `kernel` said at the time.
    """
    telling = {line.id: number for number, line in enumerate(knowledge.trouble.lines)}
    nearby = Nearby(kernel)
    out, looked = [], 0
    for verdict in verdicts:
        lines = loud.get(verdict.incident.source)
        asked = tails is not None or (verdict.fault_class == UNCLASSIFIED and verdict.root is None)
        if asked and lines is not None and looked < MOST_VERDICTS:
            looked += 1
            verdict = _with_lines(verdict, lines, telling, (tails or {}).get(verdict.incident.source))
        if tails is not None and (said := _near(verdict.incident, nearby)):
            verdict = msgspec.structs.replace(verdict, last_lines=(*verdict.last_lines, *said))
        out.append(verdict)
    return out


def message(event: Event) -> str:
    """What a line says, without who says it."""
    return event.data.get("message", event.text)


def _with_lines(verdict: Verdict, lines: Loud, telling: Mapping[str, int], tail: Loud | None) -> Verdict:
    incident = verdict.incident
    where = _stretch(incident)
    if where is None:
        return verdict
    found = [e for e in lines.between(where.first, where.last) if e.stream == incident.stream or e.origin == "kernel"]
    if where.first > where.began:  # the engine lived through it, so that it went on after a line says nothing of that line
        quiet = [e for e in lines.between(where.began, where.first - 1) if e.stream == incident.stream]
    else:
        context = Context(incident)
        quiet = [e for e in found if _went_on(e, context)]
    left = [e for e in found if e not in quiet]
    best = _best(left, quiet, where.mark, telling) or _marks(incident)
    last = tuple(e for e in tail.between(where.first, where.mark) if e.stream == incident.stream) if tail is not None else ()
    return msgspec.structs.replace(verdict, best_lines=best, quiet_lines=tuple(quiet[-QUIET:]), last_lines=last)


def _near(incident: Incident, kernel: Nearby) -> tuple[Event, ...]:
    """What the kernel said within a minute of the death, or where none is known of the onset: the nearest lines, in order."""
    mark = incident.dead or incident.onset or (incident.outage.onset if incident.outage else None)
    if mark is None:
        return ()
    near = kernel.within(mark.earliest - KERNEL, mark.latest + KERNEL)
    near.sort(key=lambda e: max(0.0, mark.earliest - e.at.latest, e.at.earliest - mark.latest) if e.at else 0.0)
    return tuple(sorted(near[:KERNEL_LINES], key=lambda e: e.order))


def _marks(incident: Incident) -> tuple[Event, ...]:
    """Where nothing looks like trouble: the lines that say that something is dead, which is all there is."""
    return tuple(e for e in incident.events if e.kind in ("death", "exit"))[:BEST]


def _best(events: Sequence[Event], quiet: Iterable[Event], mark: float, telling: Mapping[str, int]) -> tuple[Event, ...]:
    """The best first: what was not survived before, what is most telling, what is nearest to the end. Each saying once."""
    survived = {masked(message(e)) for e in quiet}
    masks = {e.order: masked(message(e)) for e in events}

    def rank(event: Event) -> tuple[bool, int, float]:
        return masks[event.order] in survived, telling.get(event.rule, len(telling)), abs(event.order - mark)

    best: dict[str, Event] = {}
    for event in sorted(events, key=rank):
        best.setdefault(masks[event.order], event)
    return tuple(best.values())[:BEST]


def _went_on(event: Event, context: Context) -> bool:
    return context.ready_after(event) or context.milestone_after(event) or context.progress_after(event, STATS_INTERVAL)


def _stretch(incident: Incident) -> Stretch | None:
    boot = incident.boot
    if boot is None or not boot.events:
        return None
    ends = [e.order for e in boot.events if e.kind in ("death", "exit")]
    following = incident.next_boot.events[0].order - 1 if incident.next_boot and incident.next_boot.events else None
    began = boot.events[0].order
    if ends:
        below = min(ends) + REPORT_BYTES
        return Stretch(began, began, min(ends), below if following is None else min(below, following))
    if following is not None:
        return Stretch(began, began, following, following)
    return _around_outage(incident)


def _around_outage(incident: Incident) -> Stretch | None:
    """Between the last event well before the outage and the first well after it: by time, which is all that joins the two."""
    outage, boot = incident.outage, incident.boot
    if outage is None or boot is None:
        return None
    start, end = outage.onset.earliest - AROUND, (outage.ended or outage.began).latest + AROUND
    timed = [(e.order, e.at.earliest) for e in boot.events if e.at]
    first = max((order for order, at in timed if at < start), default=boot.events[0].order)
    last = min((order for order, at in timed if at > end), default=float("inf"))
    mark = min((order for order, at in timed if at >= outage.began.earliest), default=last)
    return Stretch(boot.events[0].order, first, min(mark, boot.events[-1].order), last)
