"""Who entered two operations the other way round: everybody is in both, and neither can be done, since devices work in the order of their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from triage.verdict.dumps.records import Wait


class Turned(msgspec.Struct, frozen=True):
    """`rank` entered `first` before `then`; `others`, who are more, entered `then` before `first`."""

    rank: int
    first: Wait
    then: Wait
    others: tuple[int, ...]


def turned(waits: Sequence[Wait]) -> Iterator[Turned]:
    """Ranks that are fewer than those who entered the same two collectives in the other order; each rank once.

    Sends and receives are left out: the stages of a pipeline place them differently.
    """
    found: set[int] = set()
    for ways in _ways(waits).values():
        few, many = sorted(ways.values(), key=len) if len(ways) == 2 else ([], [])
        for first, then in few if len(few) < len(many) else ():
            if first.rank not in found:
                found.add(first.rank)
                yield Turned(first.rank, first, then, tuple(sorted(other.rank for other, _ in many)))


def _ways(waits: Sequence[Wait]) -> dict[tuple[object, object], dict[object, list[tuple[Wait, Wait]]]]:
    """For each two operations that ranks wait in though all members are there: who entered which of them first."""
    own: dict[int, list[Wait]] = {}
    for wait in waits:
        if wait.transfer is None and wait.created and not (wait.absent or wait.unseen):
            own.setdefault(wait.rank, []).append(wait)
    ways: dict[tuple[object, object], dict[object, list[tuple[Wait, Wait]]]] = {}
    for found in own.values():
        for one, other in combinations(sorted(found, key=lambda wait: wait.sibling), 2):
            first, then = sorted((one, other), key=lambda wait: wait.created)
            if first.created < then.created:
                ways.setdefault((one.sibling, other.sibling), {}).setdefault(first.sibling, []).append((first, then))
    return ways
