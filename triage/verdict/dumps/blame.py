"""From waits to the ranks that hold everybody up: those that are waited for and are not themselves held up elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.verdict.dumps.records import Wait

Steps = Mapping[tuple[str, str, int], int]  # what a rank waits in, and since when


class Blame(msgspec.Struct, frozen=True):
    """Ranks that others wait for and that wait for nobody, with the waits that say so; and the parties of a circle of waits.

    `doubted` are the ranks of a circle that is none if a rank without a dump holds up one of them, which these dumps leave open.
    """

    roots: Mapping[int, tuple[Wait, ...]]
    circle: tuple[tuple[int, ...], ...] = ()
    doubted: tuple[int, ...] = ()


def blame(waits: Sequence[Wait], stuck: Iterable[int]) -> Blame:
    """The roots of all waits. `stuck` are ranks whose device stands still: whatever they wait for, they hold up the rest."""
    free = set(stuck)
    own: dict[int, list[Wait]] = {}
    against: dict[int, list[Wait]] = {}
    for wait in waits:
        own.setdefault(wait.rank, []).append(wait)
        for rank in wait.absent:
            against.setdefault(rank, []).append(wait)
    steps = {rank: {wait.sibling: wait.created for wait in found} for rank, found in own.items()}
    held = {rank for rank in against if rank not in free and _excused(own.get(rank, []), against[rank], steps)}
    roots = {rank: tuple(found) for rank, found in sorted(against.items()) if rank not in held}
    causes = set(roots) | free
    circle = _circle(own, _unexplained(own, causes | _short_of_dumps(own)))
    possible = circle or _circle(own, _unexplained(own, causes))
    return Blame(roots, circle, () if circle else tuple(sorted(rank for party in possible for rank in party)))


def _short_of_dumps(own: Mapping[int, Sequence[Wait]]) -> set[int]:
    """Ranks that wait in an operation in which only ranks without a dump can be lacking: whatever else they wait in, that may hold them."""
    return {rank for rank, found in own.items() if any(wait.unseen and not wait.absent for wait in found)}


def _excused(own: Sequence[Wait], against: Sequence[Wait], steps: Mapping[int, Steps]) -> bool:
    """Whether one of the rank's own waits is why it has not come to any of the operations that others wait for it in."""
    return any(not _went_on(wait, against, steps) for wait in own)


def _went_on(wait: Wait, against: Sequence[Wait], steps: Mapping[int, Steps]) -> bool:
    """Whether a peer stands in the same step as the rank and yet entered, later, the operation that it waits for the rank in.

    Enqueueing need not block the host: such a peer shows that the step does not hold its rank back from the later one.
    """
    return any(other.created > steps[other.rank].get(wait.sibling, other.created) > 0 for other in against)


def _unexplained(own: Mapping[int, Sequence[Wait]], causes: set[int]) -> set[int]:
    """Ranks from which no chain of waits leads to one of `causes`."""
    reached = set(causes)
    grown = True
    while grown:
        grown = False
        for rank, found in own.items():
            if rank not in reached and any(wait.absent & reached for wait in found):
                reached.add(rank)
                grown = True
    return {rank for rank, found in own.items() if rank not in reached and any(wait.absent for wait in found)}


def _circle(own: Mapping[int, Sequence[Wait]], among: set[int]) -> tuple[tuple[int, ...], ...]:
    """Ranks that wait for each other in a circle, as parties that wait in the same operation, the biggest first."""
    ahead = {rank: _reachable(rank, own, among) for rank in among}
    for rank in sorted(among):
        ring = {other for other in ahead[rank] if rank in ahead.get(other, ())}
        if len(ring) > 1 and all(ahead[other] <= ring for other in ring):
            parties: dict[tuple[str, int], list[int]] = {}
            for other in sorted(ring):
                wait = min((w for w in own[other] if w.absent), key=lambda w: w.order)
                parties.setdefault((wait.group, wait.sequence), []).append(other)
            return tuple(sorted((tuple(p) for p in parties.values()), key=lambda p: (-len(p), p)))
    return ()


def _reachable(rank: int, own: Mapping[int, Sequence[Wait]], among: set[int]) -> set[int]:
    seen: set[int] = set()
    todo = [rank]
    while todo:
        for wait in own.get(todo.pop(), ()):
            new = (wait.absent & among) - seen
            seen |= new
            todo.extend(new)
    return seen
