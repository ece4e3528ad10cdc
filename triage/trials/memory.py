"""How much device memory a run took: at rest, in its worst step, and what was left then; by samples, and by the text of an allocation that failed.

torch's allocator keeps what a step needed once, so samples taken after the worst step still show it; memory that a library takes and gives back
between two samples is not seen. So what is free by samples is an upper bound, and the interval between them is told.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

import msgspec

from triage.model import Boot, Instant, Seconds, Verdict
from triage.parsers.gpu_memory import MemorySample
from triage.parsers.reading import Reading
from triage.trials.lines import Window

_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>[KMGT]i?B|B(?:ytes)?|bytes)")
_CAPACITY = re.compile(r"total capac?i?ty of (?P<total>[\d.]+ [KMGT]i?B)")
_FIGURE = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
WHOLE = Window()
NEAR: Seconds = 60.0  # before a boot: what was in use earlier may be the boot before
_MIB = {"B": 2.0**-20, "K": 2.0**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20}


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU in one run; MiB, None where nothing tells. `base`: least in use in the minute before the boot. `rest`: after READY, before any work.

    `worst`: the most that was in use from READY on, `free`: the least that was left. `short`: what an allocation that failed lacked; where
    it is set, `free` is what was left before it. `interval`: seconds between samples.
    """

    gpu: str
    total: float | None = None
    base: float | None = None
    rest: float | None = None
    worst: float | None = None
    free: float | None = None
    short: float | None = None
    interval: Seconds | None = None
    samples: int = 0

    @property
    def own_rest(self) -> float | None:
        """What the engine itself holds at rest: without what was in use before it."""
        return None if self.rest is None else self.rest - (self.base or 0.0)

    @property
    def step(self) -> float | None:
        """What the worst step takes on top of rest; None where it did not come to its end."""
        return None if self.short is not None or self.worst is None or self.rest is None else self.worst - self.rest

    @property
    def margin(self) -> float | None:
        """What is left at the worst step; where an allocation failed, an upper bound: the step may have wanted more after it."""
        return -self.short if self.short is not None else self.free


class BootLines(msgspec.Struct, frozen=True, kw_only=True):
    """What a boot's own lines say of memory; GiB as the engine rounds them, of several ranks the most that is taken and the least that is free."""

    weights: float | None = None
    kv_cache: float | None = None
    graphs: float | None = None
    free: float | None = None  # after weights, cache and graphs

    @property
    def is_empty(self) -> bool:
        return all(value is None for value in (self.weights, self.kv_cache, self.graphs, self.free))


def boot_lines(boot: Boot) -> BootLines:
    """What a boot told. SGLang writes GB and means GiB; what was free is told several times, and the last word of each rank counts."""
    free: dict[str, float] = {}
    for event in boot.events:
        for value in _values(event.data, ("avail_gb", "free_after_pool_gb")):
            free[f"{event.process}{event.rank}"] = value
    found = {name: [v for e in boot.events for v in _values(e.data, keys)] for name, keys in _TOLD.items()}
    return BootLines(free=min(free.values(), default=None), **{name: max(values, default=None) for name, values in found.items()})


_TOLD = {"weights": ("model_gib", "model_gb"), "kv_cache": ("kv_cache_gib",), "graphs": ("graphs_gib",)}


def _values(data: Mapping[str, str], keys: Sequence[str]) -> list[float]:
    texts = [data[key] for key in keys if key in data]
    return [float(text) for text in texts if _FIGURE.fullmatch(text)]


def measured(
    readings: Sequence[Reading], lives: Sequence[Boot], fault: Verdict | None, work: Seconds | None, window: Window = WHOLE
) -> tuple[Memory, ...]:
    """The memory of each GPU that was sampled, or that an allocation failed on.

    `work`: when the engine was given any; `window`: what of the boot is the run, where several were cut out of one.
    """
    every = [sample for reading in readings for sample in reading.memory if sample.at is not None]
    samples = [sample for sample in every if sample.pid is None] or _of_processes(every)
    by_gpu: dict[str, list[MemorySample]] = {}
    for sample in samples:
        by_gpu.setdefault(sample.gpu, []).append(sample)
    found = {gpu: _of_samples(gpu, sorted(own, key=_when), lives, work, window) for gpu, own in by_gpu.items()}
    failed = _failed(fault)
    if failed is not None:
        gpu = failed.gpu if failed.gpu in found or len(found) != 1 else next(iter(found))
        before = found.get(gpu, Memory(gpu=gpu))
        found[gpu] = msgspec.structs.replace(before, short=failed.short, free=failed.free, total=before.total or failed.total)
    return tuple(found[gpu] for gpu in sorted(found))


def _of_processes(samples: Sequence[MemorySample]) -> list[MemorySample]:
    """What all processes on a GPU had in use at each moment, where only they were sampled: nothing tells then what was free."""
    sums: dict[tuple[str, Instant | None], float] = {}
    for sample in samples:
        sums[sample.gpu, sample.at] = sums.get((sample.gpu, sample.at), 0.0) + sample.used
    return [MemorySample(at, gpu, used) for (gpu, at), used in sums.items()]


def mib(text: str) -> float | None:
    """An amount of memory in MiB; None for what is none.

    >>> mib("1.50 GiB"), mib("98.00 MiB"), mib("much")
    (1536.0, 98.0, None)
    """
    found = _AMOUNT.search(text)
    return float(found["number"]) * _MIB[found["unit"][0].upper()] if found else None


def _when(sample: MemorySample) -> Seconds:
    return sample.at.earliest if sample.at else 0.0


def _of_samples(gpu: str, samples: Sequence[MemorySample], lives: Sequence[Boot], work: Seconds | None, window: Window) -> Memory:
    started = min((boot.start.earliest for boot in lives if boot.start), default=None)
    ready = min((boot.ready.latest for boot in lives if boot.ready), default=None)
    ended = max((boot.end.earliest for boot in lives if boot.end), default=None)
    before = [(_when(s), s.used) for s in samples if started is not None and _when(s) < started]
    served = [s for s in samples if ready is not None and _when(s) >= ready and (ended is None or _when(s) <= ended) and window.holds(s.at)]
    idle = [s.used for s in served if work is not None and _when(s) < work]
    gaps = [_when(after) - _when(one) for one, after in pairwise(samples)]
    return Memory(
        gpu=gpu,
        total=max((s.total for s in samples if s.total is not None), default=None),
        base=min(used for at, used in before if at >= before[-1][0] - NEAR) if before else None,
        rest=median(idle) if idle else None,
        worst=max((s.used for s in served), default=None),
        free=min((left for s in served if (left := _left(s)) is not None), default=None),
        interval=median(gaps) if gaps else None,
        samples=len(samples),
    )


def _left(sample: MemorySample) -> float | None:
    if sample.free is not None:
        return sample.free
    return None if sample.total is None else sample.total - sample.used


def _failed(fault: Verdict | None) -> Memory | None:
    """What the text of a failed allocation tells: how much was wanted and how much was free; None where it tells no figures."""
    root = fault.root if fault else None
    wanted, free = (mib(root.data.get(key, "")) for key in ("wanted", "free")) if root else (None, None)
    if root is None or wanted is None or free is None:
        return None
    capacity = _CAPACITY.search(root.text)
    return Memory(gpu=root.data.get("gpu", "0"), total=mib(capacity["total"]) if capacity else None, free=free, short=wanted - free)
