"""From waits to the ranks that hold everybody up: those that are waited for and are not themselves held up elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.verdict.dumps.circles import Circle, circle
from triage.verdict.dumps.records import Wait

Own = Mapping[int, Sequence[Wait]]  # the waits of each rank
Step = tuple[str, str, int]


class Place(msgspec.Struct, frozen=True, eq=False):
    """All waits in one operation for the same ranks, by the rank that waits; `first` is the one that began first."""

    waits: Mapping[int, Wait]
    first: Wait

    @property
    def absent(self) -> frozenset[int]:
        return self.first.absent


class Root(msgspec.Struct, frozen=True):
    """A rank that others (`waiting`) wait for in `places`, `beside` it the other roots that are absent there.

    `waits` says that it does wait somewhere itself, but that a peer that waits there too went on to one of the places all the same;
    `passed` is its own wait in an operation that most of those who wait for it entered after the place that it is absent from.
    """

    places: tuple[Place, ...]
    waiting: frozenset[int]
    waits: bool = False
    passed: Wait | None = None
    beside: frozenset[int] = frozenset()

    @property
    def outnumbered(self) -> bool:
        """Whether everywhere more ranks are absent than wait: then those that wait may have called what nobody else calls."""
        return all(len(place.waits) < len(place.absent & self.beside) + 1 for place in self.places) and len(self.waiting) <= len(self.beside)

    @property
    def most_wait(self) -> bool:
        """Whether more ranks wait than are absent."""
        return len(self.waiting) > len(self.beside) + 1


class Blame(msgspec.Struct, frozen=True):
    """Ranks that others wait for and that nothing else holds, and the circle of waits that has no root.

    `doubted` are the ranks of a circle that is none if a rank without a dump holds up one of them, which these dumps leave open.
    """

    roots: Mapping[int, Root]
    circle: Circle = Circle()
    doubted: tuple[int, ...] = ()


def blame(waits: Sequence[Wait], stuck: Iterable[int]) -> Blame:
    """The roots of all waits. `stuck` are ranks whose device stands still: whatever they wait for, they hold up the rest."""
    free = set(stuck)
    own: dict[int, list[Wait]] = {}
    for wait in waits:
        own.setdefault(wait.rank, []).append(wait)
    against: dict[int, list[Place]] = {}
    for place in _places(waits):
        for rank in place.absent:
            against.setdefault(rank, []).append(place)
    peers = _Peers(own)
    roots = {
        rank: Root(tuple(places), frozenset[int]().union(*(place.waits for place in places)), waits=rank in own, passed=passed)
        for rank, places in sorted(against.items())
        if (passed := peers.passed(rank, places)) or rank in free or not peers.excuse(rank, places)
    }
    causes = set(roots) | free
    certain = circle(own, _unexplained(own, against, causes | _short_of_dumps(own)))
    doubted = () if certain.ranks else circle(own, _unexplained(own, against, causes)).ranks
    return Blame(_with_others(roots), certain, doubted)


def _places(waits: Sequence[Wait]) -> list[Place]:
    together: dict[tuple[str, int, bool, frozenset[int]], dict[int, Wait]] = {}
    for wait in waits:
        if wait.absent:
            together.setdefault((wait.group, wait.sequence, wait.transfer is not None, wait.absent), {})[wait.rank] = wait
    return [Place(found, min(found.values(), key=lambda wait: wait.order)) for found in together.values()]


def _with_others(roots: Mapping[int, Root]) -> dict[int, Root]:
    absent = {place: place.absent & roots.keys() for root in roots.values() for place in root.places}
    return {
        rank: msgspec.structs.replace(root, beside=frozenset[int]().union(*(absent[place] for place in root.places)) - {rank})
        for rank, root in roots.items()
    }


def _short_of_dumps(own: Own) -> set[int]:
    """Ranks that wait in an operation in which only ranks without a dump can be lacking: whatever else they wait in, that may hold them."""
    return {rank for rank, found in own.items() if any(wait.unseen and not wait.absent for wait in found)}


class _Peers:
    """Which ranks stand in the same step of the program, and since when."""

    def __init__(self, own: Own) -> None:
        self._own = own
        self._steps = {rank: {wait.sibling: wait.created for wait in found} for rank, found in own.items()}
        self._standing: dict[Step, set[int]] = {}
        for rank, steps in self._steps.items():
            for step in steps:
                self._standing.setdefault(step, set()).add(rank)

    def passed(self, rank: int, against: Sequence[Place]) -> Wait | None:
        """The rank's own wait in an operation that others entered after one that they wait for it in: it went past that one.

        More of them than ranks that did as it did: else it may be they who took another order.
        """
        for wait in self._own.get(rank, ()):
            there = self._standing[wait.sibling]
            for place in against:
                before = [peer for peer in there & place.waits.keys() if 0 < place.waits[peer].created < self._steps[peer][wait.sibling]]
                if wait.transfer is None and len(before) > len(there & place.absent):
                    return wait
        return None

    def excuse(self, rank: int, against: Sequence[Place]) -> bool:
        """Whether the rank's own waits are why it has not come to any of the operations that others wait for it in.

        Enqueueing need not block the host: a peer that stands in all of the steps that the rank stands in, and yet entered later an
        operation that it waits for the rank in, shows that they do not hold the rank back. In an operation that everybody
        has entered no member is late, so whoever waits in one is excused.
        """
        found = self._own.get(rank, ())
        if not found:
            return False
        if any(not wait.absent for wait in found):
            return True
        steps = [wait.sibling for wait in found]
        peers = set[int].intersection(*(self._standing[step] for step in steps)) - {rank}
        return not any(self._came_later(place.waits[peer], steps) for place in against for peer in peers & place.waits.keys())

    def _came_later(self, wait: Wait, steps: Iterable[Step]) -> bool:
        since = self._steps[wait.rank]
        return all(wait.created > since[step] > 0 for step in steps)


def _unexplained(own: Own, against: Mapping[int, Sequence[Place]], causes: set[int]) -> set[int]:
    """Ranks from which no chain of waits leads to one of `causes`."""
    reached, todo, seen = set(causes), list(causes), set[int]()
    while todo:
        for place in against.get(todo.pop(), ()):
            if id(place) not in seen:
                seen.add(id(place))
                new = place.waits.keys() - reached
                reached |= new
                todo.extend(new)
    return {rank for rank, found in own.items() if rank not in reached and any(wait.absent for wait in found)}
