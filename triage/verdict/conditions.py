"""What must hold around a line before its signature counts (`when` in a rule): phase, milestones, frames; and which of it does not."""

from __future__ import annotations

from collections.abc import Iterable

import regex

from triage.knowledge.schema import When
from triage.model import Event
from triage.verdict.context import Context

FRAME_SECONDS = 0.25


def holds(when: When, event: Event, context: Context) -> bool:
    """Whether everything that a signature asks for holds around `event`."""
    return not unmet(when, event, context)


def unmet(when: When, event: Event, context: Context) -> str:
    """The first condition that does not hold around `event`, in words; nothing where all of them hold."""
    if when.phases and (phase := context.phase(event)) not in when.phases:
        return f"it counts only in phase {' or '.join(when.phases)}, and this line stands in phase {phase}"
    reached = context.reached(event) if when.before or when.after else frozenset()
    if when.before and when.before in reached:
        return f"it counts only before the milestone {when.before}, which the boot had reached"
    if when.after and when.after not in reached:
        return f"it counts only after the milestone {when.after}, which the boot had not reached"
    if when.frame and not _any_frame(when.frame, event.frames):
        return f"it counts only with a frame like {when.frame!r} in its traceback, {_seen(event)}"
    if when.no_frame and _any_frame(when.no_frame, event.frames):
        return f"it does not count with a frame like {when.no_frame!r} in its traceback, and there is one"
    return ""


def _seen(event: Event) -> str:
    return f"and none of the {len(event.frames)} above it is" if event.frames else "and no traceback stands above it"


def _any_frame(pattern: str, frames: Iterable[str]) -> bool:
    return any(regex.search(pattern, frame, timeout=FRAME_SECONDS) for frame in frames)
