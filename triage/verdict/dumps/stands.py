"""Where each rank stands in each process group, as the noun that incidents carry: what the log's watchdog lines are held against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from triage.model import Stand
from triage.parsers.flight_recorder.records import Transfer
from triage.verdict.dumps.records import Group
from triage.verdict.dumps.waits import Pair, front


def stands(groups: Sequence[Group], opened: Mapping[Pair, Sequence[Transfer]]) -> Iterator[Stand]:
    """One stand for each group, with the members whose dumps tell how far they came or hold an open send or receive."""
    exchanging = _first_open(opened)
    for group in groups:
        ranks = tuple(rank for rank in group.members if rank in group.positions or (group.name, rank) in exchanging)
        if ranks:
            yield Stand(
                group=group.name,
                ranks=ranks,
                entered=tuple(group.positions[rank].entered if rank in group.positions else 0 for rank in ranks),
                done=tuple(_done(group, rank) for rank in ranks),
                exchanges=tuple(exchanging.get((group.name, rank), 0) for rank in ranks),
            )


def _first_open(opened: Mapping[Pair, Sequence[Transfer]]) -> dict[tuple[str, int], int]:
    first: dict[tuple[str, int], int] = {}
    for (name, kind, source, target), transfers in opened.items():
        key = (name, source if kind == "send" else target)
        first[key] = min(first.get(key, transfers[0].sequence), transfers[0].sequence)
    return first


def _done(group: Group, rank: int) -> int:
    position = group.positions.get(rank)
    if position is None:
        return 0
    first = front(group, rank, position)
    return position.done if first is None else first - 1
