"""Faults that torch alone can provoke, one a process: `python torch_faults.py FAULT` fails as an engine does and ends with what that leaves.

Started by `scripts/provoke_faults.py`, which says what each fault is. Nothing is caught that an engine would not catch.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

TIMEOUT = 10.0  # seconds that a collective may take
BLOCKS = (1 << 30, 64 << 20, 12 << 20, 1 << 20)  # bytes; the caching allocator takes 10 MiB and more as asked, and up to 1 MiB from segments of 2 MiB
SPIN = 120_000_000_000  # clock cycles: a minute at 2 GHz, which no GPU exceeds by much
HUNGRY = '__device__ char spare[1 << 30]; extern "C" __global__ void hungry(int where) { spare[where] = 1; }'


def fill() -> list[Any]:
    """Take the GPU's memory in ever smaller blocks, until less than 2 MiB are left; returns the blocks, which hold it."""
    import torch

    held: list[Any] = []
    for size in BLOCKS:
        try:
            while True:
                held.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.cuda.OutOfMemoryError:
            continue
    return held


def device_oom() -> None:
    """A cache that grows until torch's allocator has nothing left."""
    import torch

    cache = []
    while True:
        cache.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))


def driver_oom() -> None:
    """The driver loads a module with a table of 1 GiB where less than 2 MiB are left."""
    from torch.cuda import _compile_kernel

    held = fill()
    _compile_kernel(HUNGRY, "hungry")(grid=(1, 1, 1), block=(1, 1, 1), args=[0])
    del held


def cublas_no_room() -> None:
    """The first matrix product of the process, so cuBLAS makes its handle, where less than 2 MiB are left."""
    import torch

    square, product = torch.ones(64, 64, device="cuda"), torch.empty(64, 64, device="cuda")
    held = fill()
    torch.mm(square, square, out=product)
    torch.cuda.synchronize()
    del held


def device_assert() -> None:
    """A token id far beyond the end of an embedding's table."""
    import torch

    table = torch.ones(128, 64, device="cuda")
    torch.nn.functional.embedding(torch.tensor([3, 1_000_000], device="cuda"), table)
    torch.cuda.synchronize()


def join(backend: str, rank: int, ranks: int) -> Any:
    """Enter the job; returns `torch.distributed`. Where it meets is in MASTER_ADDR and MASTER_PORT."""
    import torch.distributed

    torch.distributed.init_process_group(backend, rank=rank, world_size=ranks, timeout=timedelta(seconds=TIMEOUT))
    return torch.distributed


def nccl_on_one_gpu(rank: int) -> None:
    """Two ranks on one GPU; NCCL refuses the second one."""
    import torch

    join("nccl", rank, 2).all_reduce(torch.ones(1024, device="cuda"))
    torch.cuda.synchronize()


def nccl_timeout(rank: int) -> None:
    """One rank alone: its collective is queued behind a kernel that runs for a minute, so the watchdog's timeout passes."""
    import torch
    from torch.cuda import _sleep

    dist, ones = join("nccl", rank, 1), torch.ones(1024, device="cuda")
    dist.all_reduce(ones)
    torch.cuda.synchronize()
    _sleep(SPIN)
    dist.all_reduce(ones)
    torch.cuda.synchronize()


def nccl_absent_rank(rank: int) -> None:
    """Two ranks on one GPU, which NCCL 2.30 can be told to allow; the second never calls the second all_reduce."""
    import torch

    dist, ones = join("nccl", rank, 2), torch.ones(1024, device="cuda")
    dist.all_reduce(ones)
    torch.cuda.synchronize()
    if rank:
        time.sleep(6 * TIMEOUT)
    dist.all_reduce(ones)
    torch.cuda.synchronize()


def dump(rank: int) -> None:
    """Write what the recorder holds while the ranks are stuck, as gloo has no watchdog that would; nothing where torch (before 2.13) cannot."""
    try:
        from torch._C._distributed_c10d import _dump_fr_trace
    except ImportError:
        return
    time.sleep(TIMEOUT / 2)
    Path(f"{os.environ['TORCH_FR_DUMP_TEMP_FILE']}{rank}").write_bytes(_dump_fr_trace(includeStackTraces=False))


def gloo_absent_rank(rank: int) -> None:
    """Two ranks on the CPU; the second never calls the last all_reduce, and outlives the first."""
    import torch

    dist = join("gloo", rank, 2)
    for count in range(1, 6):
        dist.all_reduce(torch.ones(count))
    threading.Thread(target=dump, args=(rank,)).start()
    if rank:
        time.sleep(TIMEOUT + 3)
    else:
        dist.all_reduce(torch.ones(512))


ALONE: dict[str, Callable[[], None]] = {
    "device-oom": device_oom, "driver-oom": driver_oom, "cublas-no-room": cublas_no_room, "device-assert": device_assert,
}  # fmt: skip
RANKS: dict[str, tuple[int, Callable[[int], None]]] = {
    "nccl-duplicate-gpu": (2, nccl_on_one_gpu),
    "nccl-timeout": (1, nccl_timeout),
    "nccl-absent-rank": (2, nccl_absent_rank),
    "gloo-absent-rank": (2, gloo_absent_rank),
}


def launch(fault: str, ranks: int) -> int:
    """Run each rank as a process of its own on this machine; returns the first exit code that is not 0, 128 + N for signal N."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    place = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo", "NCCL_SOCKET_IFNAME": "lo"}
    started = [subprocess.Popen([sys.executable, __file__, fault, str(rank)], env=place) for rank in range(ranks)]
    codes = [process.wait() for process in started]
    return next((128 - code if code < 0 else code for code in codes if code), 0)


def main() -> None:
    """`FAULT` runs it; `FAULT RANK` is one rank of it."""
    fault, *rank = sys.argv[1:]
    if fault in ALONE:
        ALONE[fault]()
    elif rank:
        RANKS[fault][1](int(rank[0]))
    else:
        sys.exit(launch(fault, RANKS[fault][0]))


if __name__ == "__main__":
    main()
