"""The journal: records that are only ever added, each chained to the one before by its hash, so that an edited past is found.

One JSON object a line, keys sorted, no blanks:

    {"at":1795910400.0,"data":{...},"hash":"5f3c...","kind":"mitigation.added","n":1,"prev":"0000...","subject":"piecewise-graphs"}

`at` is in seconds since the epoch, UTC; `hash` is the SHA-256 of the line as it would stand without its `hash`, and `prev` is the hash of the
line before, so a record that is changed, left out or moved breaks the chain. A file beside it (`.head`) holds the number and hash of the last
record, for the one thing that no chain can show: that its end was cut off. Who may write both can forge both; a hash that was noted
elsewhere (a ticket, a mail, a commit) is held against the chain by `verify`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec

from triage.model import Seconds

NAME = "ledger.jsonl"
START = "0" * 64
CLOCK_STEP: Seconds = 3600.0
LARGEST = 64 * 1024 * 1024
LONGEST = 1024 * 1024
LOOKS, PAUSE = 10, 0.02  # how often, and after how many seconds, a line that is just being written is looked at again


class JournalError(Exception):
    """The journal cannot be read or written, or its past is not as it was written; says which line and what to do."""


class RefusedError(JournalError):
    """It cannot be read or written there, or not this; nothing is wrong with what was written."""


class WrittenError(RefusedError):
    """A record that may be written once only is there already."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record: its number (from 1), when it was written (seconds, UTC), what kind of thing happened to which subject, and the rest."""

    n: int
    at: Annotated[Seconds, msgspec.Meta(ge=0, lt=1e11)]
    kind: str
    subject: str
    data: dict[str, Any] = {}
    prev: str = START
    hash: str = ""


class Flaw(msgspec.Struct, frozen=True):
    """Something wrong with a journal: in which line (0: the whole file), and what."""

    line: int
    what: str


def default_journal(store: Path) -> Path:
    """Where the journal lies where nothing else is said: beside the history."""
    return store.parent / NAME


def read(path: Path) -> list[Record]:
    """All records, oldest first; none where there is no file. Raises JournalError where it cannot be read or its chain is broken."""
    records, flaws = examine(path)
    if flaws:
        where = f"{path}:{flaws[0].line}" if flaws[0].line else str(path)
        raise JournalError(f"the journal {where}: {flaws[0].what}; nothing is concluded from it (`triage ledger verify` tells all)")
    return records


def examine(path: Path, *, heads: tuple[str, ...] = ()) -> tuple[list[Record], list[Flaw]]:
    """The records that can be read, and everything that is wrong: broken links, times that run backwards, a cut end.

    `heads` are hashes (or their first eight digits and more) that were noted elsewhere and must be there. Raises JournalError where the file
    cannot be read. Takes no lock: the note of the last record is read before the records, so writers can only make them more than that.
    """
    records: list[Record] = []
    flaws: list[Flaw] = []
    noted = head_of(path)
    for line, text in enumerate(_whole_lines(path), 1):
        record = _decoded(text)
        if record is None:
            flaws.append(Flaw(line, "this line is no record" if text.endswith(b"\n") else "this line is cut off: it was never written whole"))
            continue
        flaws += [Flaw(line, what) for what in _wrong(record, text, records[-1] if records else None)]
        records.append(record)
    flaws += [Flaw(0, what) for what in _beyond(records, noted, heads)]
    return records, flaws


def append(
    path: Path, kind: str, subject: str, data: Mapping[str, Any] | msgspec.Struct, *, at: Seconds | None = None, once: bool = False
) -> Record:
    """Add one record and return it, once it is on the disk. Writers wait for one another; a broken chain is not added to.

    Raises JournalError where the chain is broken; RefusedError where the clock runs before the last record, the file cannot be written or the
    record is too large or no text; with `once` WrittenError where the journal has one of that kind and subject.
    """
    with _locked(path) as file:
        _drop_unfinished(path, file)
        records = read(path)
        if once and any((record.kind, record.subject) == (kind, subject) for record in records):
            raise WrittenError(f"the journal {path}: {kind} {subject} is written already, and what is written is frozen")
        last = records[-1] if records else None
        try:
            record = _sealed(last, kind, subject, msgspec.to_builtins(data), _moment(path, at, last))
        except UnicodeEncodeError as error:
            raise RefusedError(f"the journal {path}: {subject}: a word of it is no text (UTF-8): type it again") from error
        line = _encoded(record)
        if len(line) > LONGEST:
            raise RefusedError(f"the journal {path}: a record of {len(line):,} bytes is more than it takes ({LONGEST:,})")
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
        _note(path, record)
        return record


def _note(path: Path, record: Record) -> None:
    """Notes the last record beside the journal, whole or not at all: on a full disk the note stays behind, and the record stands all the same."""
    fresh = path.with_name(f"{path.name}.head.new")
    with contextlib.suppress(OSError):
        fresh.write_text(f"{record.n} {record.hash}\n", encoding="utf-8")
        fresh.replace(_head(path))


def _drop_unfinished(path: Path, file: IO[bytes]) -> None:
    """A last line that a crash or a full disk cut off was never acknowledged: it goes, as long as everything that was is still there."""
    lines = _lines(path)
    noted = head_of(path)
    if lines and not lines[-1].endswith(b"\n") and len(lines) - 1 >= (noted[0] if noted else 0):
        file.truncate(sum(map(len, lines[:-1])))


def _moment(path: Path, at: Seconds | None, last: Record | None) -> Seconds:
    """When a record is written: never before the one before it, and a clock that was set back further than a little is refused."""
    now = time.time() if at is None else at
    if last is not None and last.at - now > CLOCK_STEP:
        raise RefusedError(f"the journal {path}: the clock shows a time before that of the last record ({_iso(last.at)}): set the clock right first")
    return max(now, last.at) if last else now


def _sealed(last: Record | None, kind: str, subject: str, data: dict[str, Any], at: Seconds) -> Record:
    bare = Record(n=last.n + 1 if last else 1, at=round(at, 3), kind=kind, subject=subject, data=data, prev=last.hash if last else START)
    return msgspec.structs.replace(bare, hash=_digest(bare))


def _digest(record: Record) -> str:
    fields = {name: value for name, value in msgspec.structs.asdict(record).items() if name != "hash"}
    return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()


def _encoded(record: Record) -> bytes:
    return msgspec.json.encode(msgspec.structs.asdict(record), order="sorted") + b"\n"


def _decoded(text: bytes) -> Record | None:
    try:
        return msgspec.json.decode(text, type=Record) if text.endswith(b"\n") else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _wrong(record: Record, text: bytes, before: Record | None) -> Iterator[str]:
    """What one record shows to be wrong, given the one before it."""
    if _digest(record) != record.hash or _encoded(record) != text:
        yield f"record {record.n} ({record.kind} {record.subject}) is not as it was written: it was edited"
    expected = (before.n + 1 if before else 1, before.hash if before else START)
    if record.n != expected[0]:
        yield f"record {record.n} stands where record {expected[0]} was: records were taken out, put in or moved"
    elif record.prev != expected[1]:
        yield f"record {record.n} was written after another record than the one before it: that one was changed or put in"
    if before is not None and record.at < before.at:
        yield f"record {record.n} claims a time ({_iso(record.at)}) before that of the record before it ({_iso(before.at)}): it was backdated"


def _beyond(records: list[Record], noted: tuple[int, str] | None, heads: tuple[str, ...]) -> Iterator[str]:
    """What the chain itself cannot show: a cut end, and a past that is another one than somebody noted."""
    hashes = [record.hash for record in records]
    if noted is not None and (len(hashes) < noted[0] or noted[0] < 1 or hashes[noted[0] - 1] != noted[1]):
        yield f"its last record was number {noted[0]} ({noted[1][:12]}), and that is not here: the end was cut off or the past written anew"
    for head in heads:
        if len(head) < 8 or not any(known.startswith(head.lower()) for known in hashes):
            yield f"no record has the hash {head!r} that was noted: the past was written anew, or the hash is of another journal"


def head_of(path: Path) -> tuple[int, str] | None:
    """The number and hash of the last record, as noted beside the journal; None where there is no such note."""
    try:
        number, _, digest = _head(path).read_text(encoding="utf-8")[:200].strip().partition(" ")
        return (int(number), digest) if number.isdecimal() else (0, "unreadable")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise RefusedError(f"the journal {path}: {_head(path).name} cannot be read: {error}") from error


def _whole_lines(path: Path) -> list[bytes]:
    """The lines; one at the end that is just being written is waited for a little."""
    lines = _lines(path)
    for _ in range(LOOKS):
        if not lines or lines[-1].endswith(b"\n"):
            break
        time.sleep(PAUSE)
        lines = _lines(path)
    return lines


def _lines(path: Path) -> list[bytes]:
    try:
        if not stat.S_ISREG((found := path.stat()).st_mode):
            raise RefusedError(f"the journal {path}: no file: give another place with --ledger or TRIAGE_LEDGER")
        if found.st_size > LARGEST:
            raise RefusedError(f"the journal {path}: larger than {LARGEST:,} bytes: it is no journal of ours")
        return path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RefusedError(f"the journal {path}: {error.strerror or error}: give another place with --ledger or TRIAGE_LEDGER") from error


def _head(path: Path) -> Path:
    return path.with_name(f"{path.name}.head")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """The journal open at its end, and nobody else writing to it; the lock goes with the process, however that ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644), "ab") as file:
            with contextlib.suppress(ImportError):
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            yield file
    except OSError as error:
        raise RefusedError(f"the journal {path}: {error.strerror or error}: give another place with --ledger or TRIAGE_LEDGER") from error


def _iso(at: Seconds) -> str:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at:g} s"
