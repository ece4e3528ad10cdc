"""Paths become sources: each log once, rotations together and oldest first; what is passed over is said."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import socket
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model import Problem
from triage.sources import rotation
from triage.sources.find import Source, find
from triage.sources.rotation import rotations


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is also the working one, so that paths can be given as a user would."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, data: bytes | None = None) -> None:
    """A file with content of its own, unless it is given."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(path.encode() if data is None else data)


def found(*paths: str) -> dict[str, tuple[str, ...]]:
    """The files of each source by its name, where there is nothing to complain of."""
    sources, problems = find(paths)
    assert problems == []
    return {source.name: source.files for source in sources}


def passed_over(*paths: str) -> tuple[list[str], list[Problem]]:
    sources, problems = find(paths)
    return [source.name for source in sources], problems


@pytest.mark.usefixtures("logs")
class TestFind:
    def test_files_keep_the_order_in_which_they_were_named(self) -> None:
        write("b.log")
        write("a.log")
        assert list(found("b.log", "a.log")) == ["b.log", "a.log"]

    def test_folders_are_read_to_the_bottom_sorted_without_hidden_files(self) -> None:
        for path in ("d/z.log", "d/a.log", "d/sub/b.log", "d/.hidden", "d/.git/config"):
            write(path)
        assert found("d") == {"a.log": ("d/a.log",), "z.log": ("d/z.log",), "sub/b.log": ("d/sub/b.log",)}

    @pytest.mark.parametrize("folder", ["d", "d/", "./d", "d/../d", "."])
    def test_a_source_is_named_from_the_folder_on_however_that_is_written(self, folder: str) -> None:
        for path in ("d/a.log", "d/sub/b.log", "d/sub/deep/c.log"):
            write(path)
        assert [name.removeprefix("d/") for name in found(folder)] == ["a.log", "sub/b.log", "sub/deep/c.log"]

    def test_a_hidden_file_that_is_named_is_read(self) -> None:
        write(".engine.log")
        assert found(".engine.log") == {".engine.log": (".engine.log",)}

    def test_globs_that_the_shell_left(self) -> None:
        write("d/a.log")
        write("d/b.log")
        write("d/c.txt")
        assert list(found("d/*.log")) == ["d/a.log", "d/b.log"]

    def test_a_file_whose_name_looks_like_a_glob(self) -> None:
        write("a[1].log")
        assert list(found("a[1].log")) == ["a[1].log"]

    def test_standard_input_is_a_source_once(self) -> None:
        assert found("-", "-") == {"-": ("-",)}

    def test_the_kind_that_the_user_forces(self) -> None:
        write("x")
        assert find(["x"], kind="probe") == ([Source("x", ("x",), "probe")], [])

    def test_empty_files_are_sources_too(self) -> None:
        write("x.log", b"")
        assert found("x.log") == {"x.log": ("x.log",)}

    def test_what_is_missing_is_lost(self) -> None:
        write("there.log")
        names, problems = passed_over("gone.log", "there.log", "no*match")
        assert names == ["there.log"]
        assert problems == [Problem("gone.log", "no such file or folder"), Problem("no*match", "no such file or folder")]

    @pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
    def test_paths_that_cannot_be(self, path: str) -> None:
        assert [problem.lost for problem in find([path])[1]] == [True]

    def test_one_file_by_many_ways_is_read_once(self) -> None:
        write("d/a.log")
        os.symlink("a.log", "d/link.log")
        os.link("d/a.log", "d/hard.log")
        for paths in (["d/a.log", "d"], ["d", "d"], ["d", "./d/a.log"], ["d/link.log", "d/a.log"], ["d/*", "d"]):
            assert len(found(*paths)) == 1

    def test_links_out_of_a_folder_are_followed_only_when_named(self) -> None:
        write("elsewhere/a.log")
        write("d/b.log")
        os.symlink("../elsewhere/a.log", "d/out.log")
        os.symlink("../elsewhere", "d/folder")
        names, problems = passed_over("d")
        assert names == ["b.log"]
        assert sorted((problem.file, problem.lost) for problem in problems) == [("d/folder", False), ("d/out.log", False)]
        assert list(found("d/out.log")) == ["d/out.log"]

    def test_links_in_a_circle_end(self) -> None:
        write("d/a.log")
        os.symlink(".", "d/loop")
        os.symlink("self", "d/self")
        assert passed_over("d")[0] == ["a.log"]

    def test_a_link_to_nothing_is_told(self) -> None:
        os.symlink("gone", "dangling")
        assert passed_over("dangling") == ([], [Problem("dangling", "cannot be opened: No such file or directory")])

    def test_pipes_sockets_and_devices_are_not_opened(self) -> None:
        write("d/a.log")
        os.mkfifo("d/trigger0.pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("d/socket")
            names, problems = passed_over("d", "/dev/null", "d/trigger0.pipe")
        assert names == ["a.log"]
        assert [(p.file, p.lost) for p in problems] == [(name, False) for name in ("d/socket", "d/trigger0.pipe", "/dev/null", "d/trigger0.pipe")]

    def test_a_pipe_that_is_named_is_read(self) -> None:
        os.mkfifo("pipe")
        assert found("pipe") == {"pipe": ("pipe",)}
        end, other = os.pipe()
        try:
            assert list(found(f"/dev/fd/{end}")) == [f"/dev/fd/{end}"]
        finally:
            os.close(end)
            os.close(other)

    def test_archives_must_be_unpacked(self) -> None:
        write("x")
        for name in ("a.tar", "b.tgz", "c.tar.gz"):
            with tarfile.open(name, "w:gz" if "gz" in name else "w") as archive:
                archive.add("x")
        os.rename("c.tar.gz", "logs.gz")
        names, problems = passed_over("a.tar", "b.tgz", "logs.gz", "x")
        assert names == ["x"]
        assert {p.lost for p in problems} == {True}
        assert ["archive" in p.what for p in problems] == [True] * 3

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_a_folder_that_may_not_be_read(self) -> None:
        os.mkdir("d", 0)
        assert passed_over("d") == ([], [Problem("d", "cannot be opened: Permission denied")])

    def test_the_same_name_in_two_folders(self) -> None:
        write("gpu1/engine.log")
        write("gpu2/engine.log")
        assert list(found("gpu1", "gpu2")) == ["gpu1/engine.log", "gpu2/engine.log"]

    def test_rotations_are_one_source_named_like_the_live_file(self) -> None:
        for path in ("d/x.log", "d/x.log.1", "d/x.log.2", "d/x.log.10"):
            write(path)
        write("d/x.log.3.gz", gzip.compress(b"3"))
        assert found("d") == {"x.log": ("d/x.log.10", "d/x.log.3.gz", "d/x.log.2", "d/x.log.1", "d/x.log")}

    def test_rotations_that_are_all_compressed_lose_the_suffix(self) -> None:
        write("x.log.1.gz", gzip.compress(b"1"))
        write("x.log.2.gz", gzip.compress(b"2"))
        assert found("x.log.1.gz", "x.log.2.gz") == {"x.log.1": ("x.log.2.gz", "x.log.1.gz")}

    def test_rotations_reached_by_different_paths(self) -> None:
        write("d/x.log")
        write("d/x.log.1")
        assert found("d", "./d/../d/x.log.1") == {"x.log": ("d/x.log.1", "d/x.log")}

    @pytest.mark.parametrize("packed", [gzip.compress, bz2.compress])
    def test_a_plain_copy_beside_the_compressed_one_is_read_once(self, packed: type) -> None:
        write("x.log.1", b"the same text\n" * 1000)
        write("x.log.1.gz", packed(b"the same text\n" * 1000))
        sources, problems = find(["."])
        assert sources == [Source("x.log.1", ("./x.log.1",))]
        assert problems == [Problem("./x.log.1.gz", "holds the same as ./x.log.1, which is read", lost=False)]

    def test_two_compressed_copies_are_read_once(self) -> None:
        write("a/x.log.gz", gzip.compress(b"the same text\n"))
        write("b/x.log.bz2", bz2.compress(b"the same text\n"))
        assert len(find(["a", "b"])[0]) == 1

    def test_files_that_only_begin_alike_are_both_read(self) -> None:
        write("x.log", b"the same text\n" * 1000 + b"more\n")
        write("x.log.gz", gzip.compress(b"the same text\n" * 1000))
        assert found(".") == {"x.log": ("./x.log.gz", "./x.log")}

    def test_dumps_of_ranks_stay_apart(self) -> None:
        for rank in range(3):
            write(f"dumps/comm_lib_trace_rank_{rank}")
            write(f"dumps/trace.{rank}")
        assert len(found("dumps")) == 6


@pytest.mark.parametrize(
    "oldest_first",
    [
        ["x.log.2.gz", "x.log.1", "x.log"],
        ["syslog.10", "syslog.9", "syslog.1", "syslog"],
        ["x.log-20261030.gz", "x.log-20261101", "x.log"],
        ["x.log-20261101-0300", "x.log-20261101-1500", "x.log"],
        ["x-20261030.log", "x-20261101.log.gz"],
        ["x.2026-10-30.log", "x.2026-11-01.log", "x.log"],
        ["x.log.2026-10-31", "x.log.2026-11-01", "x.log"],
        ["x.log.2026-11-01_09-00-00", "x.log.2026-11-01_10-00-00", "x.log"],
        ["x.log-20261101.gz", "x.log.1", "x.log"],
        ["c0ffee-json.log.2", "c0ffee-json.log.1", "c0ffee-json.log"],
        [
            "ns_vllm-0_0a1b2c3d-0000-4000-8000-000000000000/engine/0.log.20261031-120000.gz",
            "ns_vllm-0_0a1b2c3d-0000-4000-8000-000000000000/engine/0.log.20261101-120000",
            "ns_vllm-0_0a1b2c3d-0000-4000-8000-000000000000/engine/0.log",
            "ns_vllm-0_0a1b2c3d-0000-4000-8000-000000000000/engine/2.log",
            "ns_vllm-0_0a1b2c3d-0000-4000-8000-000000000000/engine/10.log",
        ],
    ],
    ids=lambda files: files[-1][-20:],
)
def test_the_order_of_rotations(oldest_first: list[str]) -> None:
    assert rotations(oldest_first) == rotations(sorted(oldest_first)) == rotations(oldest_first[::-1]) == [oldest_first]


@pytest.mark.parametrize(
    "apart",
    [
        ["x.log", "y.log"],
        ["a/x.log", "b/x.log.1"],
        ["run.1", "run.2"],
        ["core.1234", "core"],
        ["run-12345678.log", "run-87654321.log"],
        ["0.log", "1.log"],
        ["x.log", "x.log.12345"],
        ["node-1.log", "node-2.log"],
        ["rank_0", "rank_1"],
    ],
    ids=lambda files: files[0],
)
def test_files_that_are_no_rotations_of_each_other(apart: Sequence[str]) -> None:
    assert rotations(apart) == [[file] for file in apart]


class TestNumbersBeforeTheSuffix:
    """`x.1.log` may be a rotation, or the log of a rank: its first stamp tells."""

    @staticmethod
    def grouped(folder: Path, stamps: dict[str, str]) -> list[list[str]]:
        for name, stamp in stamps.items():
            (folder / name).write_text(f"INFO {stamp} [core.py:1] hello\n")
        return [[os.path.basename(file) for file in log] for log in rotations([str(folder / name) for name in stamps])]

    def test_each_begins_before_the_next_one(self, tmp_path: Path) -> None:
        stamps = {"x.1.log": "11-02 00:00:00", "x.2.log": "11-01 00:00:00", "x.log": "11-03 00:00:00"}
        assert self.grouped(tmp_path, stamps) == [["x.2.log", "x.1.log", "x.log"]]

    def test_the_live_file_may_be_missing(self, tmp_path: Path) -> None:
        assert self.grouped(tmp_path, {"x.1.log": "11-02 00:00:00", "x.2.log": "11-01 00:00:00"}) == [["x.2.log", "x.1.log"]]

    @pytest.mark.parametrize(
        "stamps",
        [
            {"x.1.log": "11-01 00:00:00", "x.2.log": "11-01 00:00:00"},
            {"x.1.log": "11-01 00:00:00", "x.2.log": "11-01 00:00:01"},
            {"x.1.log": "11-03 00:00:00", "x.3.log": "11-01 00:00:00"},
            {"x.0.log": "11-02 00:00:00", "x.1.log": "11-01 00:00:00", "x.log": "11-03 00:00:00"},
            {"x.1.log": "no stamp", "x.log": "no stamp"},
        ],
        ids=["one moment", "upwards", "a gap", "a zero beside the live file", "no stamps"],
    )
    def test_others_are_logs_of_their_own(self, stamps: dict[str, str], tmp_path: Path) -> None:
        assert self.grouped(tmp_path, stamps) == [[name] for name in stamps]


@given(st.sampled_from((rotation._DATED, rotation._DATED_INSIDE, rotation._NUMBERED, rotation._NUMBERED_INSIDE, rotation._POD_FILE)), st.data())
def test_only_a_name_with_a_figure_is_a_rotation(pattern: re.Pattern[str], draw: st.DataObject) -> None:
    assert rotation._has_figure(draw.draw(st.from_regex(re.compile(pattern.pattern, pattern.flags), fullmatch=True)))
