"""Suspects out of the evidence, strongest first: mismatch, rank that never entered, device that stands still, no dump, late arrival."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set

from triage.model import Suspect
from triage.parsers.flight_recorder.records import STARTED, RankDumps, Transfer
from triage.verdict.dumps import words
from triage.verdict.dumps.blame import Blame, Place, Root
from triage.verdict.dumps.circles import Circle, first_wait
from triage.verdict.dumps.lateness import Late
from triage.verdict.dumps.order import Turned
from triage.verdict.dumps.records import NO_RANK, Difference, Group, Position, Wait
from triage.verdict.dumps.waits import Pair, elements, front

EVIDENCE_SHOWN = 4
NEEDS_FINISHED = (
    "needed: a dump that has finished operations too (TORCH_INCLUDE_ONLY_ACTIVE=0) and reaches back to this one (TORCH_FR_BUFFER_SIZE)"
)
NEEDS_ONE_MOMENT = "needed: dumps of all ranks that were taken at one moment, while the job hangs"
# Missing dumps point at their ranks only while most members of the group have left one: half of them are on a host not collected from.
MOST_MISSING = 0.5

Device = Mapping[int, Sequence[tuple[Group, int, int]]]


def of_differences(differences: Sequence[Difference]) -> Iterator[Suspect]:
    """Members in the minority of a mismatch; where two parties are equally big, all of them without a verdict."""
    for found in differences:
        if found.kind == "own sizes":
            for rank in found.odd:
                reason = f"its own input and output do not fit in {found.group}, sequence {found.sequence}: {found.sides[0][0]}"
                yield Suspect(rank=rank, strength="proven", reason=reason, evidence=_sides(found))
            continue
        for rank in found.odd:
            does = next(told for told, ranks in found.sides if rank in ranks)
            most, by = found.sides[0]
            reason = f"{_deviation(found, does, most)} in {found.group}, sequence {found.sequence}; {words.ranks(by)} {_agree(by)} on {most}"
            yield Suspect(rank=rank, strength="likely" if found.ended else "proven", reason=reason, evidence=_sides(found))
        if not found.odd:
            for does, ranks in found.sides:
                for rank in ranks:
                    reason = f"{does} in {found.group}, sequence {found.sequence}, where others have another {found.kind}, and there is no majority"
                    yield Suspect(rank=rank, strength="cannot-tell", reason=f"{reason}; needed: what the code meant to call", evidence=_sides(found))


def _deviation(found: Difference, does: str, most: str) -> str:
    if found.kind == "operation":
        return f"calls {does} instead of {most} (it skipped, repeated or reordered one, or took another branch)"
    return f"{'sends' if found.kind == 'size' else 'has dtype'} {does} instead of {most}"


def _agree(by: Sequence[int]) -> str:
    return "agree" if len(by) > 1 else "is"


def _sides(found: Difference) -> tuple[str, ...]:
    return tuple(f"{words.ranks(ranks)}: {told} at sequence {found.sequence} of {found.group}" for told, ranks in found.sides)


def of_blame(found: Blame, groups: Sequence[Group], silent: Container[int] = (), *, explained: bool = False) -> Iterator[Suspect]:
    """Ranks that never entered what their peers wait in; proven unless something else could be why.

    `silent` may wait where no dump shows it; `explained` says that others do something that holds up whoever waits.
    """
    places: dict[int, dict[str, Position]] = {rank: {} for rank in found.roots}
    for group in groups:
        for rank in places.keys() & group.positions.keys():
            places[rank][group.label] = group.positions[rank]
    few: dict[tuple[Place, ...], list[int]] = {}
    for rank, root in found.roots.items():
        if root.waits and not root.passed and explained:
            continue
        if root.outnumbered and not root.waits:
            few.setdefault(root.places, []).append(rank)
        else:
            reason, proven = _absence(root, rank in silent)
            yield Suspect(rank=rank, strength="proven" if proven else "likely", reason=reason, evidence=_waiting(rank, root, places[rank]))
    yield from (_either(found.roots[ranks[0]], ranks) for ranks in few.values())


def _absence(root: Root, silent: bool) -> tuple[str, bool]:
    """Why a rank is a root, and whether that proves it."""
    first = min((place.first for place in root.places), key=lambda wait: wait.order)
    others = len({place.first.group for place in root.places}) - 1
    more = f" (and {words.several(others, 'more group')})" if others else ""
    waiting = root.waiting
    came = f"{'did not come to' if first.transfer else 'never entered'} {step(first)}{more}"
    there = f"{came}, where {words.ranks(waiting)} {words.verb(waiting, 'wait')}"
    if all(wait.guessed for place in root.places for wait in place.waits.values()):
        if first.transfer:
            return f"{there}, as far as its short ring tells", False
        return f"{came}, in which {words.ranks(waiting)} cannot have gone on without it: they timed out", False
    if root.passed:
        return f"{there}; it went past it to {step(root.passed)}, which these entered after it: it skipped one, or took another order", False
    if root.waits:
        return f"{there}; it waits elsewhere itself, but peers that wait there too did come: its host may be stuck", False
    if silent:
        return f"{there}, and is not seen to wait itself; its ring is too short to be sure", False
    if not root.most_wait:
        return f"{there}, and waits nowhere itself: its host is stuck, unless what the others called was one too many", False
    return f"{there}, and waits nowhere itself: its host is stuck", True


def _either(root: Root, absent: Sequence[int]) -> Suspect:
    """Few wait for many that wait nowhere."""
    first = min((place.first for place in root.places), key=lambda wait: wait.order)
    waiting = root.waiting
    reason = (
        f"{words.ranks(waiting)} {words.verb(waiting, 'wait')} in {step(first)}, which {words.ranks(absent)} never entered, and these wait nowhere: "
        "either the few called what nobody else calls, or the hosts of the many are stuck; needed: the stacks of both (--frames, py-spy)"
    )
    return unnamed(reason)


def step(wait: Wait) -> str:
    """The operation that a rank waits in, in words."""
    return f"{wait.what or 'an operation'}, sequence {wait.sequence}, of {wait.group}"


def _waiting(rank: int, root: Root, positions: Mapping[str, Position]) -> tuple[str, ...]:
    told: dict[str, list[Place]] = {}
    for place in root.places:
        told.setdefault(place.first.group, []).append(place)
    lines = []
    for label, found in sorted(told.items(), key=lambda item: min(place.first.order for place in item[1])):
        low = min(place.first.sequence for place in found)
        waiting = words.ranks(frozenset[int]().union(*(place.waits for place in found)))
        position = positions.get(label)
        if found[0].first.transfer:
            lines.append(f"{label}: {waiting} in {found[0].first.what}, no counterpart open on rank {rank}")
        else:
            at = f"rank {rank} last entered {position.entered}" if position is not None and position.entered else f"rank {rank} in none"
            lines.append(f"{label}: {waiting} in sequence {low}, {at}")
    return _shortened(lines)


def _shortened(lines: list[str]) -> tuple[str, ...]:
    return tuple(lines if len(lines) <= EVIDENCE_SHOWN else [*lines[: EVIDENCE_SHOWN - 1], f"and {len(lines) - EVIDENCE_SHOWN + 1} more groups"])


def of_devices(held: Device) -> Iterator[Suspect]:
    """Ranks that have not finished what the other members of their groups have."""
    for rank, found in sorted(held.items()):
        group, first, most = max(found, key=lambda item: item[2] - item[1])
        reason = (
            f"its GPU or its watchdog stands still: in {group.label} it has finished {first - 1}, others {most}, and none of these can finish "
            "without it"
        )
        more = [
            f"{g.label}: rank {rank} finished {lacks - 1}, others {by}, of {p.entered} it entered"
            for g, lacks, by in found
            if (p := g.positions.get(rank))
        ]
        strong = len(found) > 1 or most > first
        yield Suspect(rank=rank, strength="proven" if strong else "likely", reason=reason, evidence=_shortened(more))


def of_transfers(found: Iterable[tuple[Pair, Transfer, Transfer]]) -> Iterator[Suspect]:
    """Both sides of a send and receive that do not fit: which of them is wrong is not in the dumps."""
    for (name, _, source, target), sent, received in found:
        there = f"in {name}, sequence {sent.sequence}"
        reason = (
            f"rank {source} sends {elements(sent.sizes)} elements {there}, and rank {target} receives {elements(received.sizes)}; "
            "needed: what the code meant to send"
        )
        yield from (Suspect(rank=rank, strength="cannot-tell", reason=reason) for rank in (source, target))


def of_circle(found: Circle, waits: Sequence[Wait]) -> Iterator[Suspect]:
    """The smallest party of a circle of waits; all parties without a verdict where none is smallest, nobody where it has none."""
    parties = found.parties
    if not parties:
        if found.ranks:
            reason = f"{words.ranks(found.ranks)} wait for each other in several circles; needed: the order in which the code calls these groups"
            yield unnamed(reason)
        return
    clear = len(parties) > 1 and len(parties[-1]) < len(parties[-2])
    for party in parties[-1:] if clear else parties:
        for rank in party:
            where = step(first_wait(wait for wait in waits if wait.rank == rank))
            if clear:
                reason = f"entered {where} first, while {words.ranks(parties[0])} went into another group first, and each waits for the other"
            else:
                reason = f"waits in {where} for ranks that wait for it elsewhere; needed: the order in which the code calls these groups"
            yield Suspect(rank=rank, strength="likely" if clear else "cannot-tell", reason=reason, evidence=_circle_lines(parties, waits))


def _circle_lines(parties: Sequence[tuple[int, ...]], waits: Sequence[Wait]) -> tuple[str, ...]:
    lines = []
    for party in (*parties[: EVIDENCE_SHOWN - 1], *parties[EVIDENCE_SHOWN - 1 :][-1:]):
        wait = first_wait(wait for wait in waits if wait.rank == party[0])
        lines.append(f"{words.ranks(party)} in sequence {wait.sequence} of {wait.group}, waiting for {words.ranks(wait.absent)}")
    return tuple(lines)


def of_order(found: Iterable[Turned]) -> Iterator[Suspect]:
    """Ranks that entered two operations in another order than most, where everybody waits in both."""
    for one in found:
        others = words.ranks(one.others)
        reason = f"entered {step(one.first)}, before {step(one.then)}, and {others} the other way round: neither can be done"
        yield Suspect(rank=one.rank, strength="likely", reason=reason)


def of_starts(groups: Sequence[Group]) -> Iterator[Suspect]:
    """Ranks whose device has not even started an operation that it has started on others, where the recorder tells starts."""
    seen: set[int] = set()
    for group in groups:
        fronts = {rank: lane.front for rank, lane in group.lanes.items() if lane.front is not None}
        first = min((front.sequence for front in fronts.values()), default=0)
        at = {rank: front.progress for rank, front in fronts.items() if front.sequence == first}
        late = sorted(rank for rank, progress in at.items() if progress < STARTED)
        begun = sorted(rank for rank, progress in at.items() if progress == STARTED)
        if begun and late and len(late) < len(begun):
            for rank in late:
                if rank not in seen:
                    seen.add(rank)
                    reason = f"its GPU has not started sequence {first} of {group.label}, {words.ranks(begun)} did: something before it is stuck"
                    evidence = (f"{words.ranks(late)} scheduled, {words.ranks(begun)} started",)
                    yield Suspect(rank=rank, strength="likely", reason=reason, evidence=evidence)


def of_unfinished(groups: Sequence[Group]) -> Iterator[Suspect]:
    """A minority that has not finished an operation that others have, where that alone proves little (broadcast, reduce, gather)."""
    for group in groups:
        if not group.trusted:
            continue
        most = max((p.done for p in group.positions.values()), default=0)
        first = {rank: number for rank, p in group.positions.items() if (number := front(group, rank, p)) is not None}
        behind = sorted(rank for rank, number in first.items() if number <= most)
        if behind and len(behind) * 2 < len(group.positions):
            for rank in behind:
                reason = f"has not finished sequence {first[rank]} of {group.label}, which others have"
                evidence = (f"{group.label}: rank {rank} finished {first[rank] - 1}, others up to {most}",)
                yield Suspect(rank=rank, strength="likely", reason=reason, evidence=evidence)


def of_missing(
    dumps: RankDumps, waits: Sequence[Wait], groups: Sequence[Group], doubted: Sequence[int] = (), outdated: Set[int] = frozenset()
) -> Iterator[Suspect]:
    """Ranks without a dump where everybody with one is there and waits; without a verdict where `doubted` ranks seem to wait in a circle.

    Ranks whose dump is `outdated` have left one.
    """
    blamed: dict[int, list[Wait]] = {}
    sizes = [(group, len({*group.members} | group.unseen)) for group in groups]
    size = {(group.label, rank): most for group, most in sizes for rank in group.members}
    for wait in waits:
        most = MOST_MISSING * size.get((wait.group, wait.rank), 2)
        for rank in wait.unseen if not wait.absent and (len(wait.unseen) == 1 or len(wait.unseen) < most) else ():
            blamed.setdefault(rank, []).append(wait)
    own = {wait.rank for wait in waits}
    present = frozenset(dumps.ranks)
    for rank, found in sorted(blamed.items()):
        if rank not in own and rank not in outdated:
            yield _unseen(rank, found, present, rank in dumps.lost, doubted)


def _unseen(rank: int, found: Sequence[Wait], present: frozenset[int], lost: bool, doubted: Sequence[int]) -> Suspect:
    """A rank that alone can be lacking, its dump being absent, unreadable, or silent about the group."""
    first = min(found, key=lambda wait: wait.order)
    waiting = {wait.rank for wait in found}
    there = f"{words.ranks(waiting)} {words.verb(waiting, 'wait')} in {step(first)}, and every other member with a dump is there"
    if rank in present:
        reason = f"its dump does not tell how far it came in {first.group}; {there}; {NEEDS_FINISHED}"
    elif lost:
        reason = f"its dump cannot be read; {there}; needed: a readable dump of rank {rank}"
    elif doubted:
        reason = f"left no dump; {there}; but {words.ranks(doubted)} seem to wait for each other; needed: the dump of rank {rank}"
    else:
        evidence = (f"dumps of {words.ranks(present)}, none of rank {rank}",)
        return Suspect(rank=rank, strength="likely", reason=f"left no dump (dead, blocked, or still in teardown); {there}", evidence=evidence)
    return Suspect(rank=rank, strength="cannot-tell", reason=reason)


def of_late(found: Sequence[Late]) -> Iterator[Suspect]:
    """Ranks that came to an operation after the others had waited for half of its timeout or longer."""
    for one in {late.rank: late for late in reversed(found)}.values():
        clock = f", its clock being {words.seconds(abs(one.offset))} {'ahead' if one.offset > 0 else 'behind'}" if abs(one.offset) > 5e7 else ""
        reason = f"came {words.seconds(one.by)} after the others to {one.what or 'an operation'}, sequence {one.sequence}, of {one.group}{clock}"
        yield Suspect(rank=one.rank, strength="likely", reason=reason, evidence=(f"timeout {one.timeout_ms / 1000:.0f} s",))


def unnamed(reason: str, evidence: Sequence[str] = ()) -> Suspect:
    """That no rank can be named, why, and what would be needed."""
    return Suspect(rank=NO_RANK, strength="cannot-tell", reason=reason, evidence=tuple(evidence))

