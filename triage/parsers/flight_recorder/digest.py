"""Turns the entries of one dump into lanes (collectives by group), open transfers (send, recv), and links of local group numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from triage.model import Problem
from triage.parsers.flight_recorder.document import MOST_GROUPS, Document, Row, frames_of, read_rows
from triage.parsers.flight_recorder.lanes import KEY_BYTES, SIZES_MAY_DIFFER, Kind, Parts, Rows
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.records import COMPLETED, RETIRED, SCHEDULED, STARTED, TIMED_OUT, Recording, Signature, Transfer

# Backends whose work carries events, so that a retired operation that never completed is one that timed out. Others (gloo, and
# what a recorder hook writes) are `scheduled` for ever and `retired` when they end, however they end.
BACKENDS_WITH_EVENTS = frozenset(["nccl", "ncclx", "rccl", "rcclx", "hccl", "mccl", "xccl"])
# More retired operations without one completed than a watchdog leaves: the recorder does not tell completion at all.
MOST_TIMED_OUT = 4
MOST_OPEN_TRANSFERS = 4096

TRANSFER = re.compile(r"(?P<kind>send|recv) (?P<here>\d{1,6})(?P<arrow>->|<-)(?P<there>\d{1,6})$")


def digest(document: Document, *, rank: int, file: str, cut: bool = False, limited: bool = False) -> Recording:
    """The recording of `rank`; raises DumpError where the entries expand beyond bounds, unless the process is `limited` anyway."""
    book = _Book()
    rows = read_rows(document, limited=limited)
    book.read(_all_but_last(rows) if cut else rows)
    timed = book.completed or book.timed_out <= MOST_TIMED_OUT
    return Recording(
        rank=rank,
        file=file,
        version=document.version,
        library=document.library,
        entries=book.entries,
        oldest=book.first.time_created_ns if book.first else 0,
        wrapped=book.first is not None and book.first.record_id > 0,
        gaps=book.gaps,
        cut=cut,
        timed=timed and all(kind.events for kind in book.kinds.values()),
        config=document.config,
        status=document.status,
        links=book.links,
        lanes=tuple(lane.finished(timed) for lane in book.lanes.values()),
        transfers=tuple(book.open_transfers()),
        exchanges=tuple(sorted(book.exchanges)),
        exchanging=tuple(sorted({lane.key[0] for lane in book.lanes.values() if lane.last is not None and lane.last.p2p_seq_id > 0})),
        exchanged=book.exchanged,
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


class _Book:
    """What has been read of one dump so far."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[str, ...], Rows] = {}
        self.transfers: dict[tuple[str, int, str], Row] = {}
        self.exchanges: set[str] = set()
        self.links: dict[int, tuple[str, str]] = {}
        self.signatures: dict[int, Signature] = {}
        self.known: dict[Parts, int] = {}
        self.kinds: dict[str, Kind] = {}
        self.first: Row | None = None
        self.last: Row | None = None
        self.entries = 0
        self.exchanged = False
        self.completed = False
        self.timed_out = 0

    def read(self, rows: Iterable[Row | None]) -> None:
        """Take entries in; None stands for one that is none. A big folder spends its time here: calls are for what is new or rare."""
        kinds, known, lanes = self.kinds, self.known, self.lanes
        row = None
        for row in rows:
            if row is None:
                continue
            if not self.entries:
                self.first = row
            self.entries += 1
            kind = kinds.get(row.profiling_name) or self._kind(row.profiling_name)
            lane = lanes.get(row.process_group or (str(row.pg_id),)) or self._lane(row, kind)
            sequence = (row.seq_id if row.collective_seq_id is None else row.collective_seq_id) or 0
            if row.state == "completed" or row.time_discovered_completed_ns:
                progress, self.completed = COMPLETED, True
            else:
                progress = self._unfinished(row, kind)
            if row.is_p2p or kind.transfer:
                self._transfer(row, lane, kind, progress, sequence)
                continue
            parts = (kind.operation, row.input_sizes, row.output_sizes, row.input_dtypes, row.output_dtypes)
            key = known.get(parts) or self._key(parts)
            if lane.sequences and lane.sequences[-1] == sequence:
                first = self.signatures[lane.signatures[-1]]
                self.signatures.setdefault(lane.join(row, key, progress), first)
            else:
                lane.add(row, sequence, key, progress)
        self.last = row

    @property
    def gaps(self) -> bool:
        """Whether the numbers of first and last entry are further apart than what is between them."""
        return self.first is not None and self.last is not None and self.last.record_id - self.first.record_id >= self.entries

    def _unfinished(self, row: Row, kind: Kind) -> int:
        """How far an operation came that is not known to have completed."""
        if row.retired:
            self.timed_out += kind.events
            return TIMED_OUT if kind.events else RETIRED
        return STARTED if row.state == "started" or row.time_discovered_started_ns else SCHEDULED

    def _kind(self, name: str) -> Kind:
        backend, _, operation = name.rpartition(":")
        kind = self.kinds[name] = Kind(backend, operation, backend in BACKENDS_WITH_EVENTS, operation.startswith(("send ", "recv ")))
        return kind

    def _lane(self, row: Row, kind: Kind) -> Rows:
        group = row.process_group or (str(row.pg_id),)
        key = (group[0], group[1] if len(group) > 1 else "")
        self.links[row.pg_id] = key
        lane = self.lanes[group] = Rows(key, kind)
        if len(self.lanes) > MOST_GROUPS:
            raise DumpError(f"more than {MOST_GROUPS:,} groups")
        return lane

    def _key(self, parts: Parts) -> int:
        """The key of what an entry does, equal on every rank that does the same."""
        operation, _, _, inputs, outputs = parts
        told = (operation, inputs, outputs) if SIZES_MAY_DIFFER.search(operation) else parts
        key = self.known[parts] = int.from_bytes(blake2b(repr(told).encode(errors="replace"), digest_size=KEY_BYTES).digest(), "little")
        self.signatures.setdefault(key, Signature(*parts))
        return key

    def _transfer(self, row: Row, lane: Rows, kind: Kind, progress: int, sequence: int) -> None:
        """Keep a send or recv that has not ended; the entry that closes a batch ends all of its number."""
        key = lane.key
        lane.carried = max(lane.carried, sequence)
        self.exchanges.add(key[0])
        self.exchanged |= progress >= RETIRED
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
