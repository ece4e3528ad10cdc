"""Who waits for whom: every operation that a rank has entered and not finished, and the members that hold it up."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from triage.parsers.flight_recorder.records import Lane, Recording, Transfer
from triage.verdict.dumps.groups import STATUS_SINCE
from triage.verdict.dumps.records import Difference, Group, Position, Wait
from triage.verdict.dumps.rings import short

Pair = tuple[str, str, int, int]  # group, send or recv, source and target as global ranks


def waits(group: Group, difference: Difference | None, recordings: Mapping[int, Recording], full: set[str]) -> list[Wait]:
    """What each member of the group waits in. From the operation on that members do differently, the odd ones count as absent.

    Where the recorder does not tell finished from failed and all has ended, members that never entered an operation in which
    nobody can do without them (its name is in `full`) still tell that the others waited for them.
    """
    found = []
    absence = _Absence(group, difference, recordings)
    for rank, position in sorted(group.positions.items()):
        sequence = front(group, rank, position)
        if sequence is not None and not (difference and rank in difference.odd and sequence >= difference.sequence):
            found.append(_wait(group, rank, sequence, absence, recordings))
    return found or list(_past_waits(group, recordings, full))


def _past_waits(group: Group, recordings: Mapping[int, Recording], full: set[str]) -> Iterator[Wait]:
    entered = [position.entered for position in group.positions.values()]
    if group.trusted or not entered or min(entered) == max(entered):
        return
    sequence = min(entered) + 1
    absence = _Absence(group, None, recordings)
    for rank, position in sorted(group.positions.items()):
        if position.entered >= sequence and operation_of(group.lanes.get(rank), sequence, recordings[rank]) in full:
            yield msgspec.structs.replace(_wait(group, rank, sequence, absence, recordings), guessed=True)


def front(group: Group, rank: int, position: Position) -> int | None:
    """The first operation that `rank` entered and has not finished; None where it has finished all."""
    if position.done >= position.entered:
        return None
    lane = group.lanes.get(rank)
    if lane is not None and lane.front is not None and lane.front.sequence > position.done:
        return lane.front.sequence
    return None if position.vague else position.done + 1


class _Absence:
    """Who has not entered an operation of a group, one set for all ranks that wait in it: of many ranks, many sets would be many times as many."""

    def __init__(self, group: Group, difference: Difference | None, recordings: Mapping[int, Recording]) -> None:
        self._group, self._difference, self._recordings = group, difference, recordings
        self._before: dict[int, frozenset[int]] = {}
        self._nobody = frozenset({*group.members} - {*group.positions}) | group.unseen
        self._old = any(r.version < STATUS_SINCE and r.wrapped for rank in group.positions if (r := recordings.get(rank)))

    def of(self, sequence: int, created: int) -> tuple[frozenset[int], frozenset[int], bool]:
        """For who enqueued `sequence` at `created`: members known to be absent, else those whose dumps do not tell, and whether this is a guess."""
        if self._difference is not None and sequence >= self._difference.sequence:
            absent = frozenset(self._difference.odd)
        else:
            absent = self._not_yet(sequence)
            if self._old:
                absent = frozenset(other for other in absent if not ran_past(self._recordings[other], created))
        guessed = not absent and bool(self._group.candidates)
        absent = self._group.candidates if guessed else absent
        return absent, frozenset() if absent else self._nobody, guessed

    def _not_yet(self, sequence: int) -> frozenset[int]:
        if sequence not in self._before:
            self._before[sequence] = frozenset(rank for rank, p in self._group.positions.items() if p.entered < sequence)
        return self._before[sequence]


def _wait(group: Group, rank: int, sequence: int, absence: _Absence, recordings: Mapping[int, Recording]) -> Wait:
    lane = group.lanes.get(rank)
    created = created_at(lane, sequence)
    absent, unseen, guessed = absence.of(sequence, created)
    what = operation_of(lane, sequence, recordings[rank])
    return Wait(
        rank=rank,
        group=group.label,
        what=what,
        sequence=sequence,
        created=created,
        absent=absent,
        unseen=unseen,
        sibling=(group.label, what, sequence),
        guessed=guessed,
    )


def ran_past(recording: Recording, created: int) -> bool:
    """Whether the rank's ring holds only operations made after `created`, and nothing else tells what it did before."""
    return recording.version < STATUS_SINCE and recording.wrapped and bool(created) and recording.oldest > created


def created_at(lane: Lane | None, sequence: int) -> int:
    """When the rank enqueued the operation, in ns on its own clock; 0 where the ring no longer has it."""
    index = row_of(lane, sequence)
    return lane.times()[index] if lane is not None and index is not None else 0


def row_of(lane: Lane | None, sequence: int) -> int | None:
    """The row of the operation with this number in a lane."""
    if lane is None:
        return None
    numbers = lane.numbers()
    index = bisect_left(numbers, sequence)
    return index if index < len(numbers) and numbers[index] == sequence else None


def operation_of(lane: Lane | None, sequence: int, recording: Recording) -> str:
    """The name of an operation of the lane, empty where the ring no longer has it."""
    index = row_of(lane, sequence)
    if lane is None or index is None:
        return ""
    signature = recording.signatures.get(lane.keys()[index])
    return signature.operation if signature else ""


def stuck_on_device(
    group: Group, difference: Difference | None, recordings: Mapping[int, Recording], full: set[str]
) -> dict[int, tuple[int, int]]:
    """Members that have not finished an operation that others have, though it needs every member: rank to (the operation, most done).

    Only where the recorder tells finished from failed, and only for operations whose name is in `full`. What a rank that does
    something else has finished is another operation, and says nothing here.
    """
    if not group.trusted or (difference is not None and not difference.odd):
        return {}
    positions = {rank: p for rank, p in group.positions.items() if difference is None or rank not in difference.odd}
    most = max((p.done for p in positions.values()), default=0)
    held = {}
    for rank, position in positions.items():
        first = front(group, rank, position)
        if first is not None and first <= most and needs_everyone(group, first, recordings, full):
            held[rank] = (first, most)
    return held


def needs_everyone(group: Group, sequence: int, recordings: Mapping[int, Recording], full: set[str]) -> bool:
    """Whether the operation is one, by all names that the members' dumps have for it, that no member can finish without all."""
    names = {name for rank, lane in group.lanes.items() if (name := operation_of(lane, sequence, recordings[rank]))}
    return bool(names) and names <= full


def transfer_waits(opened: Mapping[Pair, Sequence[Transfer]], recordings: Sequence[Recording]) -> Iterator[Wait]:
    """Sends and receives that wait for the other side, paired in order: who has fewer open than its partner owes the rest.

    Nobody owes what its ring may have lost: rings that begin later; of short ones it is a guess.
    """
    present = {recording.rank for recording in recordings if not recording.cut}
    lacking = short(recordings)
    begin = {r.rank: r.oldest for r in recordings if r.wrapped and (r.rank in lacking or not r.only_active)}
    for pair, found in sorted(opened.items()):
        _, kind, source, target = pair
        rank, other = (source, target) if kind == "send" else (target, source)
        owing = {other} if len(opened.get(opposite(pair), ())) < len(found) else set()
        seen = owing & present if begin.get(other, 0) <= found[0].created else set()
        yield _transfer_wait(found[0], rank, seen, owing - seen, guessed=bool(seen & lacking))


def misfits(opened: Mapping[Pair, Sequence[Transfer]]) -> Iterator[tuple[Pair, Transfer, Transfer]]:
    """The first send and receive of a pair that are both open and do not carry the same number of elements."""
    for pair, found in sorted(opened.items()):
        other = opened.get(opposite(pair), ())
        if pair[1] == "send" and other and elements(found[0].sizes) != elements(other[0].sizes):
            yield pair, found[0], other[0]


def elements(sizes: Sequence[Sequence[int]]) -> int:
    """Elements of all tensors together."""
    return sum(math.prod(dimensions) for dimensions in sizes)


def opposite(pair: Pair) -> Pair:
    """The receive that belongs to a send, and the other way round."""
    name, kind, source, target = pair
    return name, "recv" if kind == "send" else "send", source, target


def open_transfers(groups: Sequence[Group], recordings: Sequence[Recording]) -> dict[Pair, list[Transfer]]:
    """Sends and receives that have not ended, in order, by group, direction and the two ranks."""
    members = {(group.name, rank): group.members for group in groups for rank in group.members}
    opened: dict[Pair, list[Transfer]] = {}
    for recording in recordings:
        for transfer in recording.transfers:
            pair = _global_pair(transfer, members.get((transfer.name, recording.rank)))
            if pair is not None and recording.rank == pair[transfer.kind == "recv"]:
                opened.setdefault((transfer.name, transfer.kind, *pair), []).append(transfer)
    return opened


def _global_pair(transfer: Transfer, members: Sequence[int] | None) -> tuple[int, int] | None:
    """Source and target as global ranks; the recorder has them as ranks inside the group."""
    if members is None or max(transfer.source, transfer.target) >= len(members):
        return None
    return members[transfer.source], members[transfer.target]


def _transfer_wait(transfer: Transfer, rank: int, absent: set[int], unseen: set[int], *, guessed: bool) -> Wait:
    arrow = f"{transfer.source}->{transfer.target}" if transfer.kind == "send" else f"{transfer.target}<-{transfer.source}"
    return Wait(
        rank=rank,
        group=f"{transfer.name} ({transfer.desc})" if transfer.desc else transfer.name,
        what=f"{transfer.kind} {arrow}",
        sequence=transfer.sequence,
        created=transfer.created,
        absent=frozenset(absent),
        unseen=frozenset(unseen),
        sibling=(transfer.desc, f"{transfer.kind} {arrow}", transfer.sequence),
        transfer=transfer,
        guessed=guessed,
    )
