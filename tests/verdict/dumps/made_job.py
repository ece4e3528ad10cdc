"""A made-up training or serving job that is really run, step by step: hosts enqueue, devices work in order, a fault stops some of them.

Ranks form tensor, expert and pipeline groups; a collective ends when the devices of all members have come to it, a receive when
the send has been posted. A fault holds the host of a rank (it enqueues no more) or its device (it finishes nothing more). What
the ranks recorded when nothing moves any more is what their dumps hold.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from typing import Any, Literal

from tests.made_dumps import T0, Job, config, entry

SYNC = ("sync", "", 0, 0)
Step = tuple[str, str, int, int]  # group, operation, source and target inside the group


class MadeJob:
    """`tensor` x `width` ranks a stage, `stages` stages; deterministic by `seed`."""

    def __init__(self, seed: int, *, tensor: int = 2, width: int = 2, stages: int = 2) -> None:
        self.random = random.Random(seed)
        self.stage = tensor * width
        self.world = self.stage * stages
        self.stages = stages
        self.groups: dict[str, tuple[str, list[int]]] = {"0": ("default_pg", list(range(self.world)))}
        for column in range(self.stage):
            self._group("pipeline", range(column, self.world, self.stage))
        for first in range(0, self.world, tensor):
            self._group("tensor", range(first, first + tensor))
        for first in range(0, self.world, self.stage):
            self._group("expert", range(first, first + self.stage))
        self.syncs: dict[tuple[int, ...], bool] = {}
        self.programs = [self._program(rank) for rank in range(self.world)]

    def _group(self, desc: str, ranks: range) -> None:
        self.groups[str(len(self.groups))] = (desc, list(ranks))

    def _of(self, rank: int, desc: str) -> str:
        return next(name for name, (what, ranks) in self.groups.items() if what == desc and rank in ranks)

    def _program(self, rank: int) -> list[Step]:
        tensor, expert, pipeline, stage = self._of(rank, "tensor"), self._of(rank, "expert"), self._of(rank, "pipeline"), rank // self.stage
        steps: list[Step] = []
        for round_ in range(6):
            if stage:
                steps.append((pipeline, "recv", stage - 1, stage))
            for layer in range(3):
                steps.append((tensor, "_all_gather_base", 0, 0))
                if self.syncs.setdefault((stage, round_, layer), self.random.random() < 0.3):
                    steps.append(SYNC)
                steps += [(expert, "all_to_all", 0, 0), (tensor, "_reduce_scatter_base", 0, 0)]
            if stage < self.stages - 1:
                steps.append((pipeline, "send", stage, stage + 1))
            if round_ % 3 == 2:
                steps += [("0", "all_reduce", 0, 0), SYNC]
        return steps

    def run(self, faulty: set[int], where: Literal["host", "device"]) -> None:
        """Run to the standstill that the fault makes, or to the end."""
        self.enqueued: list[list[dict[str, Any]]] = [[] for _ in range(self.world)]
        self.host, self.device = [0] * self.world, [0] * self.world
        self.counts: list[Counter[tuple[str, bool]]] = [Counter() for _ in range(self.world)]
        self.arrived: dict[tuple[str, int], set[int]] = defaultdict(set)
        self.posted: dict[tuple[str, int, int], list[dict[str, Any]]] = defaultdict(list)
        self.received: Counter[tuple[str, int, int]] = Counter()
        self.now = T0
        start, tick, idle = self.random.randrange(5, 60), 0, 0
        held: dict[int, tuple[int, int]] = {}
        while idle < 3:
            tick += 1
            if tick >= start:
                for rank in faulty - held.keys():
                    ahead = self.random.randrange(12) if where == "device" else 0
                    held[rank] = (self.host[rank] + ahead, self.device[rank] if where == "device" else 1 << 30)
            moved = False
            for rank in self.random.sample(range(self.world), self.world):
                for _ in range(self.random.randrange(1, 4)):
                    moved |= self.host[rank] < held.get(rank, (1 << 30, 0))[0] and self._enqueue(rank)
                for _ in range(2):
                    moved |= self.device[rank] < held.get(rank, (0, 1 << 30))[1] and self._work(rank)
            idle = 0 if moved else idle + 1
        for rank, (_, stopped) in held.items():
            for made in self.enqueued[rank][max(0, stopped - self.random.randrange(12)) :] if where == "device" else ():
                made["done"] = False

    def _enqueue(self, rank: int) -> bool:
        if self.host[rank] == len(self.programs[rank]):
            return False
        group, what, source, target = self.programs[rank][self.host[rank]]
        if group == "sync":
            if any(not made["done"] for made in self.enqueued[rank] if made["what"] != "send"):
                return False
        else:
            two_sided = what in ("send", "recv")
            self.counts[rank][group, two_sided] += 1
            self.now += self.random.randrange(1000, 50_000)
            made = {"group": group, "what": what, "pair": (source, target), "number": self.counts[rank][group, two_sided], "done": False}
            self.enqueued[rank].append(made | {"at": self.now, "collectives": self.counts[rank][group, False]})
        self.host[rank] += 1
        return True

    def _work(self, rank: int) -> bool:
        if self.device[rank] == len(self.enqueued[rank]):
            return False
        made = self.enqueued[rank][self.device[rank]]
        key = (made["group"], *made["pair"])
        if made["what"] == "send":
            self.posted[key].append(made)
        elif made["what"] == "recv":
            if len(self.posted[key]) == self.received[key]:
                return False
            self.posted[key][self.received[key]]["done"] = made["done"] = True
            self.received[key] += 1
        else:
            there = self.arrived[made["group"], made["number"]]
            news = rank not in there
            there.add(rank)
            if len(there) < len(self.groups[made["group"]][1]):
                return news
            made["done"] = True
        self.device[rank] += 1
        return True

    @property
    def finished(self) -> bool:
        """Whether nobody waits: the fault came too late to hold anything up, or there was none."""
        return all(made["done"] for of_rank in self.enqueued for made in of_rank)

    def dumps(self, *, only_active: bool) -> Job:
        return {rank: self._dump(rank, only_active) for rank in range(self.world)}

    def _dump(self, rank: int, only_active: bool) -> dict[str, Any]:
        own = [name for name, (_, ranks) in self.groups.items() if rank in ranks]
        status: dict[str, dict[str, int]] = {}
        for made in self.enqueued[rank]:
            place = status.setdefault(str(own.index(made["group"])), {"last_started_collective": -1, "last_completed_collective": -1})
            place["last_enqueued_collective"] = made["number"]
            if made["done"]:
                place["last_completed_collective"] = made["number"]
        used = [name for name in own if any(made["group"] == name for made in self.enqueued[rank])]
        return {
            "version": "2.9",
            "nccl_version": "2.27.3",
            "pg_config": {name: config(name, self.groups[name][1], self.groups[name][0])[name] for name in sorted(used)},
            "pg_status": status,
            "entries": [self._entry(own, i, made) for i, made in enumerate(self.enqueued[rank]) if not (only_active and made["done"])],
        }

    def _entry(self, own: list[str], index: int, made: dict[str, Any]) -> dict[str, Any]:
        (source, target), what, members = made["pair"], made["what"], len(self.groups[made["group"]][1])
        two_sided = what in ("send", "recv")
        arrow = f" {source}->{target}" if what == "send" else f" {target}<-{source}" if what == "recv" else ""
        small, large = [[8]], [[8 * members]]
        return entry(
            made["collectives"],
            state="completed" if made["done"] else "scheduled",
            created=made["at"],
            record_id=index,
            pg_id=own.index(made["group"]),
            process_group=(made["group"], self.groups[made["group"]][0]),
            p2p_seq_id=made["number"] if two_sided else 0,
            profiling_name=f"nccl:{what}{arrow}",
            input_sizes=large if what == "_reduce_scatter_base" else small,
            output_sizes=large if what == "_all_gather_base" else small,
            is_p2p=two_sided,
        )
