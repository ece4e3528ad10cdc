"""A small file is opened once, whoever looks into it before it is read; what is read of it is the same as ever."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from triage.model import Problem
from triage.sources import beginnings
from triage.sources.beginnings import SMALL, small_files_held
from triage.sources.opening import Stream, head, identity
from triage.sources.paths import asked_once

LOG = b"".join(b"(Worker_TP0 pid=7) INFO 11-20 05:%02d:00 [core.py:1] line %d\n" % (number % 60, number) for number in range(400))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were opened, each as often as it was."""
    files: list[str] = []
    really = beginnings.opened

    def noting(file: str) -> beginnings.Raw:
        files.append(file)
        return really(file)

    monkeypatch.setattr(beginnings, "opened", noting)
    monkeypatch.setattr("triage.sources.opening.opened", noting)
    return files


def all_of(file: str) -> tuple[bytes, int, list[Problem]]:
    """What a stream gives, how many bytes of the file it says it has read, and what it complains of."""
    problems: list[Problem] = []
    view = memoryview(bytearray(4 * SMALL))
    with Stream(file, problems) as stream:
        return bytes(view[: stream.fill(view)]), stream.consumed, problems


FILES = {
    "empty": b"",
    "short": b"ab",
    "plain": LOG,
    "gz": gzip.compress(LOG),
    "cut.gz": gzip.compress(os.urandom(9000))[:5000],
    "utf-16": LOG.decode().encode("utf-16"),
    "just small": (LOG * 4)[:SMALL],
    "not small": (LOG * 4)[: SMALL + 1],
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_looked_at_and_read_is_the_same_inside_and_out(name: str, tmp_path: Path) -> None:
    file = str(tmp_path / name)
    Path(file).write_bytes(FILES[name])
    outside = head(file), identity(file), all_of(file)
    with small_files_held([file]):
        assert (head(file), identity(file), all_of(file)) == outside
        assert (all_of(file), head(file)) == (outside[2], outside[0]), "and again"
    assert (head(file), identity(file), all_of(file)) == outside


def test_a_small_file_is_opened_once(opened: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "x.log")
    Path(file).write_bytes(LOG)
    with small_files_held([file]):
        head(file), identity(file), all_of(file), head(file)
    assert opened == [file]


def test_a_file_that_is_not_small_is_not_opened_to_learn_that(opened: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "x.log")
    Path(file).write_bytes(FILES["not small"])
    with small_files_held([file]):
        assert all_of(file)[0] == FILES["not small"]
        assert opened == [file]


def test_a_file_that_has_grown_since_its_size_was_asked_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(LOG)
    with asked_once([str(file)]), small_files_held([str(file)]):
        with file.open("ab") as log:
            log.write(b"more\n")
        assert head(str(file)) == LOG + b"more\n"
        assert all_of(str(file))[0] == LOG + b"more\n"


def test_what_is_appended_before_it_is_read_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(LOG)
    with small_files_held([str(file)]):
        head(str(file))
        with file.open("ab") as log:
            log.write(b"more\n")
        assert all_of(str(file))[0] == LOG + b"more\n"


def test_a_reader_may_go_to_any_place_of_it(tmp_path: Path) -> None:
    file = str(tmp_path / "x.log")
    Path(file).write_bytes(LOG)
    view = memoryview(bytearray(len(LOG)))
    with small_files_held([file]):
        head(file)
        with Stream(file, []) as stream:
            assert stream.descriptor is not None
            stream.seek(1000)
            assert bytes(view[: stream.fill(view)]) == LOG[1000:]


def test_nothing_is_left_open(tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("a.log", "b.log", "gone.log")]
    for file in files[:2]:
        Path(file).write_bytes(LOG)
    before = len(os.listdir("/proc/self/fd"))
    with small_files_held(files):
        assert [head(file, 10) for file in files] == [LOG[:10], LOG[:10], b""]
        all_of(files[0])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_pipe_is_held_until_it_is_read_and_not_only_inside(tmp_path: Path) -> None:
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, LOG[:500])
    with small_files_held([pipe]):
        assert head(pipe, 100) == LOG[:100]
    os.write(writer, LOG[500:900])
    view = memoryview(bytearray(900))
    with Stream(pipe, []) as stream:
        os.close(writer)
        assert bytes(view[: stream.fill(view)]) == LOG[:900]
