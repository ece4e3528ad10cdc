"""Makes real flight-recorder dumps: CPU processes of torch with gloo, one of which misbehaves, dump while the others are stuck.

    python scripts/make_gloo_dumps.py skip build/dumps --ranks 4
    triage dump build/dumps

Needs torch >= 2.13 (CPU is enough). Each rank writes `comm_lib_trace_rank_<r>` and, below `json/`, the same as JSON.

    ok          nobody misbehaves
    skip        rank 1 never calls the last all_reduce
    lag         rank 1 calls it when the others have waited almost until their timeout; dumped after that
    size        rank 1 sends fewer elements (gloo ends a peer for that, so one dump may be missing)
    dtype       rank 1 sends another dtype (as above)
    operation   rank 1 calls broadcast where the others call all_reduce
    exit        rank 1 ends without a dump
    subgroup    the last rank stays away from its sub-group; everybody else waits, most of them elsewhere
    order       rank 1 enters two groups in the other order
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

WARM = 5  # operations that all ranks do before one of them misbehaves
CULPRIT = 1


class Rank:
    """One process of the job, inside it."""

    def __init__(self, rank: int, ranks: int, timeout: float) -> None:
        import torch
        import torch.distributed

        self.torch, self.dist = torch, torch.distributed
        self.rank, self.ranks, self.timeout = rank, ranks, timeout

    @property
    def guilty(self) -> bool:
        return self.rank == CULPRIT

    def ones(self, count: int, dtype: str = "float32") -> object:
        return self.torch.ones(count, dtype=getattr(self.torch, dtype))

    def reduce(self, count: int, *, dtype: str = "float32", group: object = None) -> None:
        self.dist.all_reduce(self.ones(count, dtype), group=group)

    def warm(self) -> None:
        for number in range(WARM):
            self.reduce(16 + number)

    def stay_away(self) -> None:
        """Do nothing until everybody else has given up."""
        time.sleep(self.timeout + 3)

    def group(self, ranks: list[int], desc: str) -> object:
        return self.dist.new_group(ranks, group_desc=desc, timeout=timedelta(seconds=self.timeout))


def ok(job: Rank) -> None:
    job.warm()
    job.dist.barrier()


def skip(job: Rank) -> None:
    job.warm()
    job.stay_away() if job.guilty else job.reduce(512)


def lag(job: Rank) -> None:
    job.warm()
    if job.guilty:
        time.sleep(job.timeout * 0.8)
    job.reduce(512)


def size(job: Rank) -> None:
    job.warm()
    job.reduce(1000 if job.guilty else 2000)


def dtype(job: Rank) -> None:
    job.warm()
    job.reduce(64, dtype="float64" if job.guilty else "float32")


def operation(job: Rank) -> None:
    job.warm()
    if job.guilty:
        job.dist.broadcast(job.ones(64), CULPRIT)
    else:
        job.reduce(64)
    job.dist.barrier()


def leave(job: Rank) -> None:
    job.warm()
    if job.guilty:
        os._exit(17)
    job.reduce(512)


def subgroup(job: Rank) -> None:
    half = job.ranks // 2
    first, second = job.group(list(range(half)), "first_half"), job.group(list(range(half, job.ranks)), "second_half")
    mine = first if job.rank < half else second
    job.reduce(32, group=mine)
    job.warm()
    if job.rank == job.ranks - 1:
        job.stay_away()
    else:
        job.reduce(32, group=mine)
        job.reduce(99)


def order(job: Rank) -> None:
    one, other = job.group(list(range(job.ranks)), "one"), job.group(list(range(job.ranks)), "other")
    job.warm()
    for group in (other, one) if job.guilty else (one, other):
        job.reduce(5, group=group)


CASES: dict[str, Callable[[Rank], None]] = {
    "ok": ok, "skip": skip, "lag": lag, "size": size, "dtype": dtype, "operation": operation, "exit": leave, "subgroup": subgroup, "order": order,
}  # fmt: skip


def write_dumps(folder: Path, rank: int, stacks: bool) -> None:
    """Write both forms; whole files only, as other ranks may be killed while they write theirs."""
    from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json

    (folder / "json").mkdir(parents=True, exist_ok=True)
    for path, data in (
        (folder / "json" / f"rank_{rank}.json", _dump_fr_trace_json()),
        (folder / f"comm_lib_trace_rank_{rank}", _dump_fr_trace(includeStackTraces=stacks)),
    ):
        part = path.with_suffix(".part")
        part.write_bytes(data)
        part.replace(path)


def worker(rank: int, case: str, folder: Path, given: argparse.Namespace, port: int) -> None:
    """The life of one rank: its case, and a dump from a thread of its own while the case is stuck."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(given.ranks))
    job = Rank(rank, given.ranks, given.timeout)
    job.dist.init_process_group("gloo", rank=rank, world_size=given.ranks, timeout=timedelta(seconds=given.timeout))
    wait = given.timeout + 1 if case == "lag" else given.timeout * 0.4
    dumper = threading.Thread(target=lambda: (time.sleep(wait), write_dumps(folder, rank, given.stacks)))
    dumper.start()
    try:
        CASES[case](job)
    except RuntimeError as error:
        sys.stderr.write(f"rank {rank}: {str(error).splitlines()[0]}\n")
    dumper.join()
    os._exit(0)


def main() -> None:
    """Start the ranks and wait for them."""
    import torch.multiprocessing

    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("case", choices=CASES)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--ranks", type=int, default=4)
    ask.add_argument("--timeout", type=float, default=20.0, help="seconds until gloo gives up (default 20)")
    ask.add_argument("--no-stacks", dest="stacks", action="store_false", help="without stacks, whose symbols take seconds to find")
    given = ask.parse_args()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    spawn = torch.multiprocessing.get_context("spawn")
    ranks = [spawn.Process(target=worker, args=(rank, given.case, given.folder, given, port)) for rank in range(given.ranks)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(4 * given.timeout + 60)
        if process.is_alive():
            process.kill()


if __name__ == "__main__":
    main()
