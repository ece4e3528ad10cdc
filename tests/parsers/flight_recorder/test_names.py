"""Ranks out of file names, and which files are dumps."""

from __future__ import annotations

import gzip

import pytest

from tests.made_dumps import as_json, job, torch_pickle
from triage.parsers.flight_recorder.names import looks_like_dump, take_apart


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("comm_lib_trace_rank_3", 3),
        ("nccl_trace_rank_host_3", 3),
        ("nccl_trace_rank_node-7_12", 12),
        ("hccl_trace_rank_0", 0),
        ("_dump_15", 15),
        ("rank_3", 3),
        ("rank_3.json", 3),
        ("nccl_trace_rank_3.gz", 3),
        ("rank_3.json.gz", 3),
        ("trace", None),
        ("nccl_trace_20261128093000", None),
        ("nccl_trace_rank_3.pipe", None),
    ],
)
def test_the_rank_is_in_the_last_digits(name: str, rank: int | None) -> None:
    assert take_apart(f"/tmp/{name}").rank == rank


@pytest.mark.parametrize(("name", "rank"), [("r07-trace.bin", 7), ("other.bin", None)])
def test_a_regex_finds_the_rank_elsewhere(name: str, rank: int | None) -> None:
    assert take_apart(name, r"r(\d+)-").rank == rank


def test_a_regex_whose_group_is_no_number_finds_none() -> None:
    assert take_apart("rank-x", r"rank-(\w)").rank is None


DUMP = torch_pickle(job()[0])


@pytest.mark.parametrize(
    ("head", "name", "dump"),
    [
        (DUMP, "anything", True),
        (gzip.compress(DUMP), "anything.gz", True),
        (as_json(job()[0]), "rank_0.json", True),
        (b"", "comm_lib_trace_rank_3", True),
        (b"\x80\x02cos\nsystem\n", "nccl_trace_rank_3", True),
        (b"\0\0\0", "_dump_4", True),
        (b"", "vllm.log", False),
        (b"\x80\x02}X\x05\x00\x00\x00model", "weights_0", False),
        (b"INFO 11-28 03:12:13 engine\n", "rank_0.log", False),
        (b'{"level":"info"}\n', "rank_0.json", False),
        (DUMP, "nccl_trace_rank_0.pipe", False),
        (b"\x1f\x8bxxxxxxxx", "rank_3.gz", False),
        (b"\x7fELF\x80\x02", "core_3", False),
    ],
)
def test_dumps_are_told_from_other_files(head: bytes, name: str, dump: bool) -> None:
    assert looks_like_dump(head[:8192], name) is dump
