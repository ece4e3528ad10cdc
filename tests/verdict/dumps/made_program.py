"""A made-up program of collectives over random groups, really run, one rank of which does something else: what its dumps hold.

Unlike the job of `made_job`, ranks have no roles: any rank may be in any groups, hosts may be held back by their devices at
different places, and a fault may be a wrong call as well as a stop.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any

import msgspec

from tests.made_dumps import T0, Job, config, entry, old

CALLS = ["all_reduce", "_all_gather_base", "_reduce_scatter_base", "all_to_all", "barrier", "broadcast"]
FAULTS = ["skip", "twice", "swap", "size", "dtype", "call", "held", "died"]
SYNC = "sync"  # the host waits until its device has done everything


class Call(msgspec.Struct, frozen=True):
    """One line of the program; `source` and `target` are ranks inside the group, of a send or receive only."""

    group: str
    what: str
    size: int = 64
    dtype: str = "Float"
    source: int = -1
    target: int = -1

    @property
    def two_sided(self) -> bool:
        return self.what in ("send", "recv")


class Made(msgspec.Struct):
    """A call that a host has enqueued: its numbers, when, and how far its device is with it."""

    call: Call
    number: int
    exchange: int
    at: int
    there: bool = False
    matched: bool = False
    done: bool = False


class MadeProgram:
    """Everything is drawn by `seed`: ranks, groups, program, how far hosts run ahead, and whether a device works group by group."""

    def __init__(self, seed: int, *, gloo: bool = False) -> None:
        self.random = r = random.Random(seed)
        self.gloo, self.world = gloo, r.choice([3, 4, 4, 6, 8])
        self.groups = {"0": list(range(self.world))}
        for number in range(1, r.randrange(1, 5)):
            self.groups[str(number)] = sorted(r.sample(range(self.world), r.randrange(2, self.world + 1)))
        self.one_stream, self.ahead = r.random() < 0.5, 1 if gloo else r.choice([1, 2, 5, 20, 200])
        exchanging = r.random() < 0.3 and not gloo
        lines = [self._line(exchanging) for _ in range(r.randrange(20, 100))]
        self.programs = [[call for line in lines if (call := self._of(line, rank)) is not None] for rank in range(self.world)]
        self.held: dict[int, int] = {}
        self.gone: set[int] = set()

    def _line(self, exchanging: bool) -> Call:
        r, group = self.random, self.random.choice(list(self.groups))
        if r.random() < 0.08:
            return Call(group, SYNC)
        if exchanging and r.random() < 0.25:
            source, target = r.sample(range(len(self.groups[group])), 2)
            return Call(group, "exchange", r.choice([1, 64]), source=source, target=target)
        return Call(group, r.choice(CALLS), r.choice([1, 64, 100, 4096]))

    def _of(self, line: Call, rank: int) -> Call | None:
        if rank not in self.groups[line.group]:
            return None
        if line.what != "exchange":
            return line
        place = self.groups[line.group].index(rank)
        what = {line.source: "send", line.target: "recv"}.get(place)
        return msgspec.structs.replace(line, what=what) if what else None

    def spoil(self, rank: int, fault: str) -> bool:
        """Have `rank` do something else; False where its program has no place for that."""
        r, program = self.random, self.programs[rank]
        late = [i for i, call in enumerate(program) if call.what != SYNC and i >= len(program) // 3]
        at = r.choice([i for i in late if not program[i].two_sided] or [-1])
        unlike = [i for i in late if i + 1 < len(program) and program[i + 1].what != SYNC and program[i] != program[i + 1]]
        if not late or at < 0 or (fault == "swap" and not unlike):
            return False
        call = program[at]
        if fault in ("held", "died"):
            self.held[rank] = at
            self.gone |= {rank} if fault == "died" else set()
        elif fault == "swap":
            one = r.choice(unlike)
            program[one : one + 2] = program[one + 1], program[one]
        else:
            program[at : at + 1] = {
                "skip": [],
                "twice": [call, call],
                "size": [msgspec.structs.replace(call, size=2 * call.size + 1)],
                "dtype": [msgspec.structs.replace(call, dtype="Double")],
                "call": [msgspec.structs.replace(call, what=r.choice([what for what in CALLS if what != call.what]))],
            }[fault]
        return True

    def run(self) -> None:
        """Until nothing moves any more."""
        self.enqueued: list[list[Made]] = [[] for _ in range(self.world)]
        self.next, self.now = [0] * self.world, T0
        self.counts: list[Counter[Any]] = [Counter() for _ in range(self.world)]
        self.queues: list[dict[Any, list[Made]]] = [defaultdict(list) for _ in range(self.world)]
        self.meeting: dict[Any, list[Made]] = defaultdict(list)
        while sum(self._turn(rank) for rank in self.random.sample(range(self.world), self.world)):
            pass

    def _turn(self, rank: int) -> bool:
        moved = sum(self._enqueue(rank) for _ in range(self.random.randrange(1, 4)))
        return self._work(rank) or moved > 0

    def _enqueue(self, rank: int) -> bool:
        at = self.next[rank]
        if at == len(self.programs[rank]) or at >= self.held.get(rank, 1 << 30):
            return False
        call, under_way = self.programs[rank][at], sum(not made.done for made in self.enqueued[rank])
        if under_way >= (1 if call.what == SYNC else self.ahead):
            return False
        if call.what != SYNC:
            counts = self.counts[rank]
            counts[call.group, call.two_sided] += 1
            self.now += self.random.randrange(1000, 2_000_000)
            made = Made(call, counts[call.group, False], counts[call.group, True], self.now)
            self.enqueued[rank].append(made)
            pair = (call.source, call.target) if call.two_sided else None
            self.queues[rank]["all" if self.one_stream else (call.group, pair)].append(made)
        self.next[rank] += 1
        return True

    def _work(self, rank: int) -> bool:
        if rank in self.gone and self.next[rank] >= self.held[rank]:
            return False
        moved = False
        for queue in self.queues[rank].values():
            if queue and not queue[0].there:
                self._meet(rank, queue[0])
                moved = True
            if queue and queue[0].matched:
                queue.pop(0).done = moved = True
        return moved

    def _meet(self, rank: int, made: Made) -> None:
        call, made.there = made.call, True
        place: tuple[Any, ...] = (call.group, made.number)
        if call.two_sided:
            self.counts[rank][call] += 1
            place = (call.group, call.source, call.target, self.counts[rank][call])
        met = self.meeting[place]
        met.append(made)
        alike = len({(one.call.what if not one.call.two_sided else "", one.call.size, one.call.dtype) for one in met}) == 1
        if alike and len(met) == (2 if call.two_sided else len(self.groups[call.group])):
            for one in met:
                one.matched = True

    @property
    def finished(self) -> bool:
        return not self.gone and all(made.done for of_rank in self.enqueued for made in of_rank)

    def dumps(self, *, only_active: bool = False, ring: int = 1 << 30, version: str = "2.10") -> Job:
        """What the ranks that are still there leave."""
        return {rank: old(self._dump(rank, only_active, ring), version) for rank in range(self.world) if rank not in self.gone}

    def _dump(self, rank: int, only_active: bool, ring: int) -> dict[str, Any]:
        own = [name for name, ranks in self.groups.items() if rank in ranks]
        status: dict[str, dict[str, int]] = {}
        for made in self.enqueued[rank]:
            number = made.exchange if made.call.two_sided else made.number
            place = status.setdefault(str(own.index(made.call.group)), {"last_started_collective": -1, "last_completed_collective": -1})
            place["last_enqueued_collective"] = number
            if made.done:
                place["last_completed_collective"] = number
        used = [name for name in own if any(made.call.group == name for made in self.enqueued[rank])]
        kept = list(enumerate(self.enqueued[rank]))[-ring:]
        groups = {name: config(name, self.groups[name])[name] for name in used}
        return {
            "version": "2.10",
            "comm_lib_version": "",
            "pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}} if self.gloo else groups,
            "pg_status": status,
            "entries": [self._entry(own, index, made) for index, made in kept if not (only_active and made.done)],
        }

    def _entry(self, own: list[str], index: int, made: Made) -> dict[str, Any]:
        call, many = made.call, len(self.groups[made.call.group])
        arrow = {"send": f" {call.source}->{call.target}", "recv": f" {call.target}<-{call.source}"}.get(call.what, "")
        small, large = [[call.size]], [[call.size * many]]
        return entry(
            made.number,
            state="completed" if made.done and not self.gloo else "scheduled",
            retired=made.done,
            created=made.at,
            record_id=index,
            pg_id=own.index(call.group),
            process_group=(call.group, "default_pg" if call.group == "0" else f"group {call.group}"),
            p2p_seq_id=made.exchange,
            profiling_name=f"{'gloo' if self.gloo else 'nccl'}:{call.what}{arrow}",
            input_sizes=large if call.what == "_reduce_scatter_base" else small,
            output_sizes=large if call.what == "_all_gather_base" else small,
            input_dtypes=[call.dtype],
            output_dtypes=[call.dtype],
            is_p2p=call.two_sided,
        )
