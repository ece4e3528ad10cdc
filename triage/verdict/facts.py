"""Where in the engine an incident struck: the size and kind of its step, the failing frame of engine code, rank, GPU and host.

>>> engine_frame(("/opt/engine/model.py:7 forward", "/usr/lib/python3/dist-packages/torch/nn/functional.py:2300 linear"))
'/opt/engine/model.py:7 forward'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from triage.expressions import compiled_later
from triage.model import Event, Facts, Family, Incident

# Packages that an engine calls: a frame in them tells how something failed, not where the engine was.
LIBRARIES = frozenset(
    {
        "torch", "triton", "numpy", "ray", "uvloop", "uvicorn", "starlette", "fastapi", "anyio", "click", "zmq", "cupy", "msgspec", "multiprocess",
        "concurrent", "torch_npu", "torchvision", "einops", "tqdm", "tvm_ffi", "transformers", "accelerate",
    }
)  # fmt: skip
_PACKAGE = compiled_later(r"(?:site|dist)-packages/(?P<name>\w+)")
_NO_CODE_OF_ITS_OWN = compiled_later(r"^<|/lib/python3\.\d+/(?!(?:site|dist)-packages/)|torchinductor|/\.triton/|/\.cache/")
Kind = Literal["", "prefill", "decode"]


class Step(msgspec.Struct, frozen=True):
    """A step: what kind, and how many tokens it had, how many of them in its longest prefill, of how many requests."""

    kind: Kind = ""
    tokens: int | None = None
    chunk: int | None = None
    requests: int | None = None


def facts(incident: Incident, root: Event | None, family: Family) -> Facts:
    """What the incident's own lines say of the place where it struck; of a hang, the rank is the one that the dumps point at."""
    line = _step_line(incident, root)
    step = _step_of(line) if line is not None else Step()
    if line is None and root is not None:
        line, step = _step_by_frames(incident, root)
    return Facts(
        step=step.kind,
        tokens=step.tokens,
        chunk=step.chunk,
        requests=step.requests,
        step_line=line,
        frame=engine_frame(root.frames) if root is not None else "",
        rank=_suspect(incident) if family == "hang" else root.rank if root is not None else None,
        gpu=(root.data.get("pci") or root.data.get("gpu", "")) if root is not None else "",
        host=(root.host if root is not None else "") or incident.host,
    )


def engine_frame(frames: Sequence[str]) -> str:
    """The innermost frame that is neither Python's, nor torch's, nor another library's; nothing where all of them are."""
    return next((frame for frame in reversed(frames) if _is_engine(frame)), "")


def _is_engine(frame: str) -> bool:
    path = frame.partition(":")[0]
    if not path.endswith(".py"):
        return False
    package = _PACKAGE.search(path)
    if package is not None:
        return package["name"] not in LIBRARIES
    return not _NO_CODE_OF_ITS_OWN.search(path) and path.partition("/")[0] not in LIBRARIES


def _step_of(line: Event) -> Step:
    """The step by the figures of a `step` line."""
    kind = line.data.get("step", "")
    tokens, chunk, requests = (int(line.data[key]) if key in line.data else None for key in ("tokens", "chunk", "requests"))
    return Step("prefill" if kind == "prefill" else "decode" if kind == "decode" else "", tokens, chunk, requests)


def _step_line(incident: Incident, root: Event | None) -> Event | None:
    """The engine's own word on the step: the first after the root, since it is written while the engine goes down; else the last."""
    told = [e for e in incident.events if e.kind == "step"]
    if root is None:
        return told[-1] if told else None
    after = (e for e in told if e.place.source == root.place.source and e.order >= root.order)
    return next(after, told[-1] if told and told[-1].place.source != root.place.source else None)


def _step_by_frames(incident: Incident, root: Event) -> tuple[Event | None, Step]:
    """The step where no line tells it: by the function that was running and the last batch before, or by the shape of a cublasLt call.

    Of a GEMM that cublasLt was asked for, n is the number of tokens (transposed weights first).
    """
    names = {frame.rpartition(" ")[2] for frame in root.frames}
    if "forward_decode" in names:
        return root, Step("decode")
    if "forward_extend" in names:
        batch = _last_prefill(incident, root)
        return (batch, Step("prefill", None, int(batch.data["new_tokens"]))) if batch else (root, Step("prefill"))
    if {"m", "n", "k"} <= root.data.keys() and root.data["n"].isdecimal():
        return root, Step("", int(root.data["n"]))
    return None, Step()


def _last_prefill(incident: Incident, root: Event) -> Event | None:
    before = [e for e in incident.events if e.order < root.order and e.place.source == root.place.source]
    return next((e for e in reversed(before) if e.data.get("new_tokens", "").isdecimal()), None)


def _suspect(incident: Incident) -> int | None:
    """The one rank that the dumps point at."""
    named = {s.rank for s in incident.dump.suspects if s.strength != "cannot-tell" and s.rank >= 0} if incident.dump else set()
    return named.pop() if len(named) == 1 else None


def words(found: Facts) -> str:
    """The step in one clause: `a prefill step of 4,096 tokens (its longest chunk 4,093, 4 requests)`; nothing where it is not known."""
    if found.step_line is None:
        return ""
    kind = f"a {found.step} step" if found.step else "a step"
    size = f" of {found.tokens:,} tokens" if found.tokens is not None else ""
    more = [f"its longest chunk {found.chunk:,}"] if found.chunk is not None else []
    more += [f"{found.requests:,} request{'s' if found.requests != 1 else ''}"] if found.requests is not None else []
    return kind + size + (f" ({', '.join(more)})" if more else "")
