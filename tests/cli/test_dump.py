"""`triage dump`, as it is typed: what it prints, in every format, and how it ends."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.made_dumps import as_json, config, document, entry, job, lay
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


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that has the JSON dumps of a hang, as `rank_0.json` and so on."""
    lay(tmp_path / "served", job(4, stuck={0, 1, 3}), as_json, "rank_{}.json")
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_dumps_are_asked_for_over_http(server: str) -> None:
    done = run(*(f"{server}/rank_{rank}.json" for rank in range(4)))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("Rank 2 held up the others (proven).")
    assert f"{server}: 4 of 4 ranks" in done.stdout


def test_a_rank_that_does_not_answer_is_lost_and_ends_in_3(server: str) -> None:
    urls = [f"{server}/rank_{rank}.json" for rank in (0, 1, 3)]
    done = run(*urls, f"{server}/gone/rank_2.json")
    assert done.exit_code == 3
    assert f"{server}/gone/rank_2.json: the server answers 404" in done.stderr
    assert "rank 2 (cannot tell): its dump cannot be read" in done.stdout
    assert told(*urls, f"{server}/gone/rank_2.json")["ranks"]["missing"] == [2]


def test_no_address_that_answers_ends_in_2(server: str) -> None:
    assert run(f"{server}/gone/rank_2.json").exit_code == 2
    done = run("http://[::1/rank_2.json")
    assert (done.exit_code, "is no address" in done.stderr) == (2, True)


def test_addresses_and_folders_are_hangs_of_their_own(server: str, hang: Path) -> None:
    assert len(told(hang, f"{server}/rank_0.json")["dumps"]) == 2


def test_many_ranks_and_long_names_fit_the_terminal(tmp_path: Path) -> None:
    made = job(128, stuck=range(0, 128, 2), profiling_name="nccl:_reduce_scatter_tensor_coalesced_of_many")
    for of_rank in made.values():
        of_rank["entries"] = [e | {"frames": [{"name": "forward_of_a_layer", "filename": "/srv/" + 3 * "some_folder/" + "m.py", "line": 7}] * 4}
                              for e in of_rank["entries"]]  # fmt: skip
    lines = run("--timeline", "2", "--frames", lay(tmp_path, made)).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Ranks 1, 3, 5")
    assert sum(line.startswith("rank ") for line in lines) == 12
    assert "... and 52 more suspects (--format json has all)" in lines
    assert len(told(tmp_path)["suspects"]) == 64


def test_a_timeline_has_those_who_are_waited_for_though_their_dumps_know_nothing_of_the_group(tmp_path: Path) -> None:
    groups = config("0", range(2)) | config("1", range(2))
    there = document([entry(1), entry(1, pg_id=1, process_group=("1", "group 1"), state="scheduled")], groups)
    made = {0: there, 1: document([entry(1)], config("0", range(2)))}
    (timeline,) = told("--timeline", "1", lay(tmp_path, made))["timeline"]
    assert (timeline["steps"][0]["in"], timeline["steps"][0]["not_entered"]) == ([0], [1])


def test_a_suspect_that_waits_is_said_to_wait(tmp_path: Path) -> None:
    last = {"state": "scheduled"}
    groups = config("1", range(4)) | config("2", range(4))
    enters = {rank: "2" if rank == 1 else "1" for rank in range(4)}
    made = {
        rank: document([entry(1, pg_id=int(name), process_group=(name, f"group {name}"), **last)], groups)
        | {"pg_status": {n: {f"last_{w}_collective": -1 if n != name or w != "enqueued" else 1 for w in ("enqueued", "started", "completed")}
                         for n in ("1", "2")}}
        for rank, name in enters.items()
    }  # fmt: skip
    stacks = told("--frames", lay(tmp_path, made))["frames"]
    assert [(s["ranks"], s["what"]) for s in stacks] == [([1], "waiting, and a suspect"), ([0, 2, 3], "waiting")]


def test_nobody_stuck_says_what_torch_does_not_record(tmp_path: Path) -> None:
    made = {rank: document([entry(s) for s in range(1, 7)], config("0", range(3))) for rank in range(3)}
    said = " ".join(run(lay(tmp_path / "all", made)).stdout.split())
    assert "outside torch.distributed" in said
    assert "VLLM_DISABLE_PYNCCL=1" in said
    del made[1]
    said = " ".join(run(lay(tmp_path / "some", made)).stdout.split())
    assert said.startswith("Who did it cannot be told")
    assert "outside torch.distributed" in said
    empty = {rank: document([], config("0", range(3))) for rank in range(3)}
    assert "nothing recorded by ranks 0-2" in run(lay(tmp_path / "empty", empty)).stdout
    assert "VLLM_DISABLE_PYNCCL=1" in run(tmp_path / "empty").stdout
    assert "pynccl" not in run(lay(tmp_path / "hang", job(4, stuck={0, 1, 3}))).stdout


def test_a_stray_number_makes_no_million_ranks(tmp_path: Path) -> None:
    made = job(3)
    del made[1]
    lay(tmp_path, made | {143000: made[0]})
    assert told(tmp_path)["ranks"]["missing"] == [1]
