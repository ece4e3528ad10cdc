"""Rungs of one setting (such as gpu_memory_utilization) on several builds: what is free at the worst step, and which rung leaves the reserve.

Two builds are compared where both were measured on one rung, part by part (at rest, in the step), and at equal margin: the setting at which
each would leave the same, between the rungs that were measured. They are never compared by the outcome at an equal setting alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from triage.trials.instruments import heavy
from triage.trials.memory import Memory
from triage.trials.verdicts import Counted

SETTINGS = ("gpu_memory_utilization", "mem_fraction_static", "free_gpu_memory_fraction", "kv_cache_free_gpu_mem_fraction")


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One build on one rung: the worst GPU of the worst run, what the KV cache holds (tokens), and how the runs ended."""

    build: str
    setting: str
    value: float
    memory: Memory
    kv_tokens: float | None = None
    survived: int = 0
    ran: int = 0

    @property
    def margin(self) -> float | None:
        return self.memory.margin

    @property
    def is_known(self) -> bool:
        """Whether something says that it does not do: a run died on it, whatever the samples saw, or its margin was measured."""
        return self.survived < self.ran or self.margin is not None

    def leaves(self, reserve: float) -> bool:
        """Whether all its runs lived and left so much at their worst step."""
        lived = self.survived == self.ran and self.memory.short is None
        return lived and self.margin is not None and self.margin >= reserve


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """What `new` takes more than `old` on one rung; MiB, None where it was not measured on both."""

    value: float
    rest: float | None
    step: float | None
    margin: float | None


class Ladder(msgspec.Struct, frozen=True, kw_only=True):
    """All rungs, highest first, and of each build the settings at which a lower rung failed and a higher one lived."""

    item: str
    setting: str
    builds: tuple[str, ...]
    runs: tuple[str, ...]
    rungs: tuple[Rung, ...]
    broken: tuple[tuple[str, float, float], ...] = ()  # build, the rung that lived, and the lower one that failed

    def rung(self, build: str, value: float) -> Rung | None:
        return next((rung for rung in self.rungs if rung.build == build and rung.value == value), None)

    @property
    def values(self) -> list[float]:
        return sorted({rung.value for rung in self.rungs}, reverse=True)

    def kv_change(self, value: float) -> float | None:
        """By how much the KV cache is smaller than on the highest rung, as a share; of the first build that was measured on both."""
        for build in self.builds:
            top, here = self.rung(build, self.values[0]), self.rung(build, value)
            if top and here and top.kv_tokens and here.kv_tokens:
                return here.kv_tokens / top.kv_tokens - 1
        return None

    def highest_with(self, reserve: float) -> float | None:
        """The highest rung that every build lived on with `reserve` left, as on each lower one that it was tried on; None where none is."""
        chosen = None
        for value in reversed(self.values):
            own = [rung for rung in self.rungs if rung.value == value and rung.is_known]
            if not all(rung.leaves(reserve) for rung in own):
                break
            if len(own) == len(self.builds):
                chosen = value
        return chosen

    def pairs(self, old: str, new: str) -> list[Pair]:
        """Where both builds were measured: how much more the new one takes."""
        found = [(value, self.rung(old, value), self.rung(new, value)) for value in self.values]
        return [_pair(value, one, other) for value, one, other in found if one is not None and other is not None]

    def setting_for(self, build: str, margin: float) -> float | None:
        """At which setting a build leaves `margin`, on the line between the rungs on either side of it; None outside of them."""
        known = sorted((r.value, r.margin) for r in self.rungs if r.build == build and r.margin is not None and r.memory.short is None)
        for (low, more), (high, less) in pairwise(known):
            if min(less, more) <= margin <= max(less, more):
                return high if more == less else low + (more - margin) / (more - less) * (high - low)
        return None


def ladders(runs: Sequence[Counted]) -> list[Ladder]:
    """One ladder for each item that was run on several values of a memory setting, or on several builds.

    Only runs that count: in another the worst step may not have been the one in question. None with a heavy instrument, which takes memory.
    """
    found = []
    for item in dict.fromkeys(one.run.item.id for one in runs):
        own = [one for one in runs if one.run.item.id == item and one.result in ("pass", "fail") and not heavy(one.run.instruments)]
        for setting in SETTINGS:
            climbed = [one for one in own if setting in one.run.told and one.run.memory]
            rungs = _rungs(climbed, setting)
            if len(rungs) > 1:
                found.append(_ladder(item, setting, rungs, tuple(one.run.name for one in climbed)))
    return found


def _ladder(item: str, setting: str, rungs: Sequence[Rung], runs: tuple[str, ...]) -> Ladder:
    builds = tuple(dict.fromkeys(rung.build for rung in rungs))
    broken = []
    for build in builds:
        own = sorted((rung for rung in rungs if rung.build == build), key=lambda rung: rung.value)
        lower = [rung for rung in own if rung.survived < rung.ran]
        above = [(low, high) for low in lower for high in own if high.value > low.value and 0 < high.ran == high.survived]
        broken += [(build, high.value, low.value) for low, high in above[:1]]
    ordered = tuple(sorted(rungs, key=lambda rung: -rung.value))
    return Ladder(item=item, setting=setting, builds=builds, runs=runs, rungs=ordered, broken=tuple(broken))


def _rungs(runs: Sequence[Counted], setting: str) -> list[Rung]:
    groups: dict[tuple[str, float], list[Counted]] = {}
    for one in runs:
        value = _number(one.run.told[setting])
        if value is not None:
            groups.setdefault((one.run.build.name, value), []).append(one)
    return [_rung(build, setting, value, own) for (build, value), own in groups.items()]


def _rung(build: str, setting: str, value: float, runs: Sequence[Counted]) -> Rung:
    worst = min((memory for one in runs for memory in one.run.memory), key=lambda memory: float("inf") if memory.margin is None else memory.margin)
    tokens = [number for one in runs if (number := _number(one.run.told.get("kv_cache_tokens", ""))) is not None]
    ran = [one for one in runs if one.run.ended in ("survived", "died")]
    survived = sum(one.run.ended == "survived" for one in ran)
    return Rung(build=build, setting=setting, value=value, memory=worst, kv_tokens=min(tokens, default=None), survived=survived, ran=len(ran))


def _pair(value: float, old: Rung, new: Rung) -> Pair:
    rests, steps = (old.memory.own_rest, new.memory.own_rest), (old.memory.step, new.memory.step)
    margin = None if new.memory.short is not None or old.memory.short is not None else _less(new.margin, old.margin)
    return Pair(value=value, rest=_less(rests[1], rests[0]), step=_less(steps[1], steps[0]), margin=margin)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
