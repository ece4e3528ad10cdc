"""The logs we measure on are what they claim to be: repeatable, stamped in order, with their crashes where they should be."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks.make_logs import blocks, moved, write_log

KINDS = ["clean", "crash-loop", "ansi", "nccl-info"]
STAMP = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ")
SIZE = 8_000_000


@cache
def made(kind: str) -> bytes:
    return b"".join(moved(prepared, hour) for hour, prepared in enumerate(blocks(kind, SIZE, seed=1)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arguments_give_the_same_bytes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "folder" / "log"
    assert write_log(path, blocks(kind, SIZE, seed=1)) == len(made(kind))
    assert path.read_bytes() == made(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_every_line_is_stamped_and_time_goes_forward(kind: str) -> None:
    stamps = [line[:31] for line in made(kind).rstrip(b"\n").split(b"\n")]
    assert all(STAMP.fullmatch(stamp) for stamp in stamps)
    assert stamps == sorted(stamps)


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_is_about_what_was_asked_for(kind: str) -> None:
    assert len(made(kind)) == pytest.approx(SIZE, rel=0.35)


def test_a_clean_log_crashes_in_the_middle_and_at_the_end() -> None:
    log = made("clean")
    crashes = [found.start() / len(log) for found in re.finditer(rb"EngineCore encountered a fatal error", log)]
    assert len(crashes) == 2
    assert crashes == pytest.approx([0.5, 1.0], abs=0.15)


def test_a_quarter_of_a_clean_log_is_stats_and_access_lines() -> None:
    lines = made("clean").split(b"\n")
    routine = sum(b"throughput" in line or b"HTTP/1.1" in line for line in lines)
    assert routine / len(lines) == pytest.approx(0.25, abs=0.03)


def test_the_other_kinds_have_what_they_are_named_for() -> None:
    assert made("crash-loop").count(b"EngineCore encountered a fatal error") > 50
    assert b"\x1b[0;36m(EngineCore pid=142)\x1b[0;0m" in made("ansi")
    log = made("nccl-info")
    assert log.count(b"NCCL INFO") / log.count(b"\n") == pytest.approx(0.5, abs=0.05)
