"""`triage history export --parquet` and `triage fleet`: from the logs of hosts to what they have in common, and what is told where it fails."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("duckdb")

from docs.fleet_example import FOLDER
from triage.cli.main import main

FIXTURES = Path(__file__).parents[2] / "fixtures"


def triage(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, arguments, prog_name="triage")


def export(folder: Path, host: str, *logs: str) -> None:
    store = str(folder / f"{host}.db")
    assert triage("classify", *(str(FIXTURES / log) for log in logs), "--record", "--store", store).exit_code == 0
    done = triage("history", "export", "--parquet", str(folder / "out"), "--host", host, "--store", store)
    assert (done.exit_code, done.stdout) == (0, f"{folder}/out/host={host}: 4 files\n")


def test_what_two_hosts_recorded_is_counted_together(tmp_path: Path) -> None:
    export(tmp_path, "gpu-a", "outage-weeks")
    export(tmp_path, "gpu-b", "sglang-watchdog")
    rows = list(csv.DictReader(io.StringIO(triage("fleet", str(tmp_path / "out"), "--format", "csv").stdout)))
    assert [(r["class"], r["host"], r["driver"], r["engine"], r["version"], r["count"]) for r in rows] == [
        ("collective-hang", "gpu-a", "580.95.05", "vllm", "0.27.0", "4"),
        ("cublas-fault", "gpu-a", "580.95.05", "vllm", "0.27.0", "9"),
        ("engine-stall", "gpu-b", "", "sglang", rows[2]["version"], "1"),
        ("triton-fault", "gpu-a", "580.95.05", "vllm", "0.27.0", "4"),
    ]


def test_what_people_said_counts(tmp_path: Path) -> None:
    export(tmp_path, "gpu-a", "outage-weeks")
    store = str(tmp_path / "gpu-a.db")
    ids = [row["id"] for row in csv.DictReader(io.StringIO(triage("history", "export", "--store", store).stdout)) if row["class"] == "cublas-fault"]
    assert triage("history", "relabel", ids[0], "gpu-hardware", "--reason", "RMA", "--store", store).exit_code == 0
    assert triage("history", "dismiss", ids[1], "--reason", "load test", "--store", store).exit_code == 0
    triage("history", "export", "--parquet", str(tmp_path / "out"), "--host", "gpu-a", "--store", store)
    found = json.loads(triage("fleet", str(tmp_path / "out"), "--format", "json").stdout)
    assert {c["class"]: c["count"] for c in found["classes"]} == {"cublas-fault": 7, "collective-hang": 4, "triton-fault": 4, "gpu-hardware": 1}
    assert found["dismissed"] == 1


def test_no_line_of_a_log_leaves_its_host(tmp_path: Path) -> None:
    export(tmp_path, "gpu-a", "outage-weeks")
    handed_out = b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*.parquet"))
    assert b"CUBLAS_STATUS" not in handed_out
    assert b"ProcessGroupNCCL" not in handed_out


def test_the_table_says_which_host_stands_out_and_which_only_seems_to() -> None:
    done = triage("fleet", str(FOLDER))
    assert done.exit_code == 0
    assert "gpu-hardware: gpu-05 has 6 of 8, 1.1 expected by its share of the time seen" in done.stdout
    assert "triton-fault: the 10 on gpu-03 are 1 crash and repeats of it within an hour" in done.stdout
    assert "cublas-fault: " not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json", "jsonl"])
def test_every_format_tells_the_same_counts(form: str) -> None:
    done = triage("fleet", str(FOLDER), "--by", "host", "--format", form)
    assert done.exit_code == 0
    assert "gpu-05" in done.stdout
    if form == "jsonl":
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        classes = json.loads(triage("fleet", str(FOLDER), "--format", "json").stdout)["classes"]
        assert sum(row["count"] for row in rows) == sum(each["count"] for each in classes)


def test_a_host_that_cannot_be_read_is_exit_3(tmp_path: Path) -> None:
    export(tmp_path, "gpu-a", "outage-weeks")
    (tmp_path / "out" / "host=x").mkdir()
    (tmp_path / "out" / "host=x" / "about.parquet").write_bytes(b"\x1b[31mno parquet")
    done = triage("fleet", str(tmp_path / "out"))
    assert done.exit_code == 3
    assert "host=x/about.parquet: " in done.stderr
    assert "\x1b" not in done.output
    assert "cublas-fault" in done.stdout


def test_nothing_is_exit_2(tmp_path: Path) -> None:
    done = triage("fleet", str(tmp_path))
    assert (done.exit_code, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_that_cannot_be_written_is_exit_2(tmp_path: Path) -> None:
    export(tmp_path, "gpu-a", "healthy")
    (tmp_path / "file").write_text("")
    done = triage("history", "export", "--parquet", str(tmp_path / "file" / "x"), "--store", str(tmp_path / "gpu-a.db"))
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


def test_without_the_extra_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    done = triage("fleet", str(tmp_path))
    assert (done.exit_code, done.stderr) == (2, "triage: triage fleet needs duckdb: pip install 'crash-triage[fleet]'\n")
