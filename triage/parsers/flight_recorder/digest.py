"""Turns the entries of one dump into lanes (collectives by group), open transfers (send, recv), and links of local group numbers."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from triage.model import Problem
from triage.parsers.flight_recorder.document import MOST_GROUPS, Document, Row, frames_of, read_rows
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.records import COMPLETED, RETIRED, SCHEDULED, STARTED, TIMED_OUT, Lane, Operation, Recording, Signature, Transfer

# Backends whose work carries events, so that a retired operation that never completed is one that timed out. Others (gloo, and
# what a recorder hook writes) are `scheduled` for ever and `retired` when they end, however they end.
BACKENDS_WITH_EVENTS = frozenset(["nccl", "ncclx", "rccl", "rcclx", "hccl", "mccl", "xccl"])
# More retired operations without one completed than a watchdog leaves: the recorder does not tell completion at all.
MOST_TIMED_OUT = 4
MOST_OPEN_TRANSFERS = 4096
KEY_BYTES = 7

TRANSFER = re.compile(r"(?P<kind>send|recv) (?P<here>\d{1,6})(?P<arrow>->|<-)(?P<there>\d{1,6})$")
# Each rank of these may give other sizes: only name and dtypes have to agree.
SIZES_MAY_DIFFER = re.compile(r"all_?to_?all|_v\b|_v_|^gather$|^scatter$", re.IGNORECASE)


def digest(document: Document, *, rank: int, file: str, cut: bool = False, limited: bool = False) -> Recording:
    """The recording of `rank`; raises DumpError where the entries expand beyond bounds, unless the process is `limited` anyway."""
    book = _Book()
    rows = read_rows(document, limited=limited)
    for row in _all_but_last(rows) if cut else rows:
        book.add(row)
    timed = book.completed > 0 or book.timed_out <= MOST_TIMED_OUT
    return Recording(
        rank=rank,
        file=file,
        version=document.version,
        library=document.library,
        entries=book.entries,
        oldest=book.first.time_created_ns if book.first else 0,
        wrapped=book.first is not None and book.first.record_id > 0,
        cut=cut,
        timed=timed and all(kind.events for kind in book.kinds.values()),
        config=document.config,
        status=document.status,
        links=book.links,
        lanes=tuple(lane.finished(timed) for lane in book.lanes.values()),
        transfers=tuple(book.open_transfers()),
        exchanges=tuple(sorted(book.exchanges)),
        signatures=book.signatures,
        problems=tuple(_problems(document, book, file, cut)),
    )


def _all_but_last(rows: Iterator[Row | None]) -> Iterator[Row | None]:
    """Without the entry that a cut went through: it may lack the very fields that tell how it stands."""
    before = None
    for row in rows:
        yield before
        before = row


def _problems(document: Document, book: _Book, file: str, cut: bool) -> Iterator[Problem]:
    if cut:
        yield Problem(file, f"the file ends early: read up to the cut, {book.entries} entries; the newest may be lost")
    elif broken := len(document.rows) - book.entries:
        yield Problem(file, f"{broken} of {len(document.rows)} entries are none that a recorder writes")


class _Kind(msgspec.Struct, frozen=True):
    """A `profiling_name` taken apart."""

    backend: str
    operation: str
    events: bool
    transfer: bool


class _Book:
    """What has been read of one dump so far."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[str, ...], _Lane] = {}
        self.transfers: dict[tuple[str, int, str], Row] = {}
        self.exchanges: set[str] = set()
        self.links: dict[int, tuple[str, str]] = {}
        self.signatures: dict[int, Signature] = {}
        self.known: dict[tuple[object, ...], int] = {}
        self.kinds: dict[str, _Kind] = {}
        self.first: Row | None = None
        self.entries = 0
        self.completed = 0
        self.timed_out = 0

    def add(self, row: Row | None) -> None:
        """Take an entry in; None stands for one that is none."""
        if row is None:
            return
        self.entries += 1
        self.first = self.first or row
        group = row.process_group or (str(row.pg_id),)
        kind = self.kinds.get(row.profiling_name) or self._kind(row.profiling_name)
        if row.state == "completed" or row.time_discovered_completed_ns:
            progress = COMPLETED
            self.completed += 1
        elif row.retired:
            progress = TIMED_OUT if kind.events else RETIRED
            self.timed_out += kind.events
        else:
            progress = STARTED if row.state == "started" or row.time_discovered_started_ns else SCHEDULED
        lane = self.lanes.get(group) or self._lane(group, row.pg_id, kind)
        sequence = (row.seq_id if row.collective_seq_id is None else row.collective_seq_id) or 0
        if row.is_p2p or kind.transfer:
            self._transfer(row, lane.key, kind, progress)
            lane.carried = max(lane.carried, sequence)
            return
        key = lane.add(row, sequence, self._signature(row, kind.operation), progress)
        if key not in self.signatures:
            self.signatures[key] = _signature(row, kind.operation)

    def _kind(self, name: str) -> _Kind:
        backend, _, operation = name.rpartition(":")
        kind = self.kinds[name] = _Kind(backend, operation, backend in BACKENDS_WITH_EVENTS, operation.startswith(("send ", "recv ")))
        return kind

    def _lane(self, group: tuple[str, ...], number: int, kind: _Kind) -> _Lane:
        key = (group[0], group[1] if len(group) > 1 else "")
        self.links[number] = key
        lane = self.lanes[group] = _Lane(key, kind)
        if len(self.lanes) > MOST_GROUPS:
            raise DumpError(f"more than {MOST_GROUPS:,} groups")
        return lane

    def _signature(self, row: Row, operation: str) -> int:
        """The key of what the entry does, equal on every rank that does the same."""
        parts = (operation, row.input_sizes, row.output_sizes, row.input_dtypes, row.output_dtypes)
        key = self.known.get(parts)
        if key is None:
            told = (operation, row.input_dtypes, row.output_dtypes) if SIZES_MAY_DIFFER.search(operation) else parts
            key = self.known[parts] = int.from_bytes(blake2b(repr(told).encode(errors="replace"), digest_size=KEY_BYTES).digest(), "little")
        return key

    def _transfer(self, row: Row, key: tuple[str, str], kind: _Kind, progress: int) -> None:
        """Keep a send or recv that has not ended; the entry that closes a batch ends all of its number."""
        self.exchanges.add(key[0])
        if progress < RETIRED:
            self.transfers[key[0], row.p2p_seq_id, kind.operation] = row
        elif kind.transfer:
            self.transfers.pop((key[0], row.p2p_seq_id, kind.operation), None)
        else:
            for held in [k for k in self.transfers if k[:2] == (key[0], row.p2p_seq_id)]:
                del self.transfers[held]

    def open_transfers(self) -> Iterator[Transfer]:
        for (name, sequence, operation), row in list(self.transfers.items())[-MOST_OPEN_TRANSFERS:]:
            if found := TRANSFER.match(operation):
                sends, here, there = found["kind"] == "send", int(found["here"]), int(found["there"])
                yield Transfer(
                    name=name,
                    desc=(row.process_group or (name, ""))[-1],
                    kind="send" if sends else "recv",
                    source=here if sends else there,
                    target=there if sends else here,
                    sequence=sequence,
                    sizes=row.input_sizes if sends else row.output_sizes,
                    dtypes=row.input_dtypes if sends else row.output_dtypes,
                    created=row.time_created_ns,
                    timeout_ms=row.timeout_ms,
                    frames=frames_of(row.frames),
                )


def _signature(row: Row, operation: str) -> Signature:
    return Signature(operation, row.input_sizes, row.output_sizes, row.input_dtypes, row.output_dtypes)


class _Lane:
    """The collectives of one group while they are read; entries of one number (a coalesced group) become one row."""

    def __init__(self, key: tuple[str, str], kind: _Kind) -> None:
        self.key = key
        self.kind = kind
        self.sequences = array("q")
        self.signatures = array("q")
        self.created = array("q")
        self.progress = bytearray()
        self.carried = 0
        self.open: dict[int, Row] = {}
        self.last: Row | None = None

    def add(self, row: Row, sequence: int, signature: int, progress: int) -> int:
        """Take an entry in; gives the key of its row."""
        if self.sequences and self.sequences[-1] == sequence:
            self.signatures[-1] = (self.signatures[-1] * 31 + signature) % (1 << 8 * KEY_BYTES)
            self.progress[-1] = max(self.progress[-1], progress)
            if self.progress[-1] >= RETIRED:
                self.open.pop(len(self.progress) - 1, None)
            return self.signatures[-1]
        if progress < RETIRED:
            self.open[len(self.progress)] = row
        self.sequences.append(sequence)
        self.signatures.append(signature)
        self.created.append(row.time_created_ns)
        self.progress.append(progress)
        self.last = row
        return signature

    def finished(self, timed: bool) -> Lane:
        """The lane as columns. Where the recorder does not tell completion, retired is as much as ended gets."""
        progress = bytes(self.progress) if timed else bytes(self.progress).replace(bytes([TIMED_OUT]), bytes([RETIRED]))
        front = next((index for index in self.open if progress[index] < RETIRED), None)
        return Lane(
            name=self.key[0],
            desc=self.key[1],
            backend=self.kind.backend,
            timed=timed and self.kind.events,
            sequences=self.sequences.tobytes(),
            signatures=self.signatures.tobytes(),
            created=self.created.tobytes(),
            progress=progress,
            carried=self.carried,
            front=self._operation(front, self.open[front], progress) if front is not None else None,
            last=self._operation(len(progress) - 1, self.last, progress) if self.last is not None else None,
        )

    def _operation(self, index: int, row: Row, progress: bytes) -> Operation:
        return Operation(
            sequence=self.sequences[index],
            signature=_signature(row, row.profiling_name.rpartition(":")[2]),
            created=row.time_created_ns,
            progress=progress[index],
            timeout_ms=row.timeout_ms,
            frames=frames_of(row.frames),
        )

