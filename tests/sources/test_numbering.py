"""Lines get their numbers from one more look into the file, whatever its size on disk."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from triage.sources.numbering import CHUNK, line_numbers

LINE = b"0123456789abcde\n"


@pytest.mark.parametrize("lines", [1, 2, 100, 3 * CHUNK // len(LINE)])
@pytest.mark.parametrize("compressed", [False, True])  # of some bytes on disk that stand for many
def test_numbers_are_those_of_the_lines_that_hold_the_offsets(lines: int, compressed: bool, tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(gzip.compress(LINE * lines) if compressed else LINE * lines)
    offsets = [0, 15, 16 * (lines - 1), 16 * lines - 1]
    assert line_numbers(str(file), offsets, whole=True) == ({offset: offset // 16 + 1 for offset in offsets}, lines)


def test_what_lies_beyond_the_end_has_no_number(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(LINE)
    (tmp_path / "empty.log").write_bytes(b"")
    assert line_numbers(str(tmp_path / "x.log"), [3, 99]) == ({3: 1}, 1)
    assert line_numbers(str(tmp_path / "empty.log"), [0]) == ({}, 0)
