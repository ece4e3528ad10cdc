"""Folders of dumps: which files belong to one hang, and what is done with what is no dump."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.made_dumps import Job, as_json, document, job, lay, python_pickle, torch_pickle
from triage.parsers.flight_recorder import RankDumps, read_files, read_folder

posix = pytest.mark.skipif(os.name != "posix", reason="has no such files")


def only(found: tuple[RankDumps, ...]) -> RankDumps:
    assert len(found) == 1
    return found[0]


def test_a_folder_is_one_hang(tmp_path: Path) -> None:
    found = only(read_folder([str(lay(tmp_path, job()))]))
    assert found.ranks == (0, 1, 2, 3)
    assert found.prefix == "comm_lib_trace_rank_"
    assert not found.unreadable


def test_files_by_name_are_read_too(tmp_path: Path) -> None:
    lay(tmp_path, job())
    assert only(read_files([str(tmp_path / "comm_lib_trace_rank_2")])).ranks == (2,)


def test_other_files_are_passed_over(tmp_path: Path) -> None:
    lay(tmp_path, job())
    (tmp_path / "fault_injection.log").write_text("rank 3\n")
    (tmp_path / "README").write_text("dumps\n")
    assert not only(read_folder([str(tmp_path)])).unreadable


def test_gzip_and_json_and_pickle_may_lie_together(tmp_path: Path) -> None:
    made = job()
    (tmp_path / "rank_0.json").write_bytes(as_json(made[0]))
    (tmp_path / "rank_1.gz").write_bytes(gzip.compress(torch_pickle(made[1])))
    (tmp_path / "rank_2").write_bytes(python_pickle(5)(made[2]))
    assert only(read_folder([str(tmp_path)])).ranks == (0, 1, 2)


def test_a_host_in_the_name_makes_no_other_hang(tmp_path: Path) -> None:
    made = job()
    for rank in range(4):
        lay(tmp_path, {rank: made[rank]}, name=f"nccl_trace_rank_node-{rank // 2}_{{}}")
    assert only(read_folder([str(tmp_path)])).ranks == (0, 1, 2, 3)


def test_a_rank_never_comes_twice(tmp_path: Path) -> None:
    lay(tmp_path, job())
    (tmp_path / "comm_lib_trace_rank_00").write_bytes(torch_pickle(job()[0]))
    assert sorted(found.ranks for found in read_folder([str(tmp_path)])) == [(0,), (0, 1, 2, 3)]


def test_a_file_that_is_given_twice_is_read_once(tmp_path: Path) -> None:
    lay(tmp_path, job())
    assert only(read_folder([str(tmp_path), str(tmp_path / "comm_lib_trace_rank_2"), f"{tmp_path}/."])).ranks == (0, 1, 2, 3)


def test_prefixes_that_share_ranks_are_two_hangs(tmp_path: Path) -> None:
    lay(tmp_path, job(), name="monday_{}")
    lay(tmp_path, job(), name="tuesday_{}")
    assert [(found.prefix, found.ranks) for found in read_folder([str(tmp_path)])] == [("monday_", (0, 1, 2, 3)), ("tuesday_", (0, 1, 2, 3))]


def test_copies_of_one_dump_are_two_hangs(tmp_path: Path) -> None:
    lay(tmp_path, job())
    lay(tmp_path, job(), lambda made: gzip.compress(torch_pickle(made)), "comm_lib_trace_rank_{}.gz")
    assert [found.ranks for found in read_folder([str(tmp_path)])] == [(0, 1, 2, 3)] * 2


def test_a_folder_for_each_hang(tmp_path: Path) -> None:
    lay(tmp_path / "a", job())
    lay(tmp_path / "b", job())
    assert [found.directory for found in read_folder([str(tmp_path)])] == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_a_folder_for_each_host_is_one_hang(tmp_path: Path) -> None:
    made = job()
    lay(tmp_path / "node-0", {rank: made[rank] for rank in (0, 1)})
    lay(tmp_path / "node-1", {rank: made[rank] for rank in (2, 3)})
    assert only(read_folder([str(tmp_path)])).ranks == (0, 1, 2, 3)


def test_folders_of_other_jobs_or_times_are_not_joined(tmp_path: Path) -> None:
    made, later = job(), shifted(job(), 3600 * 10**9)
    lay(tmp_path / "a", {rank: made[rank] for rank in (0, 1)})
    lay(tmp_path / "b", {rank: later[rank] for rank in (2, 3)})
    lay(tmp_path / "c", {7: job(8)[7]})
    assert [found.ranks for found in read_folder([str(tmp_path)])] == [(0, 1), (2, 3), (7,)]


def shifted(made: Job, by: int) -> Job:
    """The job `by` ns later."""
    return {
        rank: document([e | {"time_created_ns": e["time_created_ns"] + by} for e in of_rank["entries"]], of_rank["pg_config"])
        for rank, of_rank in made.items()
    }


def test_no_rank_in_the_name_is_said(tmp_path: Path) -> None:
    lay(tmp_path, {0: job()[0]}, name="trace")
    found = only(read_folder([str(tmp_path)]))
    assert not found.recordings
    assert "--rank-from" in found.unreadable[0].what


def test_a_regex_finds_ranks(tmp_path: Path) -> None:
    lay(tmp_path, job(), name="r{}-trace.bin")
    assert only(read_folder([str(tmp_path)], rank_from=r"r(\d+)-")).ranks == (0, 1, 2, 3)


def test_broken_files_are_named_and_the_others_read(tmp_path: Path) -> None:
    lay(tmp_path, job())
    (tmp_path / "comm_lib_trace_rank_1").write_bytes(b"")
    (tmp_path / "comm_lib_trace_rank_2").write_bytes(b"\x80\x02cos\nsystem\n.")
    found = only(read_folder([str(tmp_path)]))
    assert (found.ranks, found.lost) == ((0, 3), (1, 2))
    assert [os.path.basename(p.file)[-1] for p in found.unreadable] == ["1", "2"]
    assert "0 bytes" in found.unreadable[0].what
    assert "GLOBAL" in found.unreadable[1].what


@posix
def test_pipes_are_not_opened(tmp_path: Path) -> None:
    lay(tmp_path, job(3))
    os.mkfifo(tmp_path / "comm_lib_trace_rank_3")
    os.mkfifo(tmp_path / "comm_lib_trace_rank_0.pipe")
    found = only(read_folder([str(tmp_path)]))
    assert found.ranks == (0, 1, 2)
    assert [p.lost for p in found.unreadable] == [False, False]


@posix
def test_a_pipe_named_as_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_3")
    assert "regular" in only(read_files([str(tmp_path / "rank_3")])).unreadable[0].what


@posix
def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = lay(tmp_path / "outside", job()) / "comm_lib_trace_rank_3"
    inside = lay(tmp_path / "inside", job(3))
    (inside / "comm_lib_trace_rank_3").symlink_to(outside)
    (inside / "comm_lib_trace_rank_4").symlink_to("nowhere")
    found = only(read_folder([str(inside)]))
    assert found.ranks == (0, 1, 2)
    assert len(found.unreadable) == 2


@posix
def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    data = lay(tmp_path / "..data", job(3, 4))
    (tmp_path / "comm_lib_trace_rank_3").symlink_to(data / "comm_lib_trace_rank_2")
    assert (3,) in [found.ranks for found in read_folder([str(tmp_path)])]


def test_a_path_that_is_not_there_is_said(tmp_path: Path) -> None:
    assert "No such file" in only(read_files([str(tmp_path / "rank_0")])).unreadable[0].what
