"""How long nobody was served: from the onset of each incident to its recovery, as bounds, overlapping times of one engine counted once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from triage.model import Seconds, Verdict

DEFINITION = "down: from the onset of the fault (or the death, or the first failed probe) to READY, or the first good probe; overlaps counted once"


def bounds(verdict: Verdict) -> tuple[Seconds, Seconds, Seconds, Seconds] | None:
    """When an incident's outage began and ended: earliest and latest of each; None where the evidence does not show both ends."""
    of = verdict.incident
    began = of.onset or of.dead or (of.outage.onset if of.outage else None)
    ended = of.recovered or (of.outage.ended if of.outage else None)
    if began is None or ended is None or ended.latest < began.earliest:
        return None
    return began.earliest, began.latest, ended.earliest, ended.latest


def length(verdict: Verdict) -> tuple[Seconds, Seconds] | None:
    """The least and the most that one outage may have lasted, in seconds."""
    found = bounds(verdict)
    return (max(0.0, found[2] - found[1]), found[3] - found[0]) if found else None


def total(verdicts: Iterable[Verdict]) -> tuple[Seconds, Seconds, int]:
    """The least and the most time down in seconds, and how many incidents show no end."""
    least: dict[str, list[tuple[Seconds, Seconds]]] = defaultdict(list)
    most: dict[str, list[tuple[Seconds, Seconds]]] = defaultdict(list)
    open_ended = 0
    for verdict in verdicts:
        found = bounds(verdict)
        if found is None:
            open_ended += 1
            continue
        of = verdict.incident
        engine = f"{of.host}/{of.source}/{of.stream}"
        least[engine].append((found[1], max(found[1], found[2])))
        most[engine].append((found[0], found[3]))
    return sum(map(_union, least.values())), sum(map(_union, most.values())), open_ended


def _union(stretches: list[tuple[Seconds, Seconds]]) -> Seconds:
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(stretches):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered
