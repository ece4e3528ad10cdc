"""Follows files that grow, rotate and are truncated: what is new in them is recorded in small windows, with a place to go on from.

A window is at most eight megabytes and begins a little before the new lines, so that a report which was half written is seen whole;
the history keeps each line once. Where each file was left stands in the store, so a watcher that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from triage.history.store import Store
from triage.knowledge.load import Knowledge
from triage.model import Kind
from triage.parsers.options import Options
from triage.parsers.sorting import NothingToReadError
from triage.pipeline import gather
from triage.recording import Origin, record
from triage.sources.opening import IDENTITY, Stream, head
from triage.sources.rotation import rotations

MOST = 8 << 20
OVERLAP = 256 << 10


class Followed(msgspec.Struct, frozen=True):
    """Where a file was left: the digest of its first bytes, of how many of them, and the offset behind the last line that was read."""

    identity: str
    length: int
    offset: int


class Cut(msgspec.Struct, frozen=True):
    """Some new bytes: the file they stand in, where they begin, the bytes, and how its followed file stands once they are recorded."""

    path: str
    file: str
    base: int
    data: bytes
    then: Followed


class Watcher:
    """Follows `paths` and records what is new in them. `source` names their log where the path should not."""

    def __init__(self, store: Store, known: Knowledge, paths: Sequence[str], *, kind: Kind | None = None, options: Options, source: str = "") -> None:
        self.store = store
        self.known = known
        self.paths = [os.path.abspath(path) for path in paths]
        self.kind = kind
        self.options = options
        self.source = source

    def step(self) -> bool:
        """Record up to one window of each file; whether there was anything new. Raises StoreError."""
        cuts = [cut for path in self.paths if (cut := self._cut(path)) is not None]
        fresh = [cut for cut in cuts if cut.data]
        if fresh:
            with tempfile.TemporaryDirectory(prefix="triage-watch-") as folder:
                names = dict(self._written(Path(folder), fresh))
                with contextlib.suppress(NothingToReadError):  # what cannot be read tells nothing
                    evidence = gather(list(names), self.known, kind=self.kind, options=self.options)
                    record(self.store, evidence, self.known, source=self.source, origins=names)
        if cuts:
            with self.store.transaction() as db:
                rows = [(c.path, c.then.identity, c.then.length, c.then.offset) for c in cuts]
                db.executemany("INSERT OR REPLACE INTO followed VALUES (?, ?, ?, ?)", rows)
        return bool(fresh)

    def _written(self, folder: Path, cuts: Sequence[Cut]) -> Iterator[tuple[str, Origin]]:
        for number, cut in enumerate(cuts):
            place = folder / str(number) / os.path.basename(cut.path)
            place.parent.mkdir()
            place.write_bytes(cut.data)
            yield str(place), Origin(name=cut.path, file=cut.file, base=cut.base)

    def _cut(self, path: str) -> Cut | None:
        """What is new of one file; None where there is nothing to note."""
        row = self.store.db.execute("SELECT identity, length, offset FROM followed WHERE path = ?", (path,)).fetchone()
        left = Followed(*row) if row else None
        first = head(path, IDENTITY)
        if left is not None and (not _begins(first, left) or _size(path) < left.offset):
            rest = self._rest(path, left)
            if rest is not None:
                return rest
            left = None
        if not first:
            return None
        offset = left.offset if left else 0
        data, base = _new_lines(path, offset)
        end = offset if not data else base + len(data)
        then = Followed(_digest(first), len(first), end)
        return Cut(path, path, base, data, then) if then != left else None

    def _rest(self, path: str, left: Followed) -> Cut | None:
        """What the rotated file holds behind the place where it was left, or the next one that was rotated after it, as far as they can be found."""
        files = _rotations(path)
        known = next((i for i, file in enumerate(files) if _begins(head(file, IDENTITY), left)), None)
        if known is None:
            return None
        for file in reversed(files[: known + 1]):
            first = head(file, IDENTITY)
            at = left if file == files[known] else Followed(_digest(first), len(first), 0)
            data, base = _new_lines(file, at.offset, whole=True)
            if data:
                return Cut(path, file, base, data, msgspec.structs.replace(at, offset=base + len(data)))
        return None


def _new_lines(path: str, offset: int, *, whole: bool = False) -> tuple[bytes, int]:
    """The whole lines behind `offset` with some before it, and where they begin; nothing where no line has ended since.

    With `whole` (a file that nobody writes to any more) a last line without an end counts too.
    """
    base = max(0, offset - OVERLAP)
    view = memoryview(bytearray(MOST))
    with Stream(path, []) as stream:
        _skip(stream, base)
        data = bytes(view[: stream.fill(view)])
    cut = data.rfind(b"\n") + 1
    if (whole or len(data) == MOST) and base + cut <= offset:
        cut = len(data)
    if base + cut <= offset:
        return b"", offset
    start = data.find(b"\n", 0, offset - base) + 1 if base else 0
    return data[start:cut], base + start


def _skip(stream: Stream, count: int) -> None:
    view = memoryview(bytearray(min(count, 1 << 20) or 1))
    while count and (got := stream.fill(view[: min(count, len(view))])):
        count -= got


def _rotations(path: str) -> list[str]:
    """The files beside `path` that were called so before, newest first."""
    folder = os.path.dirname(path)
    try:
        beside = [entry.path for entry in os.scandir(folder) if entry.is_file()]
    except OSError:
        return []
    log = next(files for files in rotations(list(dict.fromkeys([*beside, path]))) if path in files)
    return [file for file in reversed(log) if file != path]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _begins(first: bytes, left: Followed) -> bool:
    return len(first) >= left.length and _digest(first[: left.length]) == left.identity


def _digest(first: bytes) -> str:
    return hashlib.sha256(first).hexdigest()[:16]
