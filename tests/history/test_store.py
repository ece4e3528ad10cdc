"""Where the store may lie, what it refuses, and what it says when it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lived import at, between, count, incidents, remember, write
from triage.history.errors import BusyError, StoreError
from triage.history.place import default_store, refuse_network
from triage.history.schema import MIGRATIONS, VERSION, migrate, version_of
from triage.history.store import one_at_a_time, open_store

CRASH = at("2026-11-13T02:40:00"), at("2026-11-13T03:20:00")
MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 22 0:40 / /mnt/shared rw,relatime shared:1 - nfs4 filer:/export rw
41 22 0:41 / /mnt/with\\040blank rw - cifs //filer/share rw
42 40 0:42 / /mnt/shared/local rw - xfs /dev/sdb1 rw
"""


@pytest.mark.parametrize(("path", "kind"), [("/mnt/shared/history.db", "nfs4"), ("/mnt/with blank/a/history.db", "cifs")])
def test_a_network_file_system_is_refused_by_its_name(path: str, kind: str) -> None:
    with pytest.raises(StoreError, match=rf"network file system \({kind}\).*--store"):
        refuse_network(Path(path), MOUNTS)


@pytest.mark.parametrize("path", ["/var/lib/triage/history.db", "/mnt/shared/local/history.db", "/mnt/sharedness/history.db"])
def test_a_local_disk_is_taken(path: str) -> None:
    refuse_network(Path(path), MOUNTS)


def test_the_default_place_follows_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_store() == tmp_path / "triage" / "history.db"


def test_a_new_store_has_the_present_schema_and_is_wal(tmp_path: Path) -> None:
    with open_store(tmp_path / "new" / "history.db") as store:
        assert version_of(store.db) == VERSION
        assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_every_older_schema_becomes_the_present_one(tmp_path: Path) -> None:
    for version in range(1, VERSION + 1):
        db = sqlite3.connect(tmp_path / f"{version}.db", isolation_level=None)
        for number, script in enumerate(MIGRATIONS[:version], 1):
            db.executescript(f"{script}; PRAGMA user_version = {number};")
        migrate(db, "x")
        assert version_of(db) == VERSION
        db.close()


def test_the_store_of_a_newer_triage_is_left_alone(tmp_path: Path) -> None:
    with open_store(tmp_path / "history.db") as store:
        store.db.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match="newer triage"):
        open_store(tmp_path / "history.db")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE mine (a)")
    db.close()
    with pytest.raises(StoreError, match="another program's database"):
        open_store(tmp_path / "other.db")


@pytest.mark.parametrize("content", [b"x", b"no database at all, only words " * 100], ids=["short", "long"])
@pytest.mark.parametrize("write", [False, True], ids=["asked", "recorded"])
def test_what_is_no_database_is_named_and_left_alone(content: bytes, write: bool, tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(content)
    with pytest.raises(StoreError, match="no SQLite file"):
        open_store(tmp_path / "history.db", write=write)
    assert (tmp_path / "history.db").read_bytes() == content


def test_a_store_that_does_not_exist_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="--record"):
        open_store(tmp_path / "history.db", write=False)


def test_an_empty_store_that_is_only_asked_says_how_to_begin(tmp_path: Path) -> None:
    (tmp_path / "history.db").touch()
    with pytest.raises(StoreError, match="--record"):
        open_store(tmp_path / "history.db", write=False)


def test_a_second_run_waits_and_then_leaves_it_to_the_first(tmp_path: Path) -> None:
    waited: list[float] = []
    store = tmp_path / "history.db"
    with one_at_a_time(store, 0), pytest.raises(BusyError, match="still recording"), one_at_a_time(store, 0.2, waited.append):
        pass
    assert sum(waited) >= 0.2
    with one_at_a_time(tmp_path / "history.db", 0):
        pass


def test_a_full_disk_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    first = write(tmp_path / "a.log", between("vllm.log", *CRASH), when=CRASH[1])
    more = write(tmp_path / "b.log", between("vllm.log", CRASH[1], CRASH[1] + 5 * 86400), when=CRASH[1])
    with open_store(tmp_path / "history.db") as store:
        remember(store, first)
        before = incidents(store), count(store, "events"), count(store, "runs")
        store.db.execute(f"PRAGMA max_page_count = {store.db.execute('PRAGMA page_count').fetchone()[0] + 8}")
        with pytest.raises(StoreError, match="disk is full"):
            remember(store, more)
        assert (incidents(store), count(store, "events"), count(store, "runs")) == before
        assert store.db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def triage(*arguments: str, user: int | None = None, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    def restrict() -> None:
        if limit is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-m", "triage", *arguments]
    return subprocess.run(command, capture_output=True, text=True, user=user, preexec_fn=restrict, timeout=60, check=False)


def test_a_disk_that_takes_no_more_is_a_clear_word_and_exit_three(tmp_path: Path) -> None:
    log = write(tmp_path / "a.log", between("vllm.log", *CRASH), when=CRASH[1])
    done = triage("classify", log, "--record", "--store", str(tmp_path / "history.db"), limit=100_000)
    assert done.returncode == 3
    assert "nothing of this run was recorded" in done.stderr
    assert "Traceback" not in done.stderr
    assert "cublas-fault" in done.stdout, "the answer is given all the same"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder in which nobody, not even root, can make a file")
def test_a_store_that_cannot_be_written_is_a_clear_word_and_exit_three(tmp_path: Path) -> None:
    done = triage("classify", "-", "--record", "--new", "--store", "/proc/triage/history.db")
    assert done.returncode == 3
    assert "--store or TRIAGE_STORE" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_read_only_store_can_still_be_asked(tmp_path: Path) -> None:
    log = write(tmp_path / "a.log", between("vllm.log", *CRASH), when=CRASH[1])
    with open_store(tmp_path / "history.db") as store:
        remember(store, log)
    with open_store(tmp_path / "history.db", write=False) as store:
        assert len(incidents(store)) == 1
        with pytest.raises(StoreError, match="cannot be written"), store.transaction() as db:
            db.execute("DELETE FROM incidents")
