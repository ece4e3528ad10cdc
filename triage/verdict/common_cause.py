"""Joins incidents of several classes by rules/common_causes.toml: one cause under several masks, with what speaks for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.schema import CommonCause, CommonCauses
from triage.model import Event, Hint, Instant, Seconds, Verdict

ALONE = 3  # incidents, of two classes or more, that are enough without any mark
AFTER: Seconds = 60.0


def mark_ids(causes: CommonCauses) -> frozenset[str]:
    """The rules whose lines are marks of some common cause."""
    return frozenset(mark for cause in causes.causes for mark in cause.marks)


def common_causes(causes: CommonCauses, verdicts: Sequence[Verdict], marks: Sequence[Event]) -> list[Hint]:
    """A hint for each common cause whose refusals and marks are there; `marks` are the lines of all sources that may be one."""
    return [hint for cause in causes.causes if (hint := _hint(cause, verdicts, marks)) is not None]


def _hint(cause: CommonCause, verdicts: Sequence[Verdict], marks: Sequence[Event]) -> Hint | None:
    faults = [v for v in verdicts if v.fault and v.root is not None and not _forbidden(cause, v)]
    refused = [v for v in faults if _says(cause.refusals, v)]
    joined = [v for v in faults if v in refused or (_says(cause.masks, v) and any(_near(v, r, cause.together) for r in refused))]
    beside = _marks_beside(cause, refused, marks)
    classes = sorted({v.fault_class for v in joined})
    if not refused or not (beside or (len(joined) >= ALONE and len(classes) > 1)):
        return None
    roots = [v.root for v in joined if v.root is not None]
    return Hint(
        id=cause.id,
        text=f"{cause.title}: {_told(joined, classes, beside, cause)}. {cause.next}",
        incidents=tuple(v.incident.id for v in joined),
        evidence=(*roots, *beside),
    )


def _told(joined: Sequence[Verdict], classes: Sequence[str], beside: Sequence[Event], cause: CommonCause) -> str:
    refusals = f"{len(joined)} refusal{'s' if len(joined) != 1 else ''} ({', '.join(classes)})"
    marks = sorted({event.rule.partition("/")[2].replace("-", " ") for event in beside})
    if marks:
        return f"{refusals} beside {' and '.join(marks)}, and no line of broken hardware"
    return f"{refusals} within {cause.together / 3600:g} h of each other, and no line of broken hardware"


def _says(pattern: str, verdict: Verdict) -> bool:
    return verdict.root is not None and regex.search(pattern, verdict.root.text, timeout=SECONDS_PER_LINE) is not None


def _forbidden(cause: CommonCause, verdict: Verdict) -> bool:
    return any(event.rule.startswith(cause.never) for event in verdict.incident.events) if cause.never else False


def _near(one: Verdict, other: Verdict, within: Seconds) -> bool:
    first, second = _when(one), _when(other)
    return bool(first and second and abs(first.earliest - second.earliest) <= within)


def _marks_beside(cause: CommonCause, refused: Iterable[Verdict], marks: Sequence[Event]) -> tuple[Event, ...]:
    """For each refusal the last mark before it, near enough, or one in the incident itself; each line once."""
    found: dict[tuple[str, int], Event] = {}
    for verdict in refused:
        own = [e for e in verdict.incident.events if e.rule in cause.marks and e is not verdict.root]
        at = _when(verdict)
        near = [e for e in marks if e.rule in cause.marks and at and e.at and _before(e.at, at, cause.before)]
        for event in (own or near)[-1:]:
            found[event.line] = event
    return tuple(found.values())


def _when(verdict: Verdict) -> Instant | None:
    return verdict.incident.onset or verdict.incident.dead


def _before(mark: Instant, moment: Instant, seconds: Seconds) -> bool:
    return moment.earliest - seconds <= mark.earliest <= moment.latest + AFTER
