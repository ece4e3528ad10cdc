"""The lanes of one dump while they are read: the collectives of each group, one row for each sequence number."""

from __future__ import annotations

import re
from array import array

import msgspec

from triage.parsers.flight_recorder.document import Row, Sizes, frames_of
from triage.parsers.flight_recorder.records import RETIRED, TIMED_OUT, Lane, Operation, Signature

KEY_BYTES = 7
MOST_TENSORS = 1024  # of the entries of a coalesced group that are told one by one; more of them count for its key only
# Each rank of these may give other sizes: only name and dtypes have to agree.
SIZES_MAY_DIFFER = re.compile(r"all_?to_?all|_v\b|_v_|^gather$|^scatter$", re.IGNORECASE)
Parts = tuple[str, Sizes, Sizes, tuple[str, ...], tuple[str, ...]]  # the fields of a Signature


class Kind(msgspec.Struct, frozen=True):
    """A `profiling_name` taken apart."""

    backend: str
    operation: str
    events: bool
    transfer: bool


class Rows:
    """The collectives of one group while they are read; entries of one number (a coalesced group) become one row."""

    def __init__(self, key: tuple[str, str], kind: Kind) -> None:
        self.key = key
        self.kind = kind
        self.sequences: list[int] = []
        self.signatures: list[int] = []
        self.created: list[int] = []
        self.progress = bytearray()
        self.carried = 0
        self.open: dict[int, list[Row]] = {}
        self.last: Row | None = None
        self.joined: list[Row] = []  # to the last one

    def add(self, row: Row, sequence: int, key: int, progress: int) -> None:
        """A new row."""
        if progress < RETIRED:
            self.open[len(self.progress)] = [row]
        self.sequences.append(sequence)
        self.signatures.append(key)
        self.created.append(row.time_created_ns)
        self.progress.append(progress)
        self.last = row
        if self.joined:
            self.joined = []

    def join(self, row: Row, key: int, progress: int) -> int:
        """Take an entry into the last row; gives the key that the row has then."""
        self.joined.append(row)
        self.signatures[-1] = (self.signatures[-1] * 31 + key) % (1 << 8 * KEY_BYTES)
        self.progress[-1] = max(self.progress[-1], progress)
        if self.progress[-1] >= RETIRED:
            self.open.pop(len(self.progress) - 1, None)
        elif opened := self.open.get(len(self.progress) - 1):
            opened.append(row)
        return self.signatures[-1]

    def finished(self, timed: bool) -> Lane:
        """The lane as columns. Where the recorder does not tell completion, retired is as much as ended gets."""
        progress = bytes(self.progress) if timed else bytes(self.progress).replace(bytes([TIMED_OUT]), bytes([RETIRED]))
        front = next((index for index in self.open if progress[index] < RETIRED), None)
        return Lane(
            name=self.key[0],
            desc=self.key[1],
            backend=self.kind.backend,
            timed=timed and self.kind.events,
            sequences=array("q", self.sequences).tobytes(),
            signatures=array("q", self.signatures).tobytes(),
            created=array("q", self.created).tobytes(),
            progress=progress,
            carried=self.carried,
            front=self._operation(front, self.open[front], progress) if front is not None else None,
            last=self._operation(len(progress) - 1, [self.last, *self.joined], progress) if self.last is not None else None,
        )

    def _operation(self, index: int, rows: list[Row], progress: bytes) -> Operation:
        return Operation(
            sequence=self.sequences[index],
            signature=_signature(rows),
            created=rows[0].time_created_ns,
            progress=progress[index],
            timeout_ms=rows[0].timeout_ms,
            frames=frames_of(rows[0].frames),
        )


def _operation(row: Row) -> str:
    """What is done, without the backend that does it."""
    return row.profiling_name.rpartition(":")[2]


def _signature(rows: list[Row]) -> Signature:
    """What entries of one number do: the operation of the first, with the tensors of all as far as every rank has to have the same."""
    first = rows[0]
    same = [row for row in rows[1:MOST_TENSORS] if not SIZES_MAY_DIFFER.search(_operation(row))]
    return Signature(
        _operation(first),
        first.input_sizes + tuple(size for row in same for size in row.input_sizes[:MOST_TENSORS]),
        first.output_sizes + tuple(size for row in same for size in row.output_sizes[:MOST_TENSORS]),
        tuple(dict.fromkeys(name for row in (first, *same) for name in row.input_dtypes)) if same else first.input_dtypes,
        tuple(dict.fromkeys(name for row in (first, *same) for name in row.output_dtypes)) if same else first.output_dtypes,
    )
