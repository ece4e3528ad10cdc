"""What can go wrong with the store, in words that say what to do."""

from __future__ import annotations

import sqlite3


class StoreError(Exception):
    """The store cannot be used, or not be written to; nothing was half-written."""


class BusyError(StoreError):
    """Another run is recording."""


_REASONS = (
    ("disk is full", "the disk is full: nothing of this run was recorded; free some space and run it again"),
    ("disk i/o error", "the disk does not take or give the data (full, over quota, or broken): nothing of this run was recorded"),
    ("readonly", "it cannot be written to: give a place that can with --store or TRIAGE_STORE"),
    ("unable to open", "it cannot be opened or made: give a place that can be written to with --store or TRIAGE_STORE"),
    ("not a database", "it is no SQLite file: move it away, or give another place with --store or TRIAGE_STORE"),
    ("malformed", "it is damaged: try `sqlite3 FILE .recover`, or move it away; the logs that still exist fill a new one"),
    ("locked", "another program holds it locked: nothing of this run was recorded"),
)


def in_words(path: str, error: sqlite3.Error | OSError) -> StoreError:
    """An error of SQLite or of the system as one that says what it means for the store at `path`."""
    if isinstance(error, OSError):
        told = error.strerror or str(error)
        return StoreError(f"the history {path}: it cannot be opened or made ({told}): give another place with --store or TRIAGE_STORE")
    told = str(error).lower()
    reason = next((words for part, words in _REASONS if part in told), str(error))
    return StoreError(f"the history {path}: {reason}")
