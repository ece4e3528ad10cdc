"""Tells a log whose lines are in no order: of what stands in it, nobody can say what came first, and a model keeps silent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from triage.model import Boot, Event, Seconds

SLACK: Seconds = 2.0  # processes write past each other by so much
SHARE = 0.15  # of steps that go backwards: more than this is no accident
_STAGES = {"milestone": 1, "ready": 2, "progress": 3, "stall": 3, "death": 4}


def mixed_up(boots: Iterable[Boot]) -> set[str]:
    """The sources whose lines are in no order, by the lives that were found in them."""
    by_source: dict[str, list[Boot]] = {}
    for boot in boots:
        by_source.setdefault(boot.source, []).append(boot)
    return {source for source, lives in by_source.items() if _goes_back_in_time(lives) or _goes_back_in_life(lives)}


def _goes_back_in_time(lives: Sequence[Boot]) -> bool:
    """Whether too many stamps are older than the one before."""
    timed = [e for life in lives for e in life.events if e.at is not None and e.at.how != "carried"]
    back = sum(_before(later, earlier) for earlier, later in pairwise(timed))
    return back >= 2 and back > SHARE * (len(timed) - 1)


def _before(later: Event, earlier: Event) -> bool:
    return later.at is not None and earlier.at is not None and later.at.latest + SLACK < earlier.at.earliest


def _goes_back_in_life(lives: Sequence[Boot]) -> bool:
    """Whether too many lines belong to an earlier stage of a life than one above: a load after tokens were made, tokens after a death."""
    back = steps = 0
    for life in lives:
        stages = [_STAGES[e.kind] for e in life.events if e.kind in _STAGES and (e.kind not in ("progress", "stall") or e.serves)]
        reached = 1 if life.boundary == "banner" else 0
        for stage in stages:
            steps += 1
            early = stage == 3 and reached == 1  # tokens, and nothing had said that it is ready: that line is out of place, not what comes next
            back += early or stage < reached
            reached = reached if early else max(reached, stage)
    return back >= 2 and back > SHARE * steps
