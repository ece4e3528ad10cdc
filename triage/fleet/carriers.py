"""Which hosts carry most of a class, and whether that is more than chance gives them.

The comparison: were each crash as likely at any moment on any host that was seen, a host's share of a class would be its share of the time
seen. The chance that a given host gets `k` or more of `n` is then the tail of a binomial distribution, and since the host was picked
because it has most, that chance counts as often as hosts and classes were looked at (Bonferroni, so it is never told too small).
Crashes of one host that follow each other within an hour are one here: a crash loop is one event, however often it dies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from triage.fleet.load import Fleet
from triage.model import Seconds

LOOP: Seconds = 3600.0
RARE = 0.05  # below this a host stands out


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """One class and the host whose number of it is least likely by chance (or the one that has most).

    `count` of its `of` incidents are there; without the repeats of crash loops `bursts` of `all_bursts`.

    `expected`: incidents by its share of the time seen. `chance` of its bursts, or more, on some host; None where no time was seen.
    `most`: the fewest hosts that have more than half of the class.
    """

    fault_class: str
    host: str
    count: int
    of: int
    hosts: int
    bursts: int
    all_bursts: int
    expected: float | None
    chance: float | None
    most: tuple[str, ...]

    @property
    def stands_out(self) -> bool:
        return self.chance is not None and self.chance < RARE


def carriers(fleet: Fleet) -> list[Carrier]:
    """One for each class of the fleet, the most frequent class first."""
    classes = {name: {host: times for (of, host), times in fleet.times.items() if of == name} for name, _ in fleet.times}
    found = [_carrier(fleet, name, by_host, len(classes)) for name, by_host in classes.items()]
    return sorted(found, key=lambda each: (-each.of, each.fault_class))


def _carrier(fleet: Fleet, name: str, by_host: dict[str, tuple[Seconds | None, ...]], classes: int) -> Carrier:
    counts = {host: len(times) for host, times in by_host.items()}
    bursts = {host: bursts_of(times) for host, times in by_host.items()}
    total, everything = sum(bursts.values()), sum(fleet.seen.values())
    chances = {host: _chance(bursts[host], total, fleet.seen.get(host, 0.0) / everything) for host in bursts} if _all_seen(fleet, by_host) else {}
    top = min(bursts, key=lambda host: (chances.get(host, 1.0), -bursts[host], -counts[host], host))
    looks = len(fleet.hosts) * classes
    return Carrier(
        fault_class=name, host=top, count=counts[top], of=sum(counts.values()), hosts=len(by_host), bursts=bursts[top], all_bursts=total,
        expected=sum(counts.values()) * fleet.seen[top] / everything if chances else None,
        chance=min(1.0, looks * chances[top]) if chances else None, most=_most(counts),
    )  # fmt: skip


def bursts_of(times: Sequence[Seconds | None]) -> int:
    """How many crashes there were, those that follow another within LOOP as one; one without a time is one of its own.

    >>> bursts_of([0, 60, 120, 90_000])
    2
    """
    known = sorted(at for at in times if at is not None)
    gaps = sum(later - earlier > LOOP for earlier, later in pairwise(known))
    return len(times) - len(known) + (gaps + 1 if known else 0)


def _all_seen(fleet: Fleet, by_host: dict[str, tuple[Seconds | None, ...]]) -> bool:
    """Whether time was seen on each host that had such a crash: a share of nothing says nothing."""
    return all(fleet.seen.get(host, 0.0) > 0 for host in by_host)


def _chance(hits: int, of: int, share: float) -> float:
    """P(X >= hits) for X binomial with `of` tries and probability `share`: each term by logarithms, none of them negative.

    >>> round(_chance(3, 3, 0.5), 4), _chance(0, 5, 0.1), _chance(2, 4, 1.0)
    (0.125, 1.0, 1.0)
    """
    if hits <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    terms = (
        math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * math.log(share) + (of - k) * math.log1p(-share)
        for k in range(hits, of + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def _most(counts: dict[str, int]) -> tuple[str, ...]:
    """The fewest hosts that have more than half of all."""
    ordered = sorted(counts, key=lambda host: (-counts[host], host))
    half, reached = sum(counts.values()) / 2, 0
    for index, host in enumerate(ordered, 1):
        reached += counts[host]
        if reached > half:
            return tuple(ordered[:index])
    return tuple(ordered)
