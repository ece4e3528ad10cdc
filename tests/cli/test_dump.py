"""`triage dump`, as it is typed: what it prints, in every format, and how it ends."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.made_dumps import entry, job, lay
from triage.cli.dump import dump

KEYS = {"schema", "ranks", "groups", "suspects"}


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(dump, [str(a) for a in arguments])


def told(*arguments: str | Path) -> Any:
    done = run("--format", "json", *arguments)
    assert done.exit_code in (0, 3), done.output
    return json.loads(done.stdout)


@pytest.fixture
def hang(tmp_path: Path) -> Path:
    return lay(tmp_path / "hang", job(4, stuck={0, 1, 3}))


def test_the_answer_comes_first(hang: Path) -> None:
    done = run(hang)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "Rank 2 held up the others (proven)."
    assert max(map(len, done.stdout.splitlines())) <= 80
    for word in ("4 of 4 ranks", "recorder 2.10", "2.27.3", "waiting since 2026-", "timeout 600 s", "0 (default_pg)", "all_reduce", "64 Float"):
        assert word in " ".join(done.stdout.split())


def test_json_has_the_keys_that_are_promised(hang: Path) -> None:
    document = told(hang)
    assert document.keys() >= KEYS
    assert document["schema"] == "triage-dump/1"
    assert document["ranks"] == {"present": [0, 1, 2, 3], "missing": [], "empty": [], "unreadable": []}
    (group,) = document["groups"]
    assert group["name"] == "0 (default_pg)"
    assert (group["members"], group["operation"], group["sequence"]) == ([0, 1, 2, 3], "all_reduce", 6)
    assert (group["waiting"], group["missing"]) == ([0, 1, 3], [2])
    (suspect,) = document["suspects"]
    assert (suspect["rank"], suspect["strength"]) == (2, "proven")
    assert suspect["reason"]
    assert suspect["evidence"]


def test_no_fault_has_no_suspects(tmp_path: Path) -> None:
    made = {rank: of_rank | {"entries": [entry(s) for s in range(1, 7)]} for rank, of_rank in job(2, 6, stuck=[]).items()}
    document = told(lay(tmp_path, made))
    assert (document["suspects"], document["groups"]) == ([], [])
    assert run(tmp_path).stdout.startswith("No rank is stuck")


def test_a_suspect_that_is_no_rank_is_null(tmp_path: Path) -> None:
    document = told(lay(tmp_path, {3: job(16)[3]}))
    assert [(s["rank"], s["strength"]) for s in document["suspects"]] == [(None, "cannot-tell")]
    assert run(tmp_path).stdout.startswith("Who did it cannot be told")


def test_several_hangs_are_listed(tmp_path: Path, hang: Path) -> None:
    lay(tmp_path / "other", job(4, stuck={1, 2, 3}))
    document = told(tmp_path)
    assert document["schema"] == "triage-dump/1"
    assert [[s["rank"] for s in d["suspects"]] for d in document["dumps"]] == [[2], [0]]
    assert run(tmp_path).stdout.count("held up the others") == 2


def test_markdown_is_a_table_without_markup_from_the_input(tmp_path: Path) -> None:
    made = job(4, stuck={0, 1, 3}, profiling_name="nccl:a|b<script>")
    done = run("--format", "markdown", lay(tmp_path, made))
    assert "| group " in done.stdout
    assert "<script>" not in done.stdout
    assert "a\\|b&lt;script>" in done.stdout


def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    made = job(4, stuck={0, 1, 3}, profiling_name="nccl:\x1b[31mred\x07")
    done = run("--timeline", "2", "--frames", lay(tmp_path, made))
    assert not {"\x1b", "\x07"} & set(done.stdout)


def test_a_timeline_is_aligned_by_group_and_sequence(hang: Path) -> None:
    done = run("--timeline", "2", hang)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["5", "all_reduce", "0-3", "-", "-"] in lines
    assert [">", "6", "all_reduce", "-", "0,", "1,", "3", "2"] in lines
    (timeline,) = told("--timeline", "2", hang)["timeline"]
    assert [step["sequence"] for step in timeline["steps"]] == [5, 6]
    assert timeline["steps"][1]["not_entered"] == [2]


def test_frames_are_grouped_by_stack(hang: Path) -> None:
    stacks = told("--frames", hang)["frames"]
    assert [(s["ranks"], s["what"]) for s in stacks] == [([2], "last operation of a suspect"), ([0, 1, 3], "waiting")]
    assert stacks[1]["frames"] == [{"name": "forward", "file": "/srv/app/model.py", "line": 10}]
    assert "forward at /srv/app/model.py:10" in run("--frames", hang).stdout


def test_stacks_that_are_not_there_are_said(tmp_path: Path) -> None:
    made = {
        rank: of_rank | {"entries": [{k: v for k, v in e.items() if k != "frames"} for e in of_rank["entries"]]}
        for rank, of_rank in job(2, stuck={0}).items()
    }
    assert "no stacks" in run("--frames", lay(tmp_path, made)).stdout


def test_a_broken_file_is_named_and_ends_in_3(hang: Path) -> None:
    (hang / "comm_lib_trace_rank_1").write_bytes(b"\x80\x02cos\nsystem\n.")
    done = run(hang)
    assert done.exit_code == 3
    assert "comm_lib_trace_rank_1: opcode GLOBAL" in done.stderr
    assert done.stdout.startswith("Rank 2 held up the others (proven).")
    document = told(hang)
    assert document["ranks"]["present"] == [0, 2, 3]
    assert "GLOBAL" in document["ranks"]["unreadable"][0]["why"]


@pytest.mark.skipif(os.name != "posix", reason="has no pipes")
def test_a_pipe_beside_the_dumps_is_no_failure(hang: Path) -> None:
    os.mkfifo(hang / "comm_lib_trace_rank_0.pipe")
    done = run(hang)
    assert done.exit_code == 0
    assert "not opened" in done.stderr


def test_nothing_to_read_ends_in_2(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no flight-recorder dump" in done.stderr
    (tmp_path / "comm_lib_trace_rank_0").touch()
    assert run(tmp_path).exit_code == 2


@pytest.mark.parametrize("regex", ["(", "rank"])
def test_a_regex_that_cannot_work_is_a_usage_error(regex: str, hang: Path) -> None:
    done = run("--rank-from", regex, hang)
    assert done.exit_code == 2
    assert "--rank-from" in done.stderr


def test_ranks_from_a_regex_and_a_given_world(tmp_path: Path) -> None:
    made = job(4)
    del made[3]
    folder = lay(tmp_path, made, name="r{}.bin")
    assert told("--rank-from", r"r(\d+)", "--world-size", "5", folder)["ranks"] == {
        "present": [0, 1, 2],
        "missing": [3, 4],
        "empty": [],
        "unreadable": [],
    }
