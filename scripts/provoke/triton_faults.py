"""Faults that need a Triton kernel, one a process: `python triton_faults.py FAULT` fails as an engine does and ends with what that leaves.

Started by `scripts/provoke_faults.py`, which says what each fault is. Triton needs a C compiler for its launcher.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
import triton
import triton.language as tl

WILD = 1 << 40  # elements: 4 TiB beyond the tensor, where nothing is mapped
SEEN = 1.0  # seconds until the GPU has surely met the fault and nobody has asked for it


@triton.jit
def store(out, where) -> None:  # noqa: ANN001  # the types of a kernel's arguments are Triton's own
    tl.store(out + where, 1.0)


@triton.jit
def clear(out, size: tl.constexpr) -> None:  # noqa: ANN001
    tl.store(out + tl.arange(0, size), 0.0)


@triton.autotune(configs=[triton.Config({}, num_warps=warps) for warps in (1, 2)], key=["size"])
@triton.jit
def tuned(out, size: tl.constexpr) -> None:  # noqa: ANN001
    tl.store(out + tl.arange(0, size), 0.0)


def warmed() -> Any:
    """A matrix (512 x 512 floats) for which cuBLAS has its handle, and Triton's launcher was used once without harm."""
    square = torch.ones(512, 512, device="cuda")
    torch.mm(square, square)
    store[(1,)](square, 0)
    torch.cuda.synchronize()
    return square


def illegal_access_cublas() -> None:
    """A kernel stores far outside; a matrix product is the first to hear of it, and only the engine's last synchronisation gives it its name."""
    square = warmed()
    store[(1,)](square, WILD)
    time.sleep(SEEN)
    try:
        torch.mm(square, square)
    finally:
        torch.cuda.synchronize()


def illegal_access_triton() -> None:
    """A kernel stores far outside; the next launch of one that is in order is the first to hear of it."""
    square = warmed()
    store[(1,)](square, WILD)
    time.sleep(SEEN)
    store[(1,)](square, 0)


def triton_in_capture() -> None:
    """The first launch of a kernel, so its module is loaded, while a graph is captured."""
    square = warmed()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        clear[(1,)](square, 128)


def autotune_in_capture() -> None:
    """The first launch of an autotuned kernel while a graph is captured: it times its configurations, and so synchronises."""
    square = warmed()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        tuned[(1,)](square, 128)


FAULTS = {
    "illegal-access-cublas": illegal_access_cublas, "illegal-access-triton": illegal_access_triton,
    "triton-in-capture": triton_in_capture, "autotune-in-capture": autotune_in_capture,
}  # fmt: skip

if __name__ == "__main__":
    FAULTS[sys.argv[1]]()
