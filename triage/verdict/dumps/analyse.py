"""What the dumps of one hang say: stuck groups, suspects by the order of the evidence, and what limits the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from triage.model import Suspect
from triage.parsers.flight_recorder.records import SCHEDULED, Operation, RankDumps, Recording, Signature, Transfer
from triage.verdict.dumps import suspects as from_evidence
from triage.verdict.dumps import words
from triage.verdict.dumps.blame import Blame, blame
from triage.verdict.dumps.compare import FULL, difference, exchange_totals
from triage.verdict.dumps.groups import STATUS_SINCE, knows_world, world
from triage.verdict.dumps.groups import groups as groups_of
from triage.verdict.dumps.lateness import late
from triage.verdict.dumps.moments import outdated, without
from triage.verdict.dumps.order import turned
from triage.verdict.dumps.records import Difference, Findings, Group, StuckGroup, Wait
from triage.verdict.dumps.rings import may_wait_unseen
from triage.verdict.dumps.stands import stands
from triage.verdict.dumps.waits import misfits, open_transfers, ran_past, stuck_on_device, transfer_waits, waits
from triage.verdict.recorder import OUTSIDE, VISIBLE

NO_COMPLETION = (
    "this recorder does not tell a finished operation from one that failed or timed out (gloo, hooks): dumps taken after the exception hide who hung"
)


class Evidence:
    """Everything that is derived from the dumps once and looked at from several sides."""

    def __init__(self, dumps: RankDumps) -> None:
        self.dumps = dumps
        self.recordings: Mapping[int, Recording] = {r.rank: r for r in dumps.recordings}
        found = groups_of(dumps)
        unlike = [difference(group, self.recordings) for group in found]
        self.outdated = outdated(found, unlike, self.recordings, FULL)
        self.groups: Sequence[Group] = without(found, self.outdated)
        self.devices: dict[int, list[tuple[Group, int, int]]] = {}  # group, first operation not finished, most that others have
        self.waits: list[Wait] = []
        self.differences: list[Difference] = []
        self.by_member = {(group.label, rank): group for group in self.groups for rank in group.members}
        for group, differs in zip(self.groups, unlike, strict=True):
            for rank, (first, most) in stuck_on_device(group, differs, self.recordings, FULL).items():
                self.devices.setdefault(rank, []).append((group, first, most))
        for group, differs in zip(self.groups, unlike, strict=True):
            self._look_at(group, differs)
        self.silent = may_wait_unseen(dumps.recordings)
        self.opened = open_transfers(self.groups, [r for r in dumps.recordings if r.rank not in self.outdated])
        self.waits += [wait for wait in transfer_waits(self.opened, dumps.recordings) if wait.rank not in self.devices]
        self.blame: Blame = blame(self.waits, {*self.devices, *(rank for found in self.differences for rank in found.odd)})

    def _look_at(self, group: Group, differs: Difference | None) -> None:
        """Waits and mismatch of one group. What a rank with a dead device waits in says nothing about others."""
        found = waits(group, differs, self.recordings, FULL)
        self.waits += [wait for wait in found if wait.rank not in self.devices]
        if differs is not None and (found or not group.trusted):
            self.differences.append(differs)


def analyse(dumps: RankDumps) -> Findings:
    """Findings for the dumps of one hang; nothing waits and nothing differs: no suspects."""
    evidence = Evidence(dumps)
    named = _suspects(evidence)
    first = {s.rank for s in named}
    stuck = sorted(_stuck(evidence), key=lambda g: (not first & {*g.missing}, not g.missing, g.transfer, g.created, g.name))
    return Findings(
        ranks=dumps.ranks,
        missing=tuple(sorted(world(dumps) - {*dumps.ranks})),
        empty=tuple(r.rank for r in dumps.recordings if not r.entries),
        groups=tuple(stuck),
        suspects=tuple(named),
        notes=tuple(_notes(evidence, named, stuck)),
        stuck_at=_operations(evidence),
        stands=tuple(stands(evidence.groups, evidence.opened)),
    )


def _suspects(evidence: Evidence) -> list[Suspect]:
    """The strongest kind of evidence that names somebody, as facts/flight-recorder orders it; weaker kinds only where it names nobody."""
    differences = list(from_evidence.of_differences(evidence.differences))
    odd = {suspect.rank for suspect in differences}
    devices = [s for s in from_evidence.of_devices(evidence.devices) if s.rank not in odd]
    known = odd | {suspect.rank for suspect in devices}
    hosts = [s for s in from_evidence.of_blame(evidence.blame, evidence.groups, evidence.silent, explained=bool(known)) if s.rank not in known]
    strong = [*differences, *devices, *hosts]
    if not any(s.strength != "cannot-tell" for s in strong):
        strong += from_evidence.of_circle(evidence.blame.circle, evidence.waits)
    if strong:
        return _ordered(strong)
    for weaker in (
        from_evidence.of_order(turned(evidence.waits)),
        from_evidence.of_transfers(misfits(evidence.opened)),
        from_evidence.of_missing(evidence.dumps, evidence.waits, evidence.groups, evidence.blame.doubted, evidence.outdated),
        from_evidence.of_starts(evidence.groups),
        from_evidence.of_unfinished(evidence.groups),
        from_evidence.of_late([one for group in evidence.groups for one in late(group)]),
        _cannot_tell(evidence),
    ):
        if found := list(weaker):
            return _ordered(found)
    return []


def _ordered(found: Sequence[Suspect]) -> list[Suspect]:
    rank = {"proven": 0, "likely": 1, "cannot-tell": 2}
    return sorted(found, key=lambda s: (rank[s.strength], s.rank))


def _cannot_tell(evidence: Evidence) -> Iterator[Suspect]:
    """Why nobody can be named though somebody waits or left nothing."""
    dumps = evidence.dumps
    everyone = world(dumps)
    gone = sorted(everyone - {*dumps.ranks})
    if evidence.waits:
        yield from _cannot_tell_waiting(evidence, gone)
    elif evidence.outdated:
        reason = f"the dumps of {words.ranks(evidence.outdated)} were taken before those of the others, and no rank waits in these"
        yield from_evidence.unnamed(f"{reason}; {from_evidence.NEEDS_ONE_MOMENT}")
    elif gone and dumps.recordings:
        for rank in gone:
            why = "its dump cannot be read" if rank in dumps.lost else "left no dump"
            reason = f"{why}, and no other rank is seen waiting for it; needed: its dump, or dumps taken while the others are stuck"
            yield Suspect(rank=rank, strength="cannot-tell", reason=reason)


def _cannot_tell_waiting(evidence: Evidence, gone: Sequence[int]) -> Iterator[Suspect]:
    """The end of a chain of waits at which nobody can be named."""
    ends = [wait for wait in evidence.waits if not wait.absent] or evidence.waits
    first = min(ends, key=lambda wait: (not wait.unseen, wait.order))
    waiting = {w.rank for w in evidence.waits if (w.group, w.sequence) == (first.group, first.sequence)}
    there = f"{words.ranks(waiting)} {words.verb(waiting, 'wait')} in {from_evidence.step(first)}"
    group = evidence.by_member.get((first.group, first.rank))
    if without := first.unseen - {*evidence.dumps.ranks}:
        total = len(evidence.dumps.ranks) + len(gone)
        yield from_evidence.unnamed(f"{there}; {words.ranks(without)} of {total} left no readable dump; needed: the dumps of these ranks")
    elif first.unseen and first.unseen <= evidence.outdated:
        reason = f"{there}; what {words.ranks(first.unseen)} left is older than the dumps of others and tells only how far they had come then"
        yield from_evidence.unnamed(f"{reason}; {from_evidence.NEEDS_ONE_MOMENT}")
    elif first.unseen:
        reason = f"{there}; how far {words.ranks(first.unseen)} came there, the {'dump does' if len(first.unseen) == 1 else 'dumps do'} not tell"
        yield from_evidence.unnamed(f"{reason}; {from_evidence.NEEDS_FINISHED}")
    elif group is not None and not group.whole and not knows_world(evidence.dumps):
        yield _unknown_member(evidence, group, there)
    elif group is not None and (totals := exchange_totals(group, first.sequence)) and totals[0] != totals[1]:
        reason = f"{there}, to which all ranks together send {totals[0]} elements and expect {totals[1]}; needed: the split sizes of each rank"
        yield from_evidence.unnamed(reason)
    else:
        reason = f"{there}, every member has entered it, and none has finished: the fault is inside it or in what the GPU does before it"
        yield from_evidence.unnamed(f"{reason}; needed: NCCL's own log (NCCL_DEBUG=WARN), Xids, link errors, TORCH_NCCL_ENABLE_TIMING=1")


def _unknown_member(evidence: Evidence, group: Group, there: str) -> Suspect:
    """A group whose members no dump lists: the next rank without a dump is a guess, and called one."""
    guess = max(world(evidence.dumps), default=-1) + 1
    reason = (
        f"{there} for a member that left no dump and that no dump lists (seen in the group: {words.spans(group.members)}); "
        f"rank {guess} is the first rank without a dump; needed: its dump, or the number of ranks (--world-size)"
    )
    return Suspect(rank=guess, strength="cannot-tell", reason=reason)


def _stuck(evidence: Evidence) -> Iterator[StuckGroup]:
    """Groups in which somebody waits, one entry for each operation waited in first."""
    together: dict[tuple[str, int, tuple[int, ...]], list[Wait]] = {}
    for wait in evidence.waits:
        group = evidence.by_member.get((wait.group, wait.rank))
        key = (wait.group, wait.sequence, group.members if group else (wait.rank,))
        together.setdefault(key, []).append(wait)
    for (label, sequence, ranks), found in together.items():
        kept = next((op for w in found if (op := _kept(evidence, w)) is not None), None)
        named = sorted({w.what for w in found if w.what})
        yield StuckGroup(
            name=label,
            members=ranks,
            operation=named[0] if len(named) == 1 else "/".join(sorted({name.split(" ")[0] for name in named})),
            sequence=sequence,
            size=words.size(kept.signature) if kept else "",
            waiting=tuple(sorted({w.rank for w in found})),
            missing=tuple(sorted(frozenset[int]({*evidence.devices} & {*ranks}).union(*(w.absent or w.unseen for w in found)))),
            transfer=found[0].transfer is not None,
            created=min((w.created for w in found if w.created), default=0),
            timeout_ms=kept.timeout_ms if kept else None,
        )


def _kept(evidence: Evidence, wait: Wait) -> Operation | None:
    """The operation a rank waits in, in full."""
    if wait.transfer:
        return _as_operation(wait.transfer, wait.what)
    group = evidence.by_member.get((wait.group, wait.rank))
    lane = group.lanes.get(wait.rank) if group else None
    kept = [op for op in (lane.front, lane.last) if op is not None and op.sequence == wait.sequence] if lane else []
    return kept[0] if kept else None


def _as_operation(transfer: Transfer, what: str) -> Operation:
    signature = Signature(what, input_sizes=transfer.sizes, input_dtypes=transfer.dtypes)
    return Operation(
        sequence=transfer.sequence,
        signature=signature,
        created=transfer.created,
        progress=SCHEDULED,
        timeout_ms=transfer.timeout_ms,
        frames=transfer.frames,
    )


def _operations(evidence: Evidence) -> dict[int, Operation]:
    """For each rank the operation to look at: the first it waits in, else the last it recorded."""
    found: dict[int, Operation] = {}
    for wait in sorted(evidence.waits, key=lambda wait: wait.order):
        if wait.rank not in found and (op := _kept(evidence, wait)) is not None:
            found[wait.rank] = op
    for recording in evidence.dumps.recordings:
        last = max((lane.last for lane in recording.lanes if lane.last), key=lambda op: op.created, default=None)
        if recording.rank not in found and last is not None:
            found[recording.rank] = last
    return found


def _notes(evidence: Evidence, named: Sequence[Suspect], stuck: Sequence[StuckGroup]) -> Iterator[str]:
    dumps = evidence.dumps
    gone = sorted(world(dumps) - {*dumps.ranks} - {s.rank for s in named})
    if gone and dumps.recordings:
        explained = any(s.strength != "cannot-tell" for s in named)
        rest = f"; the suspects explain the wait without {'it' if len(gone) == 1 else 'them'}" if explained else ""
        yield f"{words.ranks(gone)} left no readable dump{rest}"
    if inferred := [group.label for group in evidence.groups if not group.told]:
        yield f"members of {', '.join(inferred[:4])}{' …' if len(inferred) > 4 else ''} are inferred from entries: pg_config does not list them"
    versions = sorted({r.version for r in dumps.recordings})
    if len(versions) > 1:
        yield f"versions differ: {', '.join(f'{major}.{minor}' for major, minor in versions)}"
    if evidence.outdated:
        older = words.ranks(evidence.outdated)
        yield f"operations have ended in other dumps that those of {older} had not entered or not seen the end of: these are older"
    if any(not lane.timed for r in dumps.recordings for lane in r.lanes):
        yield NO_COMPLETION
    if wrapped := [r.rank for r in dumps.recordings if _ran_past(evidence, r)]:
        yield f"the rings of {words.ranks(wrapped)} no longer reach back to the operation that others wait in"
    if dumps.recordings and not stuck and all(s.strength == "cannot-tell" for s in named):
        yield OUTSIDE
        yield VISIBLE


def _ran_past(evidence: Evidence, recording: Recording) -> bool:
    old = recording.wrapped and recording.version < STATUS_SINCE
    return old and any(ran_past(recording, wait.created) for wait in evidence.waits if wait.rank != recording.rank)
