"""The scanner that is in use, and the places that triage writes to: compiled rules, the history, the journal of mitigations."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from triage.doctor.findings import Finding, State
from triage.report.words import number, size
from triage.sources.paths import reason

LARGE = 100 << 20  # bytes: a set takes one or two MB, and each change of the rules leaves one
PROBE = b"alpha NVRM: Xid (PCI:0000:3b:00): 79\nbeta"


def scanner() -> Iterator[Finding]:
    """Which scanner is in use and why, and whether it finds what it must."""
    from triage.knowledge.load import RuleError
    from triage.knowledge.patterns import ScanPattern
    from triage.knowledge.scanner import Scanner, which_scanner

    try:
        which, why = which_scanner()
        found = Scanner([ScanPattern("doctor/probe", r"Xid \(PCI:[0-9a-f:]{7,}", False, False)], keep=False).scan(PROBE)
    except RuleError as error:
        yield Finding("scanner", "scanner", "broken", str(error), "do as it says: without a scanner no log can be read")
        return
    if not found:
        yield Finding("scanner", which, "broken", "does not find a line that is there", f"pip install --force-reinstall {which}")
    elif which == "fallback":
        what = f"{why}; it finds the same, and takes six to eight times as long"
        yield Finding("scanner", which, "note", what, "pip install hyperscan, where there is a wheel")
    else:
        yield Finding("scanner", which, "ok", why)


def places(store: Path, journal: Path) -> Iterator[Finding]:
    """The cache of compiled rules, the history and the journal of mitigations."""
    yield _cache()
    yield _store(store)
    yield _journal(journal)


def _cache() -> Finding:
    from triage.knowledge.cache import cache_folder

    folder = cache_folder()
    kept = [*folder.glob("scan-*.hsdb"), *folder.glob("rules-*.msgpack")] if folder.is_dir() else []
    what = f"{folder}: {number(len(kept), 'compiled set')} of rules, {size(_size(kept))}"
    if (why := _unwritable(folder)) is not None:
        costs = "every run reads and compiles the rules anew, which takes a second or less"
        return Finding("places", "compiled rules", "note", f"{folder} cannot be written ({why}): {costs}", "give another place with TRIAGE_CACHE")
    if broken := [file.name for file in kept if not _loads(file)]:
        return Finding("places", "compiled rules", "note", f"{what}; {broken[0]} cannot be used and is made anew when it is needed")
    if _size(kept) > LARGE:
        return Finding("places", "compiled rules", "note", what, f"rm {folder}/scan-*.hsdb {folder}/rules-*.msgpack: what is needed is made anew")
    return Finding("places", "compiled rules", "ok", what)


def _size(files: list[Path]) -> int:
    return sum(file.stat().st_size for file in files if file.exists())


def _loads(file: Path) -> bool:
    """Whether a kept set is what it should be; one of another version is not in the way."""
    from triage.knowledge.cache import read_sealed
    from triage.knowledge.scanner import is_database

    try:
        if file.suffix == ".hsdb":
            return is_database(file.read_bytes())
        read_sealed(file)
    except (OSError, ValueError):
        return False
    return True


def _unwritable(folder: Path) -> str | None:
    """Why nothing can be written to a folder, which may have to be made first; None where it can. Nothing is left behind."""
    standing = next(one for one in (folder, *folder.parents) if one.exists())
    if not standing.is_dir():
        return f"{standing} is no folder"
    try:
        with tempfile.TemporaryFile(dir=standing) as file:
            file.write(b"x")
    except OSError as error:
        return reason(error)
    return None


def _store(path: Path) -> Finding:
    from triage.history.errors import StoreError
    from triage.history.store import open_store

    if not path.exists():
        if (why := _unwritable(path.parent)) is not None:
            do = "give another place with --store or TRIAGE_STORE"
            return Finding("places", "history", "note", f"{path}: there is none, and none can be made there ({why})", do)
        return Finding("places", "history", "ok", f"{path}: there is none yet (`triage classify PATH --record` makes it)")
    try:
        with open_store(path, write=False) as store:
            schema = store.db.execute("PRAGMA user_version").fetchone()[0]
            wrong = [row[0] for row in store.db.execute("PRAGMA quick_check(3)") if row[0] != "ok"]
            incidents = store.db.execute("SELECT count(*) FROM incidents").fetchone()[0]
    except (StoreError, sqlite3.Error) as error:
        return Finding("places", "history", "broken", str(error), "nothing is recorded before that is mended")
    if wrong:
        do = "try `sqlite3 FILE .recover`, or move it away; the logs that still exist fill a new one"
        return Finding("places", "history", "broken", f"{path}: it is damaged: {wrong[0]}", do)
    state: State = "ok" if os.access(path, os.W_OK) else "note"
    what = f"{path}: schema {schema}, sound, {number(incidents, 'incident')}, {size(path.stat().st_size)}"
    return Finding("places", "history", state, what + ("" if state == "ok" else "; it cannot be written by this user"))


def _journal(path: Path) -> Finding:
    if not path.exists():
        return Finding("places", "ledger", "ok", f"{path}: there is none yet")
    if not path.is_file() or not os.access(path, os.R_OK):
        return Finding("places", "ledger", "broken", f"{path} cannot be read", "give another file with TRIAGE_LEDGER, or read access to this one")
    with path.open("rb") as file:
        records = sum(1 for _ in file)
    return Finding("places", "ledger", "ok", f"{path}: {number(records, 'record')}, {size(path.stat().st_size)}")
