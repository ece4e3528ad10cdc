"""Which column of nvidia-smi's CSV is what: by its heading, or, where that was left out, by what stands in the columns.

>>> named(["timestamp", "index", "memory.used [MiB]"]).told(["2026/10/10 01:02:03.123", "1", "21890 MiB"])
Told(stamp='2026/10/10 01:02:03.123', gpu='1', used=21890.0, total=None, free=None, pid=None)
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.expressions import compiled_later

_HEADING = compiled_later(r"(?:^|,)\s*(?:memory\.(?:used|free|total)|used_(?:gpu_)?memory)(?: \[MiB\])?\s*(?=,|$)")
_FIGURE = compiled_later(r"(\d{1,8})(?: MiB)?")
_STAMP = compiled_later(r"20\d\d/\d\d/\d\d \d\d:\d\d:\d\d")
_NAMES = {
    "timestamp": "stamp", "index": "gpu", "memory.total": "total", "memory.used": "used", "memory.free": "free", "pid": "pid",
    "used_memory": "used", "used_gpu_memory": "used",
}  # fmt: skip
_IDENTITIES = ("uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "name", "gpu_name")  # of a GPU, where no index is asked for; the best first
MOST_GPUS = 64
SHARE = 100  # what goes no higher may be a utilisation or a temperature


class Told(msgspec.Struct, frozen=True):
    """One row: MiB, None where it does not say."""

    stamp: str
    gpu: str
    used: float
    total: float | None
    free: float | None
    pid: int | None


class Columns(msgspec.Struct, frozen=True):
    """The position of each column that counts, by what it means: stamp, gpu, used, total, free, pid."""

    at: dict[str, int]

    @property
    def shown(self) -> str:
        return ", ".join(name for name, _ in sorted(self.at.items(), key=lambda pair: pair[1]))

    def told(self, cells: Sequence[str]) -> Told | None:
        """What a row says; None where it does not say how much is in use."""
        found = {name: cells[position] for name, position in self.at.items() if position < len(cells)}
        total, free, used = (_figure(found.get(name, "")) for name in ("total", "free", "used"))
        if used is None and total is not None and free is not None:
            used = total - free
        if used is None or len(cells) <= max(self.at.values()):
            return None
        pid = found.get("pid", "")
        return Told(found.get("stamp", ""), found.get("gpu", "") or "0", used, total, free, int(pid) if pid.isdecimal() and len(pid) < 11 else None)


def is_heading(text: str) -> bool:
    """Whether a line names columns of device memory as nvidia-smi does."""
    return bool(_HEADING.search(text))


def named(cells: Sequence[str]) -> Columns:
    """The columns by a heading."""
    bare = [cell.partition(" [")[0].strip() for cell in cells]
    at = {_NAMES[name]: position for position, name in enumerate(bare) if name in _NAMES}
    identity = next((name for name in _IDENTITIES if name in bare), None)
    if "gpu" not in at and identity is not None:
        at["gpu"] = bare.index(identity)
    return Columns(at)


def guessed(rows: Sequence[Sequence[str]]) -> Columns | None:
    """The columns by what stands in them; None where no column can be memory.

    The total never changes and is the largest; used stands before free, as nvidia-smi's own help lists them.
    """
    width = max((len(row) for row in rows), default=0)
    whole = [row for row in rows if len(row) == width]
    figures = {at: values for at in range(width) if (values := _column(whole, at))}
    at: dict[str, int] = {}
    if any(_STAMP.match(row[0]) for row in whole):
        at["stamp"] = 0
    memory = [column for column, values in figures.items() if max(values) > SHARE]
    if not memory:
        return None
    index = next((column for column, values in figures.items() if column < memory[0] and max(values) < MOST_GPUS), None)
    if index is not None:
        at["gpu"] = index
    return Columns(at | _of_memory(memory, figures))


def _of_memory(memory: Sequence[int], figures: dict[int, list[float]]) -> dict[str, int]:
    total = _total(memory, figures)
    rest = [column for column in memory if column != total]
    told = {"total": total} if total is not None else {}
    return told | dict(zip(("used", "free"), rest, strict=False))


def _total(memory: Sequence[int], figures: dict[int, list[float]]) -> int | None:
    """The column of the total: none of the others is ever larger; None where there is but one."""
    for column in memory if len(memory) > 1 else ():
        others = [figures[other] for other in memory if other != column]
        if all(all(own >= other for own, other in zip(figures[column], values, strict=True)) for values in others) and _is_constant(figures[column]):
            return column
    return None


def _is_constant(values: Sequence[float]) -> bool:
    return len(set(values)) <= MOST_GPUS and min(values) * 2 >= max(values)


def _column(rows: Sequence[Sequence[str]], at: int) -> list[float]:
    values = [_figure(row[at]) for row in rows]
    return [value for value in values if value is not None] if None not in values else []


def _figure(cell: str) -> float | None:
    found = _FIGURE.fullmatch(cell)
    return float(found[1]) if found else None
