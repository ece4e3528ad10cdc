"""What part of the time some source could have shown a fault in, and what part none could."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter

from triage.model import LOGS, Coverage, Gap, Probe, Seconds, SourceInfo
from triage.timeline.outages import gaps

SHORTEST_GAP: Seconds = 60.0
Stretch = tuple[Seconds, Seconds]


def coverage(sources: Sequence[SourceInfo], probes: Sequence[Probe]) -> Coverage:
    """The window from the first to the last instant of any source, and the gaps in it that neither log nor probe covers.

    A log covers the time from its first to its last stamp: an idle engine is silent, so silence in it is no gap.
    """
    logs = [(s.first.earliest, s.last.latest) for s in sources if s.kind in LOGS and s.first and s.last]
    probed = _probed(probes)
    stretches = _merged([*logs, *probed])
    if not stretches:
        return Coverage()
    between = [Gap(before[1], after[0], "neither log nor probe") for before, after in pairwise(stretches)]
    return Coverage(start=stretches[0][0], end=stretches[-1][1], gaps=tuple(g for g in between if g.end - g.start >= SHORTEST_GAP))


def _probed(probes: Sequence[Probe]) -> list[Stretch]:
    """The stretches that probes cover: each target's whole time, less its gaps."""
    if not probes:
        return []
    ordered = sorted(probes, key=attrgetter("at.earliest"))
    edges = [ordered[0].at.earliest, *(edge for gap in gaps(ordered) for edge in (gap.start, gap.end)), ordered[-1].at.latest]
    return [(edges[i], edges[i + 1]) for i in range(0, len(edges) - 1, 2)]


def _merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
