"""`triage diff`: whose verdict changed between two sets of rules, with the exit code for scripts."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.knowledge.load import builtin_rules

LOG = Path(__file__).resolve().parents[2] / "fixtures" / "engine-log-alone" / "logs"
CUBLAS = "cublas-fault.toml"


def diff(*args: str | Path, given: bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["diff", *map(str, args)], input=given, catch_exceptions=False)


@pytest.fixture(scope="module")
def without_cublas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole set of rules that knows nothing of cuBLAS."""
    folder = tmp_path_factory.mktemp("old") / "rules"
    shutil.copytree(builtin_rules(), folder)
    (folder / "faults" / CUBLAS).unlink()
    return folder


def test_one_set_of_rules_differs_in_nothing() -> None:
    result = diff("--old", builtin_rules(), "--exit-code", LOG)
    assert result.exit_code == 0
    assert "0 of" in result.stdout
    assert len(result.stdout.splitlines()) == 1


def test_a_class_that_is_new_changes_verdicts(without_cublas: Path) -> None:
    result = diff("--old", without_cublas, LOG)
    assert result.exit_code == 0
    rows = result.stdout.splitlines()[4:]
    assert rows
    assert all("cublas-fault/status" in row for row in rows)
    assert all(row.split()[5] == "cublas-fault" != row.split()[4] for row in rows)


def test_a_script_learns_it_by_the_exit_code_and_the_document(without_cublas: Path) -> None:
    result = diff("--old", without_cublas, "--exit-code", "--format", "json", LOG)
    document = json.loads(result.stdout)
    assert result.exit_code == 1
    assert document["schema"] == "triage/diff/1"
    assert document["old"]["rules"] != document["new"]["rules"]
    assert 0 < len(document["changed"]) < document["incidents"]
    for change in document["changed"]:
        assert "class" in change["what"]
        assert change["new"]["class"] == "cublas-fault" != change["old"]["class"]
        assert change["new"]["root"]["rule"] == "cublas-fault/status"


def test_the_other_way_round_is_the_mirror(without_cublas: Path) -> None:
    there = json.loads(diff("--old", without_cublas, "--format", "json", LOG).stdout)["changed"]
    back = json.loads(diff("--new", without_cublas, "--format", "json", LOG).stdout)["changed"]
    assert [(c["old"]["class"], c["new"]["class"]) for c in there] == [(c["new"]["class"], c["old"]["class"]) for c in back]


def test_some_rules_are_added_to_ours(tmp_path: Path) -> None:
    (tmp_path / "own" / "faults").mkdir(parents=True)
    text = (builtin_rules() / "faults" / CUBLAS).read_text().replace('class = "cublas-fault"', 'class = "gemm-fault"')
    (tmp_path / "own" / "faults" / "gemm-fault.toml").write_text(text)
    changed = json.loads(diff("--new", tmp_path / "own", "--format", "json", LOG).stdout)["changed"]
    assert changed
    assert {(c["old"]["class"], c["new"]["class"]) for c in changed} == {("cublas-fault", "gemm-fault")}


def test_an_incident_that_only_one_side_sees_is_told(tmp_path: Path) -> None:
    (tmp_path / "own" / "faults").mkdir(parents=True)
    (tmp_path / "own" / "faults" / "coffee-spill.toml").write_text(
        'class = "coffee-spill"\nfamily = "hardware"\ntitle = "x"\nmeaning = "x"\ndecides = "x"\n'
        '[[signature]]\nid = "coffee-spill/board"\nrole = "root"\nfatal = true\nsummary = "x"\n'
        'pattern = "BOARD: coffee"\nsamples = ["BOARD: coffee"]\nnear_misses = ["x"]\n'
    )
    log = tmp_path / "engine.log"
    log.write_text("2026-11-01T09:43:00Z BOARD: coffee\n")
    (change,) = json.loads(diff("--new", tmp_path / "own", "--format", "json", log).stdout)["changed"]
    assert (change["old"], change["new"]["class"]) == (None, "coffee-spill")
    assert "no incident" in diff("--new", tmp_path / "own", log).stdout


def test_a_pipe_is_read_by_both(without_cublas: Path) -> None:
    log = b"2026-11-01T09:43:00Z RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`\n"
    (change,) = json.loads(diff("--old", without_cublas, "--format", "json", "-", given=log).stdout)["changed"]
    assert (change["old"]["class"], change["new"]["class"]) == ("launch-failure", "cublas-fault")


@pytest.mark.parametrize("given", [b"", None])
def test_an_empty_pipe_is_told_and_three(without_cublas: Path, given: bytes | None) -> None:
    result = diff("--old", without_cublas, "-", given=given)
    assert (result.exit_code, "standard input was empty" in result.stderr) == (3, True)


def test_stdin_is_called_so(without_cublas: Path) -> None:
    log = b"2026-11-01T09:43:00Z RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`\n"
    (change,) = json.loads(diff("--old", without_cublas, "--format", "json", "-", given=log).stdout)["changed"]
    assert change["new"]["root"]["file"] == "-"


def test_a_named_pipe_is_read_by_both(without_cublas: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "engine.log")
    text = "2026-11-01T09:43:00Z RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`\n"
    writer = threading.Thread(target=(tmp_path / "engine.log").write_text, args=(text,), daemon=True)
    writer.start()
    (change,) = json.loads(diff("--old", without_cublas, "--format", "json", tmp_path / "engine.log").stdout)["changed"]
    assert (change["old"]["class"], change["new"]["class"]) == ("launch-failure", "cublas-fault")


def test_without_a_set_of_rules_there_is_nothing_to_compare() -> None:
    assert diff(LOG).exit_code == 2


def test_rules_that_cannot_be_used_are_two(tmp_path: Path) -> None:
    result = diff("--old", tmp_path / "nowhere", LOG)
    assert (result.exit_code, "no such folder of rules" in result.stderr) == (2, True)
