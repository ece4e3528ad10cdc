"""Reads samples of device memory as nvidia-smi writes them: CSV of --query-gpu and --query-compute-apps (also with -l), and its table.

Figures are MiB. A CSV may come with or without its heading and its units; a loop in a shell repeats the heading::

    timestamp, index, memory.total [MiB], memory.used [MiB], memory.free [MiB]
    2026/10/10 01:02:03.123, 0, 23034 MiB, 21890 MiB, 1144 MiB

    |  0%   43C    P0              70W /  72W |  21890MiB /  23034MiB |    100%      Default |

>>> [sample.used for sample in parse([Row("0, 21890 MiB, 23034 MiB")]).samples]
[21890.0]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import chain, islice

import msgspec

from triage.expressions import compiled_later
from triage.model import Instant
from triage.parsers.gpu_columns import MOST_GPUS, Columns, guessed, is_heading, named

_STAMP = compiled_later(r"(?P<year>20\d\d)/(?P<rest>\d\d/\d\d \d\d:\d\d:\d\d)(?P<part>\.\d{1,6})?")
_TABLE_TIME = compiled_later(r"^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?P<date>[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d 20\d\d)\s*$")
_TABLE_GPU = compiled_later(r"^\|\s{1,6}(?P<gpu>\d{1,3})\s+\S[^|]*\|\s*[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:")
_TABLE_MEMORY = compiled_later(r"\|\s*(?P<used>\d{1,8})MiB\s*/\s*(?P<total>\d{1,8})MiB\s*\|")
_TABLE_PROCESS = compiled_later(r"^\|\s{1,6}(?P<gpu>\d{1,3})\s.*?\s(?P<pid>\d{1,10})\s+[CGM+]{1,5}\s.*?\s(?P<used>\d{1,8})MiB\s*\|\s*$")
_ROW = compiled_later(
    r"^\s*20\d\d/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}, (?:[^,]{1,80}, ){0,12}\d{1,8}(?: MiB)?(?:, [^,]{1,80}){0,12}\s*$"
    r"|^\s*(?:[^,]{1,80}, ){0,12}\d{1,8} MiB(?:, [^,]{1,80}){0,12}\s*$"
)
MOST_ROWS_TRIED = 200
MOSTLY = 0.8
ROUNDING = 2.0  # MiB by which parts that are rounded each miss their total


class Row(msgspec.Struct, frozen=True):
    """One line without its envelope, when it was written as far as the envelope tells, and its number in the source."""

    text: str
    at: Instant | None = None
    number: int = 0


class MemorySample(msgspec.Struct, frozen=True):
    """What one GPU, or one process on it (`pid`), had in use at one moment; MiB, None where the row does not say."""

    at: Instant | None
    gpu: str
    used: float
    total: float | None = None
    free: float | None = None
    pid: int | None = None


class MemoryLog(msgspec.Struct, frozen=True):
    """The samples in order, what had to be assumed to read them, and how many lines were none."""

    samples: tuple[MemorySample, ...]
    assumption: str = ""
    unread: int = 0
    first_unread: str = ""


def looks_like_gpu_memory(lines: Sequence[str]) -> bool:
    """Whether these first lines are samples of device memory: a heading of nvidia-smi's CSV, its table, or rows of the CSV."""
    texts = [line for line in lines[:MOST_ROWS_TRIED] if line.strip()]
    if any(is_heading(text) for text in texts[:3]) or any(_TABLE_MEMORY.search(text) for text in texts):
        return any(is_heading(text) or "NVIDIA-SMI" in text or _TABLE_GPU.match(text) for text in texts)
    return bool(texts) and sum(bool(_ROW.match(text)) for text in texts) >= MOSTLY * len(texts)


def parse(rows: Iterable[Row], zone: tzinfo | None = None) -> MemoryLog:
    """All samples of one log. Stamps without a zone are in `zone` (default UTC); never raises for what a line holds."""
    reader = _Reader(zone)
    told = (row for row in rows if row.text.strip())
    first = list(islice(told, MOST_ROWS_TRIED))
    reader.columns, assumption = _layout(first)
    samples = [sample for row in chain(first, told) for sample in reader.read(row)]
    if _is_cut(samples):
        samples.pop()
        reader.count("the last row, which is cut off")
    return MemoryLog(tuple(samples), assumption if samples else "", reader.unread, reader.first_unread)


def _is_cut(samples: Sequence[MemorySample]) -> bool:
    """Whether the last figure of all lacks its end, as where nvidia-smi was killed while it wrote: then the parts no longer make the total."""
    own = [sample for sample in samples[-2 * MOST_GPUS :] if sample.gpu == samples[-1].gpu and sample.pid is None]
    kept = [sample.total - sample.used - sample.free for sample in own if sample.total is not None and sample.free is not None]
    return len(kept) > 1 and kept[-1] > kept[-2] + ROUNDING


def _layout(rows: Sequence[Row]) -> tuple[Columns | None, str]:
    """The columns of a CSV whose heading was left out, and what that takes for granted."""
    texts = [row.text for row in rows]
    if any(is_heading(text) for text in texts) or any(_TABLE_MEMORY.search(text) for text in texts):
        return None, ""
    columns = guessed([_cells(text) for text in texts])
    return columns, f"no heading: its columns were taken to be {columns.shown}" if columns else ""


class _Reader:
    """Reads lines one after the other; remembers the heading, and in a table the time and the GPU that were told last."""

    def __init__(self, zone: tzinfo | None) -> None:
        from datetime import UTC

        self.zone = zone or UTC
        self.columns: Columns | None = None
        self.unread = 0
        self.first_unread = ""
        self._gpu = "0"
        self._ends_in_unit = False
        self._at: Instant | None = None

    def read(self, row: Row) -> Iterator[MemorySample]:
        text = row.text
        if is_heading(text):
            self.columns, self._ends_in_unit = named(_cells(text)), False
        elif text.lstrip()[:1] in "|+" or _TABLE_TIME.match(text.strip()):
            yield from self._table_line(text.strip(), row.at)
        elif self.columns is not None:
            sample = self._csv_row(_cells(text), row)
            has_unit = text.rstrip().endswith("MiB")
            if sample is not None and (has_unit or not self._ends_in_unit):
                self._ends_in_unit = has_unit
                yield sample
            else:
                self.count(text)  # also a row whose end is missing, and with it the end of a figure
        else:
            self.count(text)

    def count(self, text: str) -> None:
        """One more line that is no sample."""
        self.unread += 1
        self.first_unread = self.first_unread or text

    def _table_line(self, text: str, outer: Instant | None) -> Iterator[MemorySample]:
        if stamp := _TABLE_TIME.match(text):
            self._at = self._instant(" ".join(stamp["date"].split()), "%b %d %H:%M:%S %Y")
        elif gpu := _TABLE_GPU.match(text):
            self._gpu = gpu["gpu"]
        elif memory := _TABLE_MEMORY.search(text):
            used, total = float(memory["used"]), float(memory["total"])
            yield MemorySample(outer or self._at, self._gpu, used, total)
        elif process := _TABLE_PROCESS.match(text):
            yield MemorySample(outer or self._at, process["gpu"], float(process["used"]), pid=int(process["pid"]))

    def _csv_row(self, cells: Sequence[str], row: Row) -> MemorySample | None:
        """The sample of one row; None where it says nothing of memory in use."""
        told = self.columns.told(cells) if self.columns is not None else None
        if told is None:
            return None
        at = self._stamp(told.stamp) if told.stamp else None
        return MemorySample(at or row.at, told.gpu, told.used, told.total, told.free, told.pid)

    def _stamp(self, text: str) -> Instant | None:
        found = _STAMP.search(text)
        if found is None:
            return None
        at = self._instant(f"{found['year']}/{found['rest']}", "%Y/%m/%d %H:%M:%S")
        return at if at is None or not found["part"] else Instant.sharp(at.earliest + float(found["part"]), "inner stamp")

    def _instant(self, text: str, form: str) -> Instant | None:
        try:
            return Instant.sharp(datetime.strptime(text, form).replace(tzinfo=self.zone).timestamp(), "inner stamp")
        except (ValueError, OverflowError):
            return None


def _cells(text: str) -> list[str]:
    return [cell.strip() for cell in text.split(",")]
