"""`triage mitigation check` as a user meets it: the story of two fixes, exit codes, and what it says to a wrong question."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.booting import boot_log
from triage.cli.main import main

FIXES = Path(__file__).parent.parent.parent / "fixtures" / "two-fixes"
LOGS = str(FIXES / "logs")


def run(*arguments: str, ledger: Path | None = None, stdin: str | None = None) -> Result:
    environment = {"COLUMNS": "80", **({"TRIAGE_LEDGER": str(ledger)} if ledger else {})}
    return CliRunner(env=environment).invoke(main, ["mitigation", "check", *arguments], input=stdin)


def answers(*arguments: str) -> list[dict[str, Any]]:
    result = run(*arguments, "--format", "json")
    told: list[dict[str, Any]] = json.loads(result.stdout)["answers"]
    return told


def test_a_mechanism_that_the_configuration_makes_impossible() -> None:
    mechanism, gate, cost = answers(str(FIXES / "entries" / "piecewise-graphs.toml"), LOGS)
    assert mechanism["verdict"] == "fails"
    assert "impossible: no full graph ever runs on a batch with a prefill chunk in 4 of 4 boots" in mechanism["says"][0]
    assert "FULL was asked for and printed first, a later line took it back" in mechanism["says"][1]
    assert [line["line"] > 0 for line in mechanism["lines"]] == [True] * 3
    assert (gate["verdict"], cost["verdict"]) == ("fails", "holds")
    assert cost["says"][0].startswith("measured -24.0 % (95 %")
    assert "39.4 tokens/s without the change, 29.9 with it" in cost["says"][0]


def test_a_flag_that_sends_more_work_into_the_failing_branch() -> None:
    _, gate, cost = answers(str(FIXES / "entries" / "no-multi-stream-gemm.toml"), LOGS)
    assert gate["verdict"] == "fails"
    assert gate["says"][0].startswith("the faulting frame is in the sequential branch of a prefill of 1,408 tokens; threshold 0 would not move it")
    assert gate["lines"][0]["frames"][0].endswith("multi_stream_utils.py:111 execute_in_parallel")
    assert (cost["verdict"], "no figure was stated, and it is not free" in cost["says"]) == ("fails", True)


def test_a_library_that_was_there_before_the_first_crash() -> None:
    mechanism, *_ = answers(str(FIXES / "entries" / "nccl-upgrade.toml"), LOGS)
    assert mechanism["verdict"] == "fails"
    said = "nccl 2.28.9 has been running since 2026-10-07 06:11 (before that 2.27.7), before the first collective-hang (2026-10-09 13:42)"
    assert said in mechanism["says"]


def test_a_registered_one_by_its_name(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    told = ["add", "piece", "--class", "collective-hang", "--change", "VLLM_X=0", "--mechanism", "nccl < 2.28.3"]
    added = CliRunner(env={"TRIAGE_LEDGER": str(ledger)}).invoke(main, ["mitigation", *told])
    assert added.exit_code == 0, added.output
    result = run("piece", LOGS, ledger=ledger)
    assert result.exit_code == 4
    assert "piece: VLLM_X=0, against collective-hang" in result.stdout
    assert run("other", LOGS, ledger=ledger).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--class", "collective-hang", "--change", "A_B=1", "--mechanism", "NCCL_ALGO == Ring"), 5),
        (("--class", "collective-hang", "--change", "A_B=1", "--mechanism", "prefix-caching"), 0),
        (("--class", "collective-hang", "--change", "A_B=1"), 5),
        (("--class", "collective-hang", "--change", "A_B=1", "--mechanism", "nccl > 9"), 4),
    ],
)
def test_exit_codes(arguments: tuple[str, ...], code: int) -> None:
    assert run(*arguments, LOGS).exit_code == code


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--change", "A=1", LOGS), "--change needs --class"),
        (("--class", "nope", "--change", "A=1", LOGS), "no 'nope'"),
        (("--class", "cublas-fault", "--change", "not a change", LOGS), "NAME=value"),
        (("--class", "cublas-fault", "--change", "A=1", "--mechanism", "nope", LOGS), "full-graph-on-mixed-batch"),
        (("--class", "cublas-fault", "--change", "A=1", "--gate", "few tokens", LOGS), "batch_tokens <= THRESHOLD"),
        (("--class", "cublas-fault", "--change", "A=1", "--true-frames", "f", LOGS), "--gate"),
        ((str(FIXES / "entries" / "piecewise-graphs.toml"),), "name the logs"),
        (("gone.toml", LOGS), "gone.toml"),
    ],
)
def test_a_wrong_question_is_2_and_told(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_log_through_a_pipe_has_no_cost() -> None:
    log = (FIXES / "logs" / "vllm.log").read_text(encoding="utf-8")
    result = run("--class", "cublas-fault", "--change", "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD=0", "-", stdin=log)
    assert result.exit_code == 4
    assert "cannot be measured from a pipe" in result.stderr
    assert "sequential branch" in result.stdout


def test_it_fits_the_terminal() -> None:
    result = run(str(FIXES / "entries" / "no-multi-stream-gemm.toml"), LOGS)
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "/" not in line)


def test_a_key_is_not_shown_wherever_it_is_named(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(boot_log({"model": "acme/oak-8b", "api_key": ["older-word"]}), encoding="utf-8")
    told = ("--class", "cublas-fault", "--change", "--enforce-eager", "--mechanism", "api_key == my-word", str(log))
    for form in ("text", "json"):
        result = run(*told, "--format", form)
        assert "api_key is ***" in result.stdout
        assert "my-word" not in result.output
        assert "older-word" not in result.output


def test_without_a_mechanism_it_says_which_one_the_setting_is_meant_for() -> None:
    mechanism, *_ = answers("--class", "cublas-fault", "--change", "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD=0", f"{LOGS}/vllm.log.3.gz")
    assert (mechanism["verdict"], "--mechanism multi-stream-gemm" in mechanism["says"][0]) == ("cannot be observed", True)
