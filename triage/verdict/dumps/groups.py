"""Process groups out of the dumps of all ranks: who belongs to each, and how far each member came.

A group is its name and its members, since groups on other ranks may share a name. Members come from `pg_config`; where that is
wrong, as gloo's is, they are inferred from entries and from the numbers that a rank gives its groups. `record_id` is never compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

import msgspec

from triage.parsers.flight_recorder.records import RETIRED, Lane, RankDumps, Recording
from triage.verdict.dumps.records import Group, Position
from triage.verdict.dumps.rings import short

STATUS_SINCE = (2, 3)  # the version that brought pg_status
LARGEST_JOB = 1 << 16  # ranks: a number in a file's name beyond it is hardly a rank, and tells of none below it

PASSED = 2  # operations after one in which two ranks differ, from which on it did not stop them

Links = Mapping[str, int]


class Known(msgspec.Struct, frozen=True):
    """A recording, the rank's own numbers of its groups, and whether its ring may have lost operations that are under way."""

    recording: Recording
    links: Links
    short: bool


def groups(dumps: RankDumps) -> list[Group]:
    """Every group of more than one member that a dump knows, ordered by name."""
    members = _members(dumps)
    peers = _described(dumps.recordings)
    lacking = short(dumps.recordings)
    known = {r.rank: Known(r, numbers(r, peers[frozenset(r.status)]), r.rank in lacking) for r in dumps.recordings}
    everyone = world(dumps)
    found = [_group(dumps, name, desc, ranks, told, known, everyone) for (name, desc, ranks, told) in members]
    return sorted((g for g in found if len(g.members) > 1 or not g.whole), key=lambda g: (len(g.name), g.name, g.members))


def world(dumps: RankDumps) -> frozenset[int]:
    """All ranks of the job as far as the dumps tell: named as members, present, lost, or in a gap between these."""
    known = told_ranks(dumps) | {*dumps.ranks, *dumps.lost, *range(dumps.world or 0)}
    return frozenset(known | set(range(max((rank for rank in known if rank < LARGEST_JOB), default=-1) + 1)))


def told_ranks(dumps: RankDumps) -> frozenset[int]:
    """Ranks that some dump names as a member of a group, right or wrong."""
    return frozenset[int]().union(*{config.ranks for r in dumps.recordings for config in r.config.values()})


def _described(recordings: Iterable[Recording]) -> dict[frozenset[int], dict[tuple[int, str], None]]:
    """What the numbers of groups stand for (number and description, the first rank's first), by the set of numbers that ranks have."""
    told: dict[frozenset[int], dict[tuple[int, str], None]] = {}
    for recording in recordings:
        told.setdefault(frozenset(recording.status), {}).update(dict.fromkeys((number, desc) for number, (_, desc) in recording.links.items()))
    return told


def numbers(recording: Recording, peers: Iterable[tuple[int, str]]) -> dict[str, int]:
    """The rank's own number of each of its groups, by name.

    Entries link the two. A rank without entries: groups get their numbers in the order in which they are made, and so do names
    that are numbers; else `peers` with the same numbers tell which is which by description.
    """
    own = {name: number for number, (name, _) in recording.links.items()}
    named = [name for name in recording.config if name.isdecimal()]
    if named and len(named) == len(recording.config) == len(recording.status):
        ordered = dict(zip(sorted(named, key=int), sorted(recording.status), strict=True))
        if all(ordered.get(name) == number for name, number in own.items()):
            return ordered
    by_desc = Counter(config.desc for config in recording.config.values())
    for number, desc in peers:
        if by_desc[desc] == 1 and number not in own.values():
            own.setdefault(next(name for name, config in recording.config.items() if config.desc == desc), number)
    return own


def _members(dumps: RankDumps) -> list[tuple[str, str, tuple[int, ...], bool]]:
    """Name, description and members of each group, and whether the members were told."""
    told: dict[tuple[str, tuple[int, ...]], str] = {}
    for recording in dumps.recordings:
        for name, config in recording.config.items():
            if name and _has(config.ranks, recording.rank):
                told[name, config.ranks] = config.desc
    covered = {(name, rank) for name, ranks in told for rank in ranks}
    loose: dict[tuple[str, str], set[int]] = {}
    for recording in dumps.recordings:
        for lane in recording.lanes:
            if (lane.name, recording.rank) not in covered:
                loose.setdefault((lane.name, lane.desc), set()).add(recording.rank)
    inferred = [(name, desc, tuple(sorted(ranks)), False) for (name, desc), seen in loose.items() for ranks in _inferred(dumps, name, desc, seen)]
    return [(name, desc, ranks, True) for (name, ranks), desc in told.items()] + inferred


def _has(ranks: tuple[int, ...], rank: int) -> bool:
    """Whether `rank` is one of `ranks`, which are in order."""
    index = bisect_left(ranks, rank)
    return index < len(ranks) and ranks[index] == rank


def _inferred(dumps: RankDumps, name: str, desc: str, seen: set[int]) -> list[set[int]]:
    """Members of a group that no dump lists: who has entries, everyone in the default group, and whose numbering has room for it.

    Several groups where ranks with entries went on after they had done different things: these share no more than the name.
    """
    if desc == "default_pg":
        return [set(world(dumps))]
    parties: list[tuple[Recording, Lane, set[int]]] = []
    for recording, lane in ((r, lane) for r in dumps.recordings if r.rank in seen for lane in r.lanes if lane.name == name):
        known = next((ranks for of, first, ranks in parties if not _strangers(of, first, recording, lane)), None)
        if known is None:
            parties.append((recording, lane, {recording.rank}))
        else:
            known.add(recording.rank)
    if len(parties) > 1:
        return [ranks for _, _, ranks in parties]
    return [seen | {r.rank for r in dumps.recordings if own_number(r, name) is not None}]


def _strangers(of: Recording, one: Lane, of_other: Recording, other: Lane) -> bool:
    """Whether two ranks called different operations and then finished others: members of one group would have come to a halt there."""
    if one.signatures == other.signatures:
        return False
    ended = min(lane.front.sequence - 1 if lane.front else max(lane.numbers(), default=0) for lane in (one, other))
    keys = dict(zip(one.numbers(), one.keys(), strict=True))
    both = ((keys[s], key) for s, key in zip(other.numbers(), other.keys(), strict=True) if s + PASSED <= ended and s in keys)
    return any(a != b and of.signatures[a].operation != of_other.signatures[b].operation for a, b in both)


def own_number(recording: Recording, name: str) -> int | None:
    """The number that `recording`'s rank must have given to group `name`, where its other groups leave only that.

    Names that are numbers count all groups of the job, a rank's own numbers only those it belongs to: where both grow by the
    same amount from one of its groups to the next, it belongs to all groups in between.
    """
    if not name.isdecimal():
        return None
    pairs = sorted({(number, int(other)) for number, (other, _) in recording.links.items() if other.isdecimal()} | {(0, 0)})
    for (number, first), (later, second) in pairwise(pairs):
        if first <= int(name) <= second and later - number == second - first:
            return number + int(name) - first
    return None


def _group(
    dumps: RankDumps, name: str, desc: str, members: tuple[int, ...], told: bool, known: Mapping[int, Known], everyone: frozenset[int]
) -> Group:
    by_rank = {rank: known[rank].recording for rank in members if rank in known}
    lanes = {rank: lane for rank, r in by_rank.items() for lane in r.lanes if lane.name == name}
    mixed = any(name in r.exchanges or (name in r.exchanging and known[rank].short) for rank, r in by_rank.items())
    positions = {rank: p for rank in by_rank if (p := _position(known[rank], name, lanes.get(rank), mixed)) is not None}
    whole = told or (desc == "default_pg" and knows_world(dumps))
    used = any(p.done > 0 for p in positions.values())
    others = [r for r in dumps.recordings if r.rank not in members and not used and not _excluded(r, name)] if not whole else []
    return Group(
        name=name,
        desc=desc,
        members=members,
        told=told,
        whole=whole,
        candidates=frozenset(r.rank for r in others),
        unseen=frozenset() if whole else everyone - {*dumps.ranks},
        lanes=lanes,
        positions=positions,
        trusted=all(lane.timed for lane in lanes.values()) and (bool(lanes) or all(r.timed for r in by_rank.values())),
    )


def knows_world(dumps: RankDumps) -> bool:
    """Whether all ranks of the job are known and not only those that left something."""
    return world(dumps) <= (set(range(dumps.world)) if dumps.world is not None else told_ranks(dumps))


def _excluded(recording: Recording, name: str) -> bool:
    """Whether the numbering of the rank's groups leaves no room for group `name`; see `own_number`."""
    return name.isdecimal() and own_number(recording, name) is None and int(name) < max(_named_numbers(recording), default=0)


def _named_numbers(recording: Recording) -> list[int]:
    return [int(name) for name, _ in recording.links.values() if name.isdecimal()]


def _position(known: Known, name: str, lane: Lane | None, mixed: bool) -> Position | None:
    """Where the rank is in the group, None where its dump cannot tell.

    `pg_status` counts sends and receives too, so in a group that has them (`mixed`) only entries count.
    """
    recording = known.recording
    number = known.links.get(name, own_number(recording, name))
    status = None if mixed or number is None else recording.status.get(number)
    seen = _by_entries(lane, known.short) if lane else Position(0, 0)
    if status is not None:
        return Position(max(seen.entered, status.enqueued), max(seen.done, status.completed))
    if recording.cut:
        return None
    if lane is not None and (lane.sequences or lane.carried):
        return seen
    if mixed:
        return None
    if recording.version < STATUS_SINCE:
        return Position(0, 0) if recording.entries and not recording.wrapped else None
    never = name not in recording.config if _names_groups(recording) else number is not None
    return Position(0, 0) if never or (name in recording.config and _holds_all(known)) else None


def _holds_all(known: Known) -> bool:
    """Whether what the rank waits in must be among its entries: they go back to the first one, or are only those that have not ended."""
    recording = known.recording
    return recording.entries > 0 and not known.short and (recording.only_active or not recording.wrapped)


def _names_groups(recording: Recording) -> bool:
    """Whether pg_config is of use: gloo writes one nameless group."""
    return any(recording.config) or not recording.links


def _by_entries(lane: Lane, short: bool) -> Position:
    """By what the lane holds. What is before the first operation that has not ended, has ended, unless the ring lost it (`short`)."""
    newest = max(lane.numbers(), default=0)
    entered = max(newest, lane.carried)
    if lane.front is None:
        return Position(entered, newest if short else entered, vague=short and entered > newest)
    lost = short and lane.progress[0] < RETIRED and lane.numbers()[0] > 1
    return Position(entered, 0 if lost else lane.front.sequence - 1, vague=lost)
