"""From waits to the ranks that hold everybody up: those that are waited for and are not themselves held up elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.verdict.dumps.circles import Circle, circle
from triage.verdict.dumps.records import Wait

Steps = Mapping[tuple[str, str, int], int]  # what a rank waits in, and since when


class Blame(msgspec.Struct, frozen=True):
    """Ranks that others wait for and that wait for nobody, with the waits that say so; and the circle of waits that has no root.

    `doubted` are the ranks of a circle that is none if a rank without a dump holds up one of them, which these dumps leave open.
    """

    roots: Mapping[int, tuple[Wait, ...]]
    circle: Circle = Circle()
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
    certain = circle(own, _unexplained(own, causes | _short_of_dumps(own)))
    return Blame(roots, certain, () if certain.ranks else circle(own, _unexplained(own, causes)).ranks)


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
