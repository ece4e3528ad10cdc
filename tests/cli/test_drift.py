"""`triage drift` as a user meets it: exit codes, pipes, narrow terminals, files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.booting import boot_log
from triage.cli.main import main

FIXES = Path(__file__).parent.parent.parent / "fixtures" / "two-fixes"
ARGS = {"model": "acme/oak-8b", "tensor_parallel_size": 8}


@pytest.fixture
def log(tmp_path: Path) -> str:
    file = tmp_path / "vllm.log"
    file.write_text(boot_log(ARGS), encoding="utf-8")
    return str(file)


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["drift", *arguments], input=stdin)


def test_no_drift_is_0(log: str) -> None:
    result = run("vllm serve acme/oak-8b -tp 8", log)
    assert result.exit_code == 0, result.output
    assert "no drift that can be seen" in result.stdout


def test_drift_is_4_and_names_both_places(log: str, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("exec vllm serve acme/oak-8b \\\n  -tp 4\n", encoding="utf-8")
    result = run(str(script), log)
    assert result.exit_code == 4
    assert f"{script}:2" in result.stdout
    assert f"{log}:2" in result.stdout


def test_nothing_to_compare_is_5(log: str) -> None:
    assert run("VLLM_USE_V1=1 true && vllm serve $MODEL --some-option 1", log).exit_code == 4  # what it booted with was asked for by nobody
    Path(log).write_text(boot_log().replace("non-default", "other").splitlines()[0].replace("acme/oak-8b", "-") + "\n", encoding="utf-8")
    result = run("vllm serve $MODEL --seed 1", log)
    assert (result.exit_code, "nothing that was asked for can be compared" in result.stdout) == (5, True)


def test_the_story_of_two_fixes_as_json() -> None:
    result = run(str(FIXES / "compose.yaml"), str(FIXES / "logs"), "--format", "json")
    assert result.exit_code == 4
    (boot,) = json.loads(result.stdout)["boots"]
    told = {row["name"]: row["verdict"] for row in boot["settings"] if row["verdict"] != "same"}
    assert told == {
        "gpu_memory_utilization": "differs", "VLLM_ATTENTION_BACKEND": "ignored", "compilation_config": "ignored", "max_num_seqs": "nobody asked",
    }  # fmt: skip
    overridden = next(row for row in boot["settings"] if row["name"] == "compilation_config")
    assert overridden["booted"] == "cudagraph_mode FULL_DECODE_ONLY"
    assert overridden["seen"]["line"] > 0


def test_every_boot_or_one_of_them() -> None:
    every = run(str(FIXES / "compose.yaml"), str(FIXES / "logs"), "--boot", "all", "--format", "json")
    boots = json.loads(every.stdout)["boots"]
    assert len(boots) == 23
    serial = [boot for boot in boots if any(r["name"].endswith("TOKEN_THRESHOLD") and r["verdict"] == "differs" for r in boot["settings"])]
    assert len(serial) == 3
    one = run(str(FIXES / "compose.yaml"), str(FIXES / "logs"), "--boot", serial[0]["id"])
    assert "asked   1024" in one.stdout
    assert run(str(FIXES / "compose.yaml"), str(FIXES / "logs"), "--boot", "nope").exit_code == 2


def test_boots_that_show_the_same_are_told_once(log: str) -> None:
    Path(log).write_text(boot_log(ARGS) + boot_log(ARGS).replace("2026-11-02T", "2026-11-03T"), encoding="utf-8")
    result = run("vllm serve acme/oak-8b -tp 8", log, "--boot", "all")
    assert "and 1 before it that shows the same" in " ".join(result.stdout.split())


def test_what_is_asked_for_may_come_through_a_pipe(log: str) -> None:
    config = {"Image": "vllm", "Entrypoint": ["vllm", "serve"], "Cmd": ["acme/oak-8b", "-tp", "8"]}
    document = json.dumps([{"Name": "/llm", "State": {}, "Config": config}])
    assert run("-", log, stdin=document).exit_code == 0
    assert run("-", "-", stdin=document).exit_code == 2


def test_the_log_may_come_through_a_pipe() -> None:
    assert run("vllm serve acme/oak-8b -tp 8", "-", stdin=boot_log(ARGS)).exit_code == 0


def test_a_capture_of_the_environment(log: str, tmp_path: Path) -> None:
    environ = tmp_path / "environ"
    environ.write_bytes(b"PATH=/bin\0VLLM_USE_V1=0\0")
    result = run("VLLM_USE_V1=1 vllm serve acme/oak-8b -tp 8", log, "--environ", str(environ))
    assert result.exit_code == 4
    assert "VLLM_USE_V1" in result.stdout
    environ.write_bytes(b"nothing")
    assert run("vllm serve x", log, "--environ", str(environ)).exit_code == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"services:\n  a: [\n", "asked.yaml:3: cannot be read as YAML"),
        (b"a: &a [*a]\nservices: *a\n", "asked.yaml"),
        (b"\x00\xff\xfe", "is binary, and no copy of /proc/PID/environ"),
        (b"\x7fELF\x02\x01\x00\x00vllm\x00", "is binary, and no copy of /proc/PID/environ"),
        (b"hello\n", "nothing in it starts an engine"),
        (b"services: {web: {image: nginx}}\n", "choose one with --service"),
    ],
)
def test_what_cannot_be_read_is_2_and_one_line(log: str, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "asked.yaml"
    file.write_bytes(content)
    result = run(str(file), log)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) <= 1
    assert "Traceback" not in result.output


def test_files_that_are_not_there(log: str, tmp_path: Path) -> None:
    assert run(str(tmp_path / "gone.yaml"), log).exit_code == 2
    assert run("vllm serve x", str(tmp_path / "gone.log")).exit_code == 2


def test_it_fits_the_terminal_and_shows_no_control_characters(log: str) -> None:
    result = run("vllm serve acme/oak-8b --served-model-name '\x1b[31mred\x07' --made-up-option-with-a-long-name " + "x" * 300, log)
    assert "\x1b" not in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines() if "/" not in line and "x" * 60 not in line)


def test_markdown_and_a_file(log: str, tmp_path: Path) -> None:
    out = tmp_path / "drift.md"
    result = run("vllm serve acme/oak-8b -tp 4", log, "--format", "markdown", "-o", str(out))
    assert result.exit_code == 4
    assert "| differs" in out.read_text(encoding="utf-8")
    assert run("vllm serve x", log, "-o", log).exit_code == 2


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_key_on_the_command_line_is_not_shown(log: str, form: str) -> None:
    Path(log).write_text(boot_log({**ARGS, "api_key": ["older-word"]}), encoding="utf-8")
    command = "VLLM_API_KEY=my-word vllm serve acme/oak-8b -tp 8 --api-key my-word --some-header 'Authorization: Bearer my-word-4711-4711'"
    result = run(command, log, "--format", form)
    assert "my-word" not in result.output
    assert "older-word" not in result.output
    assert "api_key" in result.stdout


def test_another_key_is_not_said_to_be_the_same(log: str) -> None:
    Path(log).write_text(boot_log({**ARGS, "api_key": ["older-word"]}), encoding="utf-8")
    verdicts = {}
    for key in ("my-word", "older-word"):
        told = json.loads(run(f"vllm serve acme/oak-8b -tp 8 --api-key {key}", log, "--format", "json").stdout)
        (verdicts[key],) = (row["verdict"] for row in told["boots"][0]["settings"] if row["name"] == "api_key")
    assert verdicts == {"my-word": "cannot be observed", "older-word": "same"}
