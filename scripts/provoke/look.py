"""Prints, as one JSON object, what this Python has for provoking faults: versions by name, null for what is missing.

Run as a process of its own: it makes a CUDA context, which would take memory from the faults.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

MULTI_RANK = (2, 30)  # of NCCL, from which on NCCL_MULTI_RANK_GPU_ENABLE=1 lets ranks share a GPU (torch 2.14 brings 2.30.7)


def version_of(name: str) -> str | None:
    """The version of a module, or None where it is missing or does not load (a CUDA library it needs may be lacking)."""
    try:
        return str(__import__(name).__version__)
    except (ImportError, OSError, AttributeError):
        return None


def driver() -> str | None:
    """The version of the NVIDIA driver, by nvidia-smi."""
    if not shutil.which("nvidia-smi"):
        return None
    asked = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return asked.stdout.partition("\n")[0].strip() or None if not asked.returncode else None


def name_of_gpu() -> str | None:
    """The name of the NVIDIA GPU that torch uses, or None where it finds none or cannot open it."""
    import torch

    try:
        return torch.cuda.get_device_name(0) if torch.version.cuda and torch.cuda.is_available() else None
    except RuntimeError:
        return None


def cuda() -> dict[str, str | None]:
    """What torch brings for CUDA: `cuda`, `nccl`, `nccl-multi-rank` (where two ranks may share a GPU) and `nvrtc`."""
    import torch
    import torch.cuda.nccl

    number = torch.cuda.nccl.version() if torch.distributed.is_nccl_available() else ()
    nccl = ".".join(map(str, number)) or None
    return {
        "cuda": torch.version.cuda, "nccl": nccl, "nccl-multi-rank": nccl if number >= MULTI_RANK else None,
        "nvrtc": torch.version.cuda if hasattr(torch.cuda, "_compile_kernel") else None,
    }  # fmt: skip


def main() -> None:
    """Print it."""
    found = {"python": sys.version.split()[0], "torch": version_of("torch"), "triton": version_of("triton"), "driver": driver()}
    if found["torch"]:
        found |= {"gpu": name_of_gpu(), **cuda()}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
