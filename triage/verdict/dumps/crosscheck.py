"""Two witnesses of one hang held against each other: what the watchdog wrote into the log, and where the dumps say that each rank stands.

A watchdog line (ProcessGroupNCCL.cpp) tells the number of an operation inside its process group, the line with the group's position
also the group's name, which is its name in the dumps. Numbers of collectives are compared with collectives, those of sends and
receives with these. What the log says of the last enqueued work is not compared: a host may go on enqueueing until it dumps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from triage.model import Dump, Event, Incident, Stand
from triage.verdict.dumps import words

TRANSFERS = ("SEND", "RECV")
EITHER = "COALESCED"  # a batch of collectives, or of sends and receives
SHOWN = 4
PLURAL = {"has": "have", "waits": "wait", "is": "are"}


class Mark(msgspec.Struct, frozen=True, order=True):
    """An operation that the log calls timed out: its group (empty where no line names it), number, names, and the ranks that say so."""

    group: str
    sequence: int
    operations: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """What the dumps say to one mark of the log. `agrees` is None where they cannot tell; `others` says which ranks differ, and how."""

    mark: Mark
    agrees: bool | None
    text: str
    same: tuple[int, ...] = ()
    others: tuple[tuple[int, str], ...] = ()


def crosscheck(incident: Incident) -> tuple[Agreement, ...]:
    """One agreement for each operation that the incident's log calls timed out; none where log or dumps are lacking."""
    dump, marks = incident.dump or incident.idle_dump, _marks(incident.events)
    if dump is None or not dump.stands:
        return ()
    heard = {(mark.group, rank) for mark in marks for rank in mark.ranks}
    return tuple(_held_against(mark, dump, {rank for group, rank in heard if group == mark.group}) for mark in marks)


def _marks(events: Iterable[Event]) -> list[Mark]:
    """The marks of all watchdog lines; a line without a group belongs to that of the same rank and number."""
    told = [e for e in events if e.kind == "death" and e.data.get("seq", "").isdecimal()]
    groups = {(e.rank, e.data["seq"]): name for e in told if (name := e.data.get("pg_name") or e.data.get("pg", ""))}
    together: dict[tuple[str, int], list[Event]] = {}
    for event in told:
        together.setdefault((groups.get((event.rank, event.data["seq"]), ""), int(event.data["seq"])), []).append(event)
    return sorted(
        Mark(*key, tuple(sorted({e.data["op"] for e in of if e.data.get("op")})), tuple(sorted({e.rank for e in of if e.rank is not None})))
        for key, of in together.items()
    )


def _held_against(mark: Mark, dump: Dump, heard: set[int]) -> Agreement:
    stands = _of_that_name(mark, dump) if mark.group else _where_it_fits(mark, dump)
    head = f"log: {_named(mark)}"
    if len({stand.group for stand in stands}) != 1:
        lacks = f"none tells of group {mark.group}" if mark.group else f"the line names no group, and the number fits {_several(stands)}"
        return Agreement(mark=mark, agrees=None, text=f"{head}; dumps: {lacks}")
    places = {rank: _place(stand, i, mark) for stand in stands for i, rank in enumerate(stand.ranks)}
    asked = [rank for rank in mark.ranks or places if rank in places]
    same = tuple(rank for rank in asked if not places[rank])
    others = tuple((rank, places[rank]) for rank in asked if places[rank]) if mark.ranks or not same else ()
    where = "" if mark.group else f" in group {stands[0].group}"
    said = [f"the same{where}" + (f" for {words.ranks(same)}" if others or not mark.ranks else "")] if same else []
    said += [*_alike(others), *_besides(mark, places, heard)]
    return Agreement(mark=mark, agrees=not others if asked else None, text=f"{head}; dumps: {'; '.join(said)}", same=same, others=others)


def _of_that_name(mark: Mark, dump: Dump) -> list[Stand]:
    """The groups of the mark's name, of several those that its ranks belong to: groups of other ranks may share a name."""
    named = [stand for stand in dump.stands if stand.group == mark.group]
    return [stand for stand in named if {*stand.ranks} & {*mark.ranks}] or named


def _where_it_fits(mark: Mark, dump: Dump) -> list[Stand]:
    """Groups in which every rank of the log that belongs to it stands at the number."""
    found = []
    for stand in dump.stands:
        places = [_place(stand, i, mark) for i, rank in enumerate(stand.ranks) if rank in mark.ranks or not mark.ranks]
        if places and (not any(places) if mark.ranks else not all(places)):
            found.append(stand)
    return found


def _place(stand: Stand, index: int, mark: Mark) -> str:
    """Nothing where the rank stands in the operation of the mark, else where it stands instead."""
    entered, done, exchange = stand.entered[index], stand.done[index], stand.exchanges[index]
    if {*TRANSFERS, EITHER} & {*mark.operations} and 0 < exchange <= mark.sequence:
        return ""
    if {*TRANSFERS} & {*mark.operations}:
        return f"waits in no send or receive up to {mark.sequence}"
    if done >= mark.sequence:
        return f"has finished {done}"
    if entered < mark.sequence:
        return f"has entered {entered} at most" if entered > 0 else "has entered none"
    return "" if done == mark.sequence - 1 else f"waits in {done + 1}, before it"


def _named(mark: Mark) -> str:
    group = f" of group {mark.group}" if mark.group else ""
    operation = f" ({'/'.join(mark.operations)})" if mark.operations else ""
    return f"sequence {mark.sequence}{group}{operation}" + (f" on {words.ranks(mark.ranks)}" if mark.ranks else "")


def _several(stands: Iterable[Stand]) -> str:
    names = sorted({stand.group for stand in stands})
    return f"groups {', '.join(names[:SHOWN])}" if names else "none"


def _besides(mark: Mark, places: Mapping[int, str], heard: set[int]) -> Iterator[str]:
    """Ranks of the log without a dump that tells, and ranks of the dumps of which the log has no line."""
    if gone := [rank for rank in mark.ranks if rank not in places]:
        yield f"none tells where {words.ranks(gone)} {words.verb(gone, 'stand')}"
    silent = [(rank, place or "is there too") for rank, place in places.items() if mark.ranks and rank not in heard]
    yield from (f"{said} (without a line in the log)" for said in _alike(silent))


def _alike(others: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Ranks that stand elsewhere, those at one place together."""
    together: dict[str, list[int]] = {}
    for rank, place in others:
        together.setdefault(place, []).append(rank)
    yield from (f"{words.ranks(found)} {place if len(found) == 1 else _plural(place)}" for place, found in list(together.items())[:SHOWN])


def _plural(place: str) -> str:
    verb, _, rest = place.partition(" ")
    return f"{PLURAL[verb]} {rest}"
