"""Engine-hours: how long engines were up and could have failed, by their boots, and what a constant rate would look like over them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from triage.model import Boot, Findings, Seconds
from triage.report.postmortem.parts import Stretch

HOUR = 3600.0


def lives(findings: Findings, start: Seconds, end: Seconds) -> list[Stretch]:
    """When each engine was up, from READY to its end, in order of time; without any boot, the time that probes or logs cover."""
    found = [life for boot in findings.boots if (life := _life(boot, start, end))]
    return sorted(found, key=lambda life: life.start) if findings.boots else _covered(findings, start, end)


def _life(boot: Boot, start: Seconds, end: Seconds) -> Stretch | None:
    begun = boot.ready or (boot.start if any(e.serves for e in boot.events) else None)
    if begun is None:
        return None
    low, high = max(begun.latest, start), min(boot.end.earliest if boot.end else end, end)
    return Stretch(low, high, boot.id) if high > low else None


def _covered(findings: Findings, start: Seconds, end: Seconds) -> list[Stretch]:
    edges = [start, *(t for gap in sorted(findings.coverage.gaps, key=lambda g: g.start) for t in (gap.start, gap.end)), end]
    return [Stretch(low, high, "covered") for low, high in zip(edges[::2], edges[1::2], strict=True) if high > low]


class Clock:
    """Engine-hours as a function of calendar time, made once: a broken line through the beginnings and ends of lives."""

    def __init__(self, up: Sequence[Stretch]) -> None:
        changes: dict[Seconds, int] = {}
        for life in up:
            changes[life.start] = changes.get(life.start, 0) + 1
            changes[life.end] = changes.get(life.end, 0) - 1
        self._times = sorted(changes)
        self._running, self._hours = [], [0.0]
        engines = 0
        for at in self._times:
            engines += changes[at]
            self._running.append(engines)
        for number, (at, later) in enumerate(pairwise(self._times)):
            self._hours.append(self._hours[-1] + self._running[number] * (later - at) / HOUR)

    @property
    def total(self) -> float:
        return self._hours[-1]

    def at(self, when: Seconds) -> float:
        """Engine-hours passed until `when`."""
        place = bisect_right(self._times, when) - 1
        if place < 0:
            return 0.0
        if place >= len(self._times) - 1:
            return self.total
        return self._hours[place] + self._running[place] * (when - self._times[place]) / HOUR


def constant_rate_band(count: int, share: float, level: float = 0.95) -> tuple[int, int]:
    """How many of `count` incidents a constant rate puts into the first `share` of the exposure, in `level` of cases.

    Given the total, a Poisson process puts each incident anywhere with equal chance, so the number is binomial. Exact quantiles.
    """
    if share <= 0 or share >= 1 or not count:
        return (0, 0) if share <= 0 else (count, count)
    tail, odds = (1 - level) / 2, math.log(share) - math.log1p(-share)
    low = high = None
    below, log_chance = 0.0, count * math.log1p(-share)
    for k in range(count + 1):
        below += math.exp(log_chance)
        log_chance += math.log((count - k) / (k + 1)) + odds if k < count else 0.0
        low = k if low is None and below >= tail else low
        if below >= 1 - tail:
            high = k
            break
    return low or 0, count if high is None else high


def even_spread(counts: Sequence[int]) -> float | None:
    """The chance that some cell has as many as the fullest has here, were every incident equally likely to fall into each cell.

    Exact, by the number of ways to fill the cells with fewer. None for more than 400 incidents, or fewer than two.
    """
    total, most, cells = sum(counts), max(counts, default=0), len(counts)
    if not 2 <= total <= 400:
        return None
    logs = [-math.lgamma(k + 1) for k in range(most)]
    ways = [0.0] + [float("-inf")] * total
    for _ in range(cells):
        ways = [_log_sum([ways[n - k] + logs[k] for k in range(min(n, most - 1) + 1)]) for n in range(total + 1)]
    return max(0.0, min(1.0, 1 - math.exp(ways[total] + math.lgamma(total + 1) - total * math.log(cells))))


def _log_sum(terms: Sequence[float]) -> float:
    top = max(terms, default=float("-inf"))
    return top if top == float("-inf") else top + math.log(sum(math.exp(term - top) for term in terms))
