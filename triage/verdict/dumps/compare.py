"""Where members of a group do not do the same: another operation, size or dtype at one sequence number, judged by majority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triage.parsers.flight_recorder.records import RETIRED, Lane, Recording, Signature
from triage.verdict.dumps import words
from triage.verdict.dumps.records import Difference, Group
from triage.verdict.dumps.waits import elements, row_of

# Which sizes have to agree, by the operation's name. Of those not named here: both inputs and outputs.
INPUTS_DIFFER = frozenset({"scatter", "all_to_all", "all_to_all_single", "all_to_all_v_single", "alltoall", "alltoall_base", "all_gather_v"})
OUTPUTS_DIFFER = frozenset({"gather", "all_to_all", "all_to_all_single", "all_to_all_v_single", "alltoall", "alltoall_base", "reduce_scatter_v"})
# Sizes that may legitimately differ when the operation went through all the same.
UNEVEN = frozenset({"all_gather", "reduce_scatter", "all_gather_v", "reduce_scatter_v", "gather", "scatter"})
EXCHANGES = frozenset({"all_to_all", "all_to_all_single", "all_to_all_v_single", "alltoall", "alltoall_base"})
GATHERS = frozenset({"_all_gather_base", "all_gather_into_tensor_coalesced", "all_gather_single"})
SCATTERS = frozenset({"_reduce_scatter_base", "reduce_scatter_tensor_coalesced", "reduce_scatter_single"})
# No member can finish one of these before every member has entered it.
FULL = {
    "all_reduce", "allreduce_coalesced", "all_reduce_barrier", "barrier", "all_gather", "reduce_scatter", "ALLGATHER_coalesced",
    "REDUCE_SCATTER_coalesced", *GATHERS, *SCATTERS, *EXCHANGES,
}  # fmt: skip


def difference(group: Group, recordings: Mapping[int, Recording]) -> Difference | None:
    """The first operation of the group that its members do differently, None where they agree on all that their rings hold."""
    settled: set[tuple[frozenset[int], bool]] = set()
    for sequence in _odd(group.lanes.values()):
        rows = {rank: index for rank, lane in group.lanes.items() if (index := row_of(lane, sequence)) is not None}
        keys = frozenset(group.lanes[rank].keys()[index] for rank, index in rows.items())
        over = all(group.lanes[rank].progress[index] >= RETIRED for rank, index in rows.items())
        if (keys, over) in settled:
            continue
        signatures = {rank: _signature(group.lanes[rank], index, sequence, recordings[rank]) for rank, index in rows.items()}
        found = _sides(group, sequence, {rank: s for rank, s in signatures.items() if s is not None}, over)
        if found is not None:
            return found
        settled.add((keys, over))
    return _against_itself(group)


def _odd(lanes: Iterable[Lane]) -> list[int]:
    """Numbers at which some lane does something else than another."""
    seen: dict[int, int] = {}
    odd: set[int] = set()
    compared: set[tuple[bytes, bytes]] = set()
    for lane in lanes:
        if (lane.sequences, lane.signatures) in compared:
            continue
        compared.add((lane.sequences, lane.signatures))
        odd.update(s for s, key in zip(lane.numbers(), lane.keys(), strict=True) if seen.setdefault(s, key) != key)
    return sorted(odd)


def _signature(lane: Lane, index: int, sequence: int, recording: Recording) -> Signature | None:
    """What the row does; in full where the lane keeps it, since rows of one key may have other sizes."""
    kept = next((op.signature for op in (lane.front, lane.last) if op is not None and op.sequence == sequence), None)
    return kept or recording.signatures.get(lane.keys()[index])


def _sides(group: Group, sequence: int, signatures: Mapping[int, Signature], over: bool) -> Difference | None:
    """The first thing in which the members' signatures differ."""
    for kind, telling in (("operation", _operation), ("size", _elements), ("dtype", _dtypes)):
        parties: dict[object, list[int]] = {}
        for rank, signature in sorted(signatures.items()):
            if (told := telling(signature)) is not None:
                parties.setdefault(told, []).append(rank)
        if len(parties) < 2:
            continue
        ordered = sorted(parties.values(), key=lambda ranks: (-len(ranks), ranks))
        if over and group.trusted and kind != "operation":
            return None
        if over and kind == "size" and any(s.operation in UNEVEN for s in signatures.values()):
            return None
        sides = tuple((_told(kind, signatures[ranks[0]]), tuple(ranks)) for ranks in ordered)
        return Difference(group=group.label, sequence=sequence, kind=kind, sides=sides, odd=_minority(ordered), ended=over)  # type: ignore[arg-type]
    return None


def _minority(ordered: list[list[int]]) -> tuple[int, ...]:
    """Everyone outside the biggest party; nobody where two are equally big."""
    if len(ordered[0]) == len(ordered[1]):
        return ()
    return tuple(sorted(rank for ranks in ordered[1:] for rank in ranks))


def _operation(signature: Signature) -> object:
    return signature.operation


def _elements(signature: Signature) -> object:
    """Elements going in and out, as far as they have to agree; the same number in another shape is the same to the network."""
    inputs = -1 if signature.operation in INPUTS_DIFFER else elements(signature.input_sizes)
    outputs = -1 if signature.operation in OUTPUTS_DIFFER else elements(signature.output_sizes)
    return inputs, outputs


def _dtypes(signature: Signature) -> object:
    """Dtypes in any order; None where an old recorder has none, which agrees with all."""
    found = {*signature.input_dtypes, *signature.output_dtypes}
    return tuple(sorted(found)) or None


def _told(kind: str, signature: Signature) -> str:
    if kind == "operation":
        return signature.operation
    return " ".join(dict.fromkeys((*signature.input_dtypes, *signature.output_dtypes))) if kind == "dtype" else words.size(signature)


def _against_itself(group: Group) -> Difference | None:
    """Members whose own input and output of the operation they are stuck in do not fit each other and the size of the group."""
    fronts = {rank: lane.front for rank, lane in sorted(group.lanes.items()) if lane.front is not None}
    odd = [rank for rank, front in fronts.items() if not _fits(front.signature, len(group.members))]
    if not group.told or not odd or len(odd) == len(fronts):
        return None
    front = fronts[odd[0]]
    sides = ((words.size(front.signature), tuple(odd)),)
    return Difference(group=group.label, sequence=front.sequence, kind="own sizes", sides=sides, odd=tuple(odd), ended=False)


def _fits(signature: Signature, members: int) -> bool:
    inputs, outputs = elements(signature.input_sizes), elements(signature.output_sizes)
    if not signature.input_sizes or not signature.output_sizes:
        return True
    if signature.operation in {"all_reduce", "allreduce_coalesced"}:
        return inputs == outputs
    if signature.operation in GATHERS:
        return outputs == inputs * members
    return inputs == outputs * members if signature.operation in SCATTERS else True


def exchange_totals(group: Group, sequence: int) -> tuple[int, int] | None:
    """Elements that all members together put into an all-to-all and expect out of it; None where a member's entry is lacking."""
    kept = [op for lane in group.lanes.values() for op in {lane.front, lane.last} - {None} if op is not None and op.sequence == sequence]
    signatures = [op.signature for op in kept]
    if not group.whole or len(signatures) != len(group.members) or any(s.operation not in EXCHANGES for s in signatures):
        return None
    return sum(elements(s.input_sizes) for s in signatures), sum(elements(s.output_sizes) for s in signatures)
