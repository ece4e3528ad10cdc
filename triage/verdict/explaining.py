"""Which faults another one explains by its own rule, wherever they stand: a kernel's line comes late, and a device lags behind its process."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.knowledge.schema import Signature
from triage.model import Event, Seconds
from triage.verdict.context import CHAIN_BYTES
from triage.verdict.nearby import Nearby

KERNEL_TOLERANCE: Seconds = 60.0
NOTICED_LATE: Seconds = 10.0  # a device runs behind its process: another library may have met the error before it is named


class Candidate(msgspec.Struct, frozen=True):
    """A line that may be the root: its event, its signature, and whether its class is a fault at all."""

    event: Event
    signature: Signature
    fault: bool


def unexplained(candidates: Sequence[Candidate]) -> list[Candidate]:
    """What nothing in the incident explains; whatever generic rules see in an explained line goes with it."""
    by_rule: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_rule.setdefault(candidate.event.rule, []).append(candidate)
    ones = [_SameRule(found) for found in by_rule.values() if found[0].signature.explains]
    able = {rule: [(one, ways) for one in ones if (ways := _Ways.between(one.first, found[0])).is_any] for rule, found in by_rule.items()}
    explained = {id(c) for c in candidates if any(one.lead(c.event, ways) for one, ways in able[c.event.rule])}
    lines = {c.event.line for c in candidates if id(c) in explained}
    return [c for c in candidates if id(c) not in explained and not (c.signature.generic and c.event.line in lines)]


class _SameRule:
    """The candidates of one rule, by time: ten thousand of them may stand against ten thousand of another."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.first = candidates[0]
        self._all = [candidate.event for candidate in candidates]
        self._untimed = [event for event in self._all if event.at is None]
        self._timed = Nearby(self._all)

    def lead(self, event: Event, ways: _Ways) -> bool:
        """Whether from one of them a way leads to `event`."""
        return any(ways.lead(one, event) for one in self._near(event))

    def _near(self, event: Event) -> Sequence[Event]:
        """Those that a way may lead from."""
        if event.at is None:
            return self._all
        low = min(event.at.earliest - KERNEL_TOLERANCE, event.at.latest - NOTICED_LATE)
        high = max(event.at.earliest + KERNEL_TOLERANCE, event.at.latest + NOTICED_LATE)
        return [*self._timed.within(low, high), *self._untimed]


def explains(one: Candidate, other: Candidate) -> bool:
    """Whether `one` says by its rule that it causes what `other` tells of, though that may stand before it: clocks differ, devices lag."""
    return _Ways.between(one, other).lead(one.event, other.event)


class _Ways(msgspec.Struct, frozen=True):
    """How one rule may explain another's lines: as the kernel's word, or as an error that stays true of its process.

    A call that meets such an error before it is named is what its rule names beside the star.
    """

    kernel: bool
    lasting: bool

    @property
    def is_any(self) -> bool:
        return self.kernel or self.lasting

    @classmethod
    def between(cls, one: Candidate, other: Candidate) -> _Ways:
        explained, named = set(one.signature.explains), {other.event.fault, other.event.rule}
        if one.event.fault == other.event.fault or ("*" in explained and "*" in other.signature.explains):
            return cls(kernel=False, lasting=False)
        is_named = not named.isdisjoint(explained)
        return cls(kernel="kernel" in one.signature.sources and (is_named or "*" in explained), lasting=is_named and "*" in explained)

    def lead(self, one: Event, other: Event) -> bool:
        """Whether one of them leads from this line to that one."""
        return (self.kernel and _close(one, other)) or (self.lasting and _one_device(one, other) and _at_once(other, one))


def _one_device(one: Event, other: Event) -> bool:
    """Whether nothing tells the ranks or processes of two lines apart; a pid without a name is that of whoever wrote the log."""
    if one.rank is not None and other.rank is not None:
        return one.rank == other.rank
    return not (one.process and other.process) or (one.process, one.pid) == (other.process, other.pid)


def _at_once(first: Event, later: Event) -> bool:
    if first.at is not None and later.at is not None:
        return abs(later.at.earliest - first.at.latest) <= NOTICED_LATE
    return first.place.source == later.place.source and 0 <= later.order - first.order <= CHAIN_BYTES


def _close(one: Event, other: Event) -> bool:
    return one.at is None or other.at is None or abs(one.at.earliest - other.at.earliest) <= KERNEL_TOLERANCE
