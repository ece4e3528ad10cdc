"""Opens the store, holds the lock of a recording run, and makes every change whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from triage.history.errors import BusyError, StoreError, in_words
from triage.history.locking import locked
from triage.history.place import default_store, refuse_network
from triage.history.schema import migrate, version_of
from triage.model import Seconds

BUSY: Seconds = 30.0
POLL: Seconds = 0.05
MAGIC = b"SQLite format 3\0"
RECORD = "record with `triage classify PATH --record`"


class Store:
    """An open history. `db` is the connection; changes are made inside `transaction()`."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self.db = db

    def close(self) -> None:
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close. What SQLite could not read or write becomes a StoreError that says what to do."""
        self.close()
        if isinstance(error, sqlite3.Error):
            raise in_words(str(self.path), error) from error

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything inside is written when it ends, or nothing is. Raises StoreError where it cannot be written."""
        try:
            self.db.execute("BEGIN IMMEDIATE")
            yield self.db
            self.db.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise in_words(str(self.path), error) from error
            raise

    def meta(self, key: str) -> str:
        """A remembered word, or nothing."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.db.execute("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", (key, value))


def open_store(path: Path | None = None, *, write: bool = True) -> Store:
    """The store at `path` (or the default place), made where there is none. Raises StoreError with a word on what to do.

    Without `write` nothing is made or changed, and a store that does not exist is an error.
    """
    path = path or default_store()
    refuse_network(path)
    try:
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # what engines print at boot may hold keys
        elif not path.exists():
            raise StoreError(f"the history {path}: there is none yet: {RECORD}")
        _refuse_others(path)
        return Store(path, _connected(path, write=write))
    except (sqlite3.Error, OSError) as error:
        raise in_words(str(path), error) from error


def _refuse_others(path: Path) -> None:
    """SQLite takes a file of some bytes for an empty database, and would write over it."""
    with path.open("rb") as file:
        first = file.read(len(MAGIC))
    if first and first != MAGIC:
        raise in_words(str(path), sqlite3.DatabaseError("file is not a database"))


def _connected(path: Path, *, write: bool) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY, isolation_level=None) if write else _read_only(path)
    try:
        db.execute("PRAGMA foreign_keys = ON")
        if write:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
        if not write and not version_of(db):
            raise StoreError(f"the history {path}: nothing was recorded in it yet, or it is no history: {RECORD}")
        migrate(db, str(path))
        return db
    except BaseException:
        db.close()
        raise


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing; where the folder cannot be written to, WAL's shared memory cannot be made, so none is asked for."""
    if os.access(path.parent, os.W_OK) or Path(f"{path}-wal").exists():
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=BUSY, isolation_level=None, uri=True)
    return sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", timeout=BUSY, isolation_level=None, uri=True)


@contextlib.contextmanager
def one_at_a_time(path: Path, wait: Seconds, sleep: Callable[[float], None] = time.sleep) -> Iterator[None]:
    """Hold the lock of the store's recording run, waiting up to `wait` seconds. Raises BusyError where another run keeps it that long.

    The lock goes with the process, however that ends. On systems without flock only SQLite's own lock holds.
    """
    refuse_network(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise in_words(str(path), error) from error
    with os.fdopen(handle, "rb+") as file:
        waited = 0.0
        while not locked(file):
            if waited >= wait:
                raise BusyError(f"the history {path}: another run is still recording; this one leaves it to that")
            sleep(POLL)
            waited += POLL
        yield
