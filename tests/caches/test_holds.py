"""A cache that a living process has open, mapped or locked, or that was just written to, is in use."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.caches.night import text
from triage.caches.contents import contents_of
from triage.caches.holds import holds
from triage.caches.records import Cache, Hold

NOW = time.time()
OLD = NOW - 86400.0
proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what processes hold is told by /proc")


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return text(tmp_path / "cache/kernel/k.so", "x" * 8192, OLD)


def held(folder: Path) -> list[Hold]:
    cache = Cache(kind="triton", key="k", path=str(folder.resolve()), shown=str(folder), contents=contents_of(str(folder.resolve())))
    return [hold for hold in holds([cache], now=NOW, idle=900.0)[cache.path] if hold.word != "unsure"]


@contextmanager
def process(code: str, *arguments: str | Path) -> Iterator[int]:
    """Another process that has run `code` and waits."""
    script = f"import sys, mmap, os, fcntl, time\n{code}\nprint('ready', flush=True)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        yield child.pid
        child.communicate("")


def test_nothing_holds_what_lies_still(kernel: Path) -> None:
    assert held(kernel.parents[1]) == []


@proc
@pytest.mark.parametrize(
    "code",
    [
        "file = open(sys.argv[1], 'rb')",
        "handle = os.open(sys.argv[1], os.O_RDONLY); kept = mmap.mmap(handle, 0, prot=mmap.PROT_READ); os.close(handle)",
        "os.chdir(os.path.dirname(sys.argv[1]))",
    ],
    ids=["open", "mapped", "working folder"],
)
def test_what_a_process_has_is_in_use_until_it_ends(kernel: Path, code: str) -> None:
    with process(code, kernel) as pid:
        found = held(kernel.parents[1])
        assert {hold.word for hold in found} == {"in use"}
        assert f"process {pid} " in found[0].why
    assert held(kernel.parents[1]) == []


@proc
def test_another_path_to_the_same_file_is_the_same_file(kernel: Path, tmp_path: Path) -> None:
    os.link(kernel, tmp_path / "as-the-container-calls-it.so")
    with process("file = open(sys.argv[1], 'rb')", tmp_path / "as-the-container-calls-it.so"):
        assert [hold.word for hold in held(kernel.parents[1])] == ["in use"]


@pytest.mark.parametrize("name", ["lock", "op.lock"])
def test_a_lock_counts_while_it_is_held(kernel: Path, name: str) -> None:
    lock = text(kernel.parent / name, "", OLD)
    assert held(kernel.parents[1]) == []
    with process("file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX)", lock):
        assert f"the lock kernel/{name} is held" in [hold.why for hold in held(kernel.parents[1])]


def test_what_was_just_written_is_in_use(kernel: Path) -> None:
    os.utime(kernel, (NOW - 60, NOW - 60))
    assert [(hold.word, hold.why) for hold in held(kernel.parents[1])] == [("recent", "a file in it was written 60 s ago (--idle 15 min)")]


def test_a_time_to_come_is_no_reason_to_trust(kernel: Path) -> None:
    os.utime(kernel, (NOW + 7000, NOW + 7000))
    assert "in the future" in held(kernel.parents[1])[0].why


def test_links_that_lead_out_are_refused_and_others_are_not(kernel: Path, tmp_path: Path) -> None:
    text(tmp_path / "outside.txt", "", OLD)
    (kernel.parent / "inside").symlink_to("k.so")
    assert held(kernel.parents[1]) == []
    (kernel.parent / "out").symlink_to(tmp_path / "outside.txt")
    assert [(hold.word, "leads out" in hold.why) for hold in held(kernel.parents[1])] == [("refused", True)]


def test_pipes_are_refused(kernel: Path) -> None:
    os.mkfifo(kernel.parent / "pipe")
    assert [hold.word for hold in held(kernel.parents[1])] == ["refused"]


def test_engines_of_other_users_make_it_unsure(kernel: Path, tmp_path: Path) -> None:
    """In a /proc made for the test, since one process cannot be another user's without root."""
    for pid, name in ((11, "VLLM::Worker_TP0"), (12, "systemd")):
        text(tmp_path / f"proc/{pid}/comm", f"{name}\n", OLD)  # no folder fd: it may not be looked into
    folder = str(kernel.parents[1].resolve())
    cache = Cache(kind="triton", key="k", path=folder, shown=folder, contents=contents_of(folder))
    (hold,) = holds([cache], now=NOW, idle=900.0, proc=str(tmp_path / "proc"))[folder]
    assert (hold.word, "11 (VLLM::Worker_TP0)" in hold.why, "12" in hold.why) == ("unsure", True, False)
