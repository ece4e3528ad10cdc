"""Hints that join incidents without merging them: one cause under several masks, one rank or host, long prefills, a new version.

A hint needs evidence that chance seldom makes: exact probabilities below 0.05, each against the plainest account of nothing at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

import msgspec

from triage.knowledge.load import Knowledge
from triage.model import Boot, Event, Hint, Seconds, Verdict
from triage.verdict.chance import RARE, most_on_one, spoken
from triage.verdict.common_cause import common_causes

FEWEST = 3
VERSIONS = ("version", "torch", "nccl_version", "driver_version", "cuda_version")


def hints(verdicts: Sequence[Verdict], boots: Sequence[Boot], marks: Sequence[Event], knowledge: Knowledge) -> tuple[Hint, ...]:
    """Everything that incidents have in common. `marks` are lines of all sources that the common causes ask for."""
    faults = [v for v in verdicts if v.fault]
    found = common_causes(knowledge.common_causes, faults, marks)
    for name, members in _by_class(faults).items():
        found += [*_carriers(name, members, boots), *_prefills(name, members), *_after_change(name, members, boots)]
    return tuple(found)


def _by_class(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    classes: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        classes.setdefault(verdict.fault_class, []).append(verdict)
    return {name: members for name, members in classes.items() if len(members) >= FEWEST}


# ------------------------------------------------------------------------------------- one rank, GPU or host carries most


def _carriers(name: str, members: Sequence[Verdict], boots: Sequence[Boot]) -> Iterator[Hint]:
    ranks = [v for v in members if v.facts.rank is not None]
    gpus = [v for v in members if v.facts.gpu]
    hosts = [v for v in members if v.facts.host]
    known_hosts = {b.host for b in boots if b.host} | {v.facts.host for v in hosts}
    yield from _carrier(name, "rank", ranks, lambda v: str(v.facts.rank), _ranks(ranks))
    yield from _carrier(name, "GPU", gpus, lambda v: f"{v.facts.gpu}{' of ' + v.facts.host if v.facts.host else ''}", _gpus(gpus))
    yield from _carrier(name, "host", hosts, lambda v: v.facts.host, len(known_hosts))


def _carrier(name: str, what: str, members: Sequence[Verdict], key: Callable[[Verdict], str], values: int) -> Iterator[Hint]:
    if len(members) < FEWEST or values < 2:
        return
    value, hits = Counter(map(key, members)).most_common(1)[0]
    chance = most_on_one(hits, len(members), values)
    if hits < FEWEST or chance >= RARE:
        return
    carried = [v for v in members if key(v) == value]
    text = (
        f"{what} {value} carries {hits} of {len(members)} {name} incidents whose {what} is known; "
        f"were all {values} {what}s alike, that many on one of them would come with a chance of {spoken(chance)}"
    )
    yield _hint(f"one-{what.lower()}", text, carried, chance)


def _ranks(members: Sequence[Verdict]) -> int:
    """How many ranks there were: by the boots' own word the fewest, at least as many as were seen."""
    told = [int(size) for v in members if v.incident.boot for size in [_world(v.incident.boot)] if size.isdigit()]
    seen = max((v.facts.rank for v in members if v.facts.rank is not None), default=-1) + 1
    return max(min(told, default=seen), seen)


def _world(boot: Boot) -> str:
    return boot.config.get("tp") or boot.config.get("world_size", "")


def _gpus(members: Sequence[Verdict]) -> int:
    """How many GPUs there were, as far as is known: as many as ranks that the boots tell of, or were seen; never fewer than two."""
    told = [int(size) for v in members if v.incident.boot for size in [_world(v.incident.boot)] if size.isdigit()]
    return max(2, min(told, default=2), len({(v.facts.host, v.facts.gpu) for v in members}))


# ------------------------------------------------------------------------------------------------------- long prefills


def _prefills(name: str, members: Sequence[Verdict]) -> Iterator[Hint]:
    """All in prefill steps: a service takes many more decode steps than prefills, so `every second` is a generous account of chance."""
    known = [v for v in members if v.facts.step]
    chunks = [v.facts.chunk for v in known if v.facts.step == "prefill" and v.facts.chunk is not None]
    chance = 0.5 ** len(known)
    if not known or len(chunks) < len(known) or chance >= RARE:
        return
    text = (
        f"all {len(known)} {name} incidents whose step is known came in a prefill, none in a chunk of fewer than {min(chunks):,} tokens "
        f"(up to {max(chunks):,}); were every second step a prefill, the chance of that is {spoken(chance)}. Compare that size with the "
        "thresholds that choose a branch (`triage explain` has the frame)"
    )
    yield _hint("prefill-chunks", text, known, chance)


# --------------------------------------------------------------------------------------------------- after a new version


class Change(msgspec.Struct, frozen=True):
    """Where a stream's boots changed their versions: the first boot with the new ones, and seconds of life before it and since."""

    boot: Boot
    words: str
    before: Seconds
    since: Seconds


def _after_change(name: str, members: Sequence[Verdict], boots: Sequence[Boot]) -> Iterator[Hint]:
    """None before a change of version and all after it: by chance, each falls after it with the share of life that lies there."""
    stream = {(v.incident.source, v.incident.stream) for v in members}
    if len(stream) != 1:
        return
    lives = [b for b in boots if (b.source, b.stream) in stream and b.start]
    changes = list(_changes(lives))
    found: list[Hint] = []
    for change in changes:
        first = change.boot.start.earliest if change.boot.start else 0.0
        starts = [v.incident.boot.start.earliest if v.incident.boot and v.incident.boot.start else None for v in members]
        if any(start is None or start < first for start in starts) or not change.before:
            continue
        chance = min(1.0, len(changes) * (change.since / (change.before + change.since)) ** len(members))
        if chance < RARE:
            text = (
                f"all {len(members)} {name} incidents came after a change ({change.words}), none in {change.before / 3600:,.1f} h of running "
                f"before it against {change.since / 3600:,.1f} h since; were both alike, the chance of that is {spoken(chance)}"
            )
            found.append(_hint("after-change", text, members, chance))
    yield from sorted(found, key=lambda hint: hint.chance or 0.0)[:1]


def _changes(lives: Sequence[Boot]) -> Iterator[Change]:
    lengths = [_length(life, following) for life, following in zip_longest(lives, lives[1:])]
    for index in range(1, len(lives)):
        words = _changed(lives[index - 1], lives[index])
        if words:
            yield Change(lives[index], words, sum(lengths[:index]), sum(lengths[index:]))


def _changed(before: Boot, boot: Boot) -> str:
    """What is another version in `boot` than in the one before it, of what both tell."""
    told = [(key, _version(before, key), _version(boot, key)) for key in VERSIONS]
    shown = [f"{key.removesuffix('_version').replace('version', boot.engine)} {old} to {new}" for key, old, new in told if old and new and old != new]
    return ", ".join(shown)


def _version(boot: Boot, key: str) -> str:
    return boot.version if key == "version" else boot.config.get(key, "")


def _length(boot: Boot, following: Boot | None) -> Seconds:
    last = next((e.at for e in reversed(boot.events) if e.at), None)
    end = boot.end or last or (following.start if following else None)
    return max(0.0, end.earliest - boot.start.earliest) if end and boot.start else 0.0


def _hint(name: str, text: str, members: Sequence[Verdict], chance: float) -> Hint:
    lines = [line for v in members for line in (v.root, v.facts.step_line if name == "prefill-chunks" else None) if line is not None]
    return Hint(id=name, text=text, incidents=tuple(v.incident.id for v in members), evidence=tuple(lines), chance=chance)
