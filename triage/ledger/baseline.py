"""The rate before a mitigation: how often its fault came while nothing was changed, how it clustered, and how long it kept quiet by itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from triage.ledger.entry import Baseline
from triage.ledger.evidence import Death, Life
from triage.ledger.presence import STACK
from triage.ledger.rates import dispersion
from triage.ledger.silence import ALPHA, longest_quiet_chance, slowed
from triage.ledger.stretches import Stretch, elapsed, origin, reached, total
from triage.model import Seconds


class Quiet(msgspec.Struct, frozen=True, kw_only=True):
    """The longest time without the fault in which nothing was changed, before: length of exposure in seconds, from when to when, on which versions.

    `chance`: that the rate alone makes one that long somewhere in the time before.
    """

    seconds: Seconds
    start: Seconds
    end: Seconds
    chance: float
    stack: tuple[str, ...] = ()


class Before(msgspec.Struct, frozen=True, kw_only=True):
    """The rate before: `events` in `seconds` of exposure, stated by a person or counted. `dispersion` is variance over mean of daily counts."""

    events: int
    seconds: Seconds
    stated: bool = False
    dispersion: float | None = None
    quiet: Quiet | None = None

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float:
        """What part of a quiet time counts, given how the events cluster."""
        return slowed(self.dispersion) if self.dispersion is not None else 1.0

    @property
    def bar(self) -> Seconds:
        """How long it must be quiet at least: longer than it was by itself, where the rate alone does not explain that."""
        return self.quiet.seconds if self.quiet is not None and self.quiet.chance < ALPHA else 0.0


def counted(stretches: Sequence[Stretch], deaths: Sequence[Death], lives: Sequence[Life] = ()) -> Before | None:
    """The rate in these stretches of exposure; None where there were none, or no death in them."""
    seconds = total(stretches)
    times = [death.elapsed(stretches) for death in deaths if death.within(stretches)]
    if not times or seconds <= 0:
        return None
    measured = dispersion(times, seconds)
    return Before(
        events=len(times), seconds=seconds, dispersion=measured[0] if measured else None, quiet=_longest(stretches, sorted(times), seconds, lives)
    )  # fmt: skip


def stated(baseline: Baseline, observed: Before | None) -> Before:
    """The rate as a person stated it; how it clustered and kept quiet as far as it was seen."""
    made = Before(events=baseline.events, seconds=baseline.seconds, stated=True)
    return made if observed is None else msgspec.structs.replace(made, dispersion=observed.dispersion, quiet=observed.quiet)


def _longest(stretches: Sequence[Stretch], times: Sequence[Seconds], seconds: Seconds, lives: Sequence[Life]) -> Quiet:
    edges = sorted((0.0, *times, *(elapsed(stretches, at) for at in _new_stacks(lives)), *_new_engines(stretches), seconds))
    begin, end = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    start, stop = reached(stretches, begin), reached(stretches, end)
    first, last = (at - origin(at) for at in (start if start is not None else stretches[0][0], stop if stop is not None else stretches[-1][1]))
    chance = longest_quiet_chance(len(times), seconds, end - begin)
    return Quiet(seconds=end - begin, start=first, end=last, chance=chance, stack=_stack(lives, first, last))


def _new_stacks(lives: Sequence[Life]) -> list[Seconds]:
    """When a life began with other versions than the one before: a quiet time that reaches across is not one with nothing changed."""
    told = [(life.stretch[0], {key: life.boot.config[key] for key in STACK if key in life.boot.config}) for life in sorted(lives, key=_on_its_axis)]
    return [at for (_, before), (at, now) in pairwise(told) if any(before[key] != now[key] for key in before.keys() & now.keys())]


def _on_its_axis(life: Life) -> Seconds:
    return life.stretch[0]


def _new_engines(stretches: Sequence[Stretch]) -> list[Seconds]:
    """How much had passed where the time of one engine ends and that of the next begins."""
    return [elapsed(stretches, after[0]) for before, after in pairwise(stretches) if origin(before[0]) != origin(after[0])]


def _stack(lives: Sequence[Life], start: Seconds, end: Seconds) -> tuple[str, ...]:
    """The versions that ran in a time, where they were the same all through it and are others now."""
    inside = [life.boot for life in lives if life.start < end and life.end > start]
    if not inside or not lives:
        return ()
    now = lives[-1].boot
    told = [(key, {boot.config.get(key, "") for boot in inside}, now.config.get(key, "")) for key in STACK]
    same = [(key, next(iter(values)), current) for key, values, current in told if len(values) == 1]
    return tuple(f"{key.removesuffix('_version')} {value}" for key, value, current in same if value and current and value != current)
