"""Parts of a plain file that are read by their offsets: whole lines, one after the other, and never a byte twice or not at all."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.sources.cutting import blocks
from triage.sources.opening import Stream, is_plain
from triage.sources.plain import EDGE, whole_lines

LINES = st.lists(st.tuples(st.sampled_from([1, 90, 700, EDGE + 5]), st.integers(1, 40)), max_size=12)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plain") / "x.log"


@settings(deadline=None, max_examples=80)
@given(lines=LINES, size=st.sampled_from([EDGE + 1, 10000, 20000, 40000]), ends=st.booleans())
def test_blocks_of_a_file_are_the_file(lines: list[tuple[int, int]], size: int, ends: bool, file: Path) -> None:
    content = b"".join((b"x" * length + b"\n") * times for length, times in lines) + (b"" if ends else b"open")
    file.write_bytes(content)
    with Stream(str(file), problems := []) as stream:
        read = list(blocks(stream, size))
        assert stream.read == len(content)
    assert b"".join(block.raw[block.overlap :] for block in read) == content
    assert all(content[block.base : block.base + len(block.raw)] == block.raw for block in read)
    assert [block.last for block in read] == [False] * (len(read) - 1) + [True]
    assert not problems


def test_parts_end_before_the_end_of_the_file_and_before_a_long_line(file: Path) -> None:
    file.write_bytes(b"short\n" * 5000 + b"x" * 3 * EDGE + b"\n" + b"short\n" * 5000)
    with file.open("rb") as opened:
        parts = list(whole_lines(opened.fileno(), 0, 2 * EDGE))
    assert b"".join(parts) == b"short\n" * (sum(map(len, parts)) // 6)
    assert 0 < sum(map(len, parts)) <= 30000


def test_only_what_is_on_disk_as_it_is_has_a_descriptor(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_bytes(b"a\n")
    (tmp_path / "x.log.gz").write_bytes(gzip.compress(b"a\n"))
    (tmp_path / "wide.log").write_bytes("a\n".encode("utf-16"))
    os.mkfifo(tmp_path / "pipe")
    names = ("x.log", "x.log.gz", "wide.log", "pipe", "missing.log")
    assert [is_plain(str(tmp_path / name)) for name in names] == [True, False, False, False, False]
