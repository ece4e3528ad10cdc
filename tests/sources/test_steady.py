"""What is taken away from under the reader is said to be missing; what is renamed, deleted or grows meanwhile is read to its end."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model import Problem
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.pieces import pieces
from triage.sources.steady import CUT

LINES = b"".join(b"2026-11-20T05:00:00Z line %06d of a log\n" % number for number in range(40_000))


def read(file: Path, meanwhile: Callable[[], object]) -> tuple[int, list[Problem]]:
    """How many bytes were read of a file to which something happens once its first piece was read, and what was said."""
    problems: list[Problem] = []
    size = 0
    for number, piece in enumerate(pieces(Source(str(file), (str(file),)), Clock(), 1 << 16, problems)):
        size += piece.size
        if not number:
            meanwhile()
    return size, problems


def written_anew(file: Path, content: bytes, at: int = 0) -> None:
    """As a writer goes on after the truncation: at the beginning, or, where it kept its place, behind a hole."""
    with file.open("r+b") as out:
        out.truncate(0)
        out.seek(at)
        out.write(content)


def grown(file: Path, more: bytes) -> None:
    with file.open("ab") as out:
        out.write(more)


@pytest.mark.parametrize(
    "cut",
    [
        lambda file: os.truncate(file, 0),
        lambda file: os.truncate(file, len(LINES) // 2),
        lambda file: written_anew(file, b"2026-11-21T00:00:00Z more\n" * 100_000),
        lambda file: written_anew(file, b"2026-11-21T00:00:00Z more\n", at=len(LINES)),
    ],
    ids=["emptied", "halved", "grown again", "a hole"],
)
def test_a_file_that_is_cut_short_meanwhile_is_partly_lost(tmp_path: Path, cut: Callable[[Path], object]) -> None:
    file = tmp_path / "engine.log"
    file.write_bytes(LINES)
    assert read(file, lambda: cut(file))[1] == [Problem(str(file), CUT, lost=True)]


@pytest.mark.parametrize(
    ("happens", "more"),
    [(lambda file: file.unlink(), 0), (lambda file: file.rename(file.with_suffix(".1")), 0), (lambda file: grown(file, b"more\n"), 5)],
    ids=["deleted", "renamed", "grown"],
)
def test_a_file_that_is_only_renamed_or_grows_is_read_whole(tmp_path: Path, happens: Callable[[Path], object], more: int) -> None:
    file = tmp_path / "engine.log"
    file.write_bytes(LINES)
    assert read(file, lambda: happens(file)) == (len(LINES) + more, [])


def test_a_compressed_file_that_is_cut_short_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "engine.log.gz"
    file.write_bytes(gzip.compress(os.urandom(1 << 20).hex().encode(), 1))
    assert Problem(str(file), CUT, lost=True) in read(file, lambda: os.truncate(file, 1 << 19))[1]
