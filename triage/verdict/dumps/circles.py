"""Circles of waits: ranks that wait for each other in different groups, and the parties without which nobody would wait in a circle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.verdict.dumps.records import Wait

Own = Mapping[int, Sequence[Wait]]  # the waits of each rank
Edges = Mapping[int, set[int]]


class Circle(msgspec.Struct, frozen=True):
    """Ranks that wait for each other. `parties` of them wait in the same operation, and each is part of every circle; the biggest first.

    Where many circles run through the same ranks, most of these only pass a wait on, and without parties nothing tells who began it.
    """

    ranks: tuple[int, ...] = ()
    parties: tuple[tuple[int, ...], ...] = ()


def circle(own: Own, among: Iterable[int]) -> Circle:
    """The ranks of `among` that wait for each other and for nobody else of them; empty where every chain of waits ends."""
    within = set(among)
    ahead = {rank: {*within}.intersection(frozenset[int]().union(*(wait.absent for wait in own[rank]))) for rank in within}
    ring = _ring(ahead)
    inner = {rank: ahead[rank] & ring for rank in ring}
    one = _one_way_round(inner)
    parties = [party for party in _parties(own, ring) if one.intersection(party) and not _turns({*party}, inner)]
    return Circle(tuple(sorted(ring)), tuple(parties))


def _ring(ahead: Edges) -> set[int]:
    """The first set of ranks each of which leads to all of them and to no other; empty where there is none."""
    behind = _reversed(ahead)
    todo = set(ahead)
    while todo:
        start = min(todo)
        while beyond := _reachable(start, ahead) - _reachable(start, behind):
            start = min(beyond)
        ring = _reachable(start, ahead)
        if ring:
            return ring
        todo -= {start} | _reachable(start, behind)
    return set()


def _reversed(ahead: Edges) -> dict[int, set[int]]:
    behind: dict[int, set[int]] = {rank: set() for rank in ahead}
    for rank, others in ahead.items():
        for other in others:
            behind[other].add(rank)
    return behind


def _reachable(start: int, edges: Edges) -> set[int]:
    seen: set[int] = set()
    todo = [start]
    while todo:
        new = edges[todo.pop()] - seen
        seen |= new
        todo.extend(new)
    return seen


def _one_way_round(ahead: Edges) -> set[int]:
    """The ranks of a shortest circle through one of them."""
    start = min(ahead, default=0)
    before: dict[int, int] = {}
    todo = deque([start] if ahead else [])
    while todo and start not in before:
        rank = todo.popleft()
        new = ahead[rank] - before.keys()
        before.update(dict.fromkeys(new, rank))
        todo.extend(new)
    found: set[int] = set()
    rank = start
    while rank in before and rank not in found:
        found.add(rank)
        rank = before[rank]
    return found


def _turns(gone: set[int], ahead: Edges) -> bool:
    """Whether anybody still waits in a circle without the ranks `gone`."""
    left = {rank: others - gone for rank, others in ahead.items() if rank not in gone}
    behind = _reversed(left)
    out = {rank: len(others) for rank, others in left.items()}
    todo = [rank for rank, count in out.items() if not count]
    ended = 0
    while todo:
        ended += 1
        for rank in behind[todo.pop()]:
            out[rank] -= 1
            if not out[rank]:
                todo.append(rank)
    return ended < len(left)


def _parties(own: Own, ring: Iterable[int]) -> list[tuple[int, ...]]:
    """The ranks by the operation that they wait in first."""
    parties: dict[tuple[str, int], list[int]] = {}
    for rank in sorted(ring):
        wait = first_wait(own[rank])
        parties.setdefault((wait.group, wait.sequence), []).append(rank)
    return sorted((tuple(party) for party in parties.values()), key=lambda party: (-len(party), party))


def first_wait(waits: Iterable[Wait]) -> Wait:
    """The wait for ranks that have a dump that began first."""
    return min((wait for wait in waits if wait.absent), key=lambda wait: wait.order)
