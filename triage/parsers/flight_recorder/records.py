"""What one rank's flight-recorder dump says, as frozen records: groups, positions, operations by group, open transfers, stacks."""

from __future__ import annotations

from typing import Literal

import msgspec

from triage.model import Problem

# How far an operation came, as far as its dump tells. The order matters: from RETIRED on it no longer holds its rank.
SCHEDULED, STARTED, TIMED_OUT, RETIRED, COMPLETED = range(5)


class Frame(msgspec.Struct, frozen=True):
    """One frame of the Python or C++ stack that made an operation."""

    name: str = ""
    filename: str = ""
    line: int = 0


class Signature(msgspec.Struct, frozen=True):
    """What an operation is: name without its backend, sizes of its tensors (elements by dimension), dtypes as torch's recorder names them."""

    operation: str
    input_sizes: tuple[tuple[int, ...], ...] = ()
    output_sizes: tuple[tuple[int, ...], ...] = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded collective in full. `created` is ns since the epoch on the clock of the rank's host."""

    sequence: int
    signature: Signature
    created: int
    progress: int
    timeout_ms: int | None = None
    frames: tuple[Frame, ...] = ()


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """The collectives of one rank in one process group, one row for each sequence number, oldest first, as columns.

    `sequences`, `signatures` and `created` hold native 64-bit integers, `progress` bytes. `signatures` are keys of
    `Recording.signatures`; equal keys on two ranks mean operations that match. `timed` says that an operation that ended is told
    from one that failed. `carried` is the highest collective number that a point-to-point entry of the group carries. `front`
    is the first operation that has not ended, `last` the last one.
    """

    name: str
    desc: str
    backend: str
    timed: bool
    sequences: bytes
    signatures: bytes
    created: bytes
    progress: bytes
    carried: int = 0
    front: Operation | None = None
    last: Operation | None = None

    def numbers(self) -> memoryview[int]:
        return memoryview(self.sequences).cast("q")

    def keys(self) -> memoryview[int]:
        return memoryview(self.signatures).cast("q")

    def times(self) -> memoryview[int]:
        return memoryview(self.created).cast("q")


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """A send or receive that has not ended; `source` and `target` are ranks inside the group, as `nccl:send 0->1` gives them."""

    name: str
    desc: str
    kind: Literal["send", "recv"]
    source: int
    target: int
    sequence: int
    sizes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    created: int
    timeout_ms: int | None = None
    frames: tuple[Frame, ...] = ()


class Config(msgspec.Struct, frozen=True):
    """A process group as a rank knows it: what it is for, and its members as global ranks (empty where the dump has none)."""

    desc: str
    ranks: tuple[int, ...]


class Status(msgspec.Struct, frozen=True):
    """The last work of a group that a rank enqueued, started and completed, by sequence number; -1 is none."""

    enqueued: int = -1
    started: int = -1
    completed: int = -1


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's dump. `status` is keyed by the rank's own number of the group, which `links` turns into (name, desc).

    `entries` counts what was read; `oldest` is the creation (ns) of the oldest entry, `wrapped` says that older ones were
    overwritten, `gaps` that record numbers between the entries are lacking, `exchanges` are the names of groups that send and
    receive, `exchanging` of those that have done so before their last entry, `exchanged` says that a send or receive among the
    entries has ended, `cut` that the file ends early. `timed` says that all of its lanes tell operations that ended from failed ones.
    """

    rank: int
    file: str
    version: tuple[int, int]
    library: str = ""
    entries: int = 0
    oldest: int = 0
    wrapped: bool = False
    gaps: bool = False
    cut: bool = False
    timed: bool = True
    config: dict[str, Config] = {}
    status: dict[int, Status] = {}
    links: dict[int, tuple[str, str]] = {}
    lanes: tuple[Lane, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    exchanges: tuple[str, ...] = ()
    exchanging: tuple[str, ...] = ()
    exchanged: bool = False
    signatures: dict[int, Signature] = {}
    problems: tuple[Problem, ...] = ()

    @property
    def only_active(self) -> bool:
        """Whether nothing in it has ended: what had ended was left out, or the ring is too short for what was under way."""
        return not self.exchanged and all(max(lane.progress, default=SCHEDULED) < RETIRED for lane in self.lanes)

    @property
    def newest(self) -> int:
        """When the rank enqueued its last collective, in ns since the epoch on its own clock; 0 where the dump has none."""
        return max((lane.last.created for lane in self.lanes if lane.last), default=0)


class RankDumps(msgspec.Struct, frozen=True, kw_only=True):
    """The dumps of one hang, by rank; `unreadable` tells of files that could not be used, `lost` of ranks whose file is one of these.

    `written` is when the newest file was changed, in seconds since the epoch; 0 where that is not known.
    """

    directory: str
    prefix: str = ""
    recordings: tuple[Recording, ...] = ()
    unreadable: tuple[Problem, ...] = ()
    lost: tuple[int, ...] = ()
    world: int | None = None
    written: float = 0.0

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(recording.rank for recording in self.recordings)
