"""`triage trial` from the first draft to the verdict, as a user meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.trials.night import NIGHT, copied, edited
from triage.cli.main import main

RUN = NIGHT / "logs" / "13-forced-0.29-0.94"


def triage(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, ["trial", *map(str, arguments)])


def test_from_a_draft_to_a_first_run(tmp_path: Path) -> None:
    folder = tmp_path / "move"
    assert triage("new", folder, "--question", 'Does "it" live?', "--build", "0.29.0").exit_code == 0
    refused = triage("plan", folder)
    assert (refused.exit_code, "what makes this path run?" in refused.stderr) == (2, True)
    edited(folder / "trial.toml", lambda text: text.replace('path = ""', 'path = "one request of 64 prompts"').replace("whole = 0 ", "whole = 64 "))
    edited(folder / "trial.toml", lambda text: text.replace("# control = { failed", "control = { failed"))
    planned = triage("plan", folder)
    assert planned.exit_code == 0
    assert "9.2%" in planned.stdout
    assert triage("verdict", folder).exit_code == 5  # nothing ran
    log, samples = RUN / "engine.log", RUN / "gpu-memory.csv"
    added = triage("add", folder, "01", "--item", "first", "--arm", "0.29.0", "--log", log, "--log", samples, "--client", "1x64")
    assert added.exit_code == 0, added.output
    assert added.stdout.startswith("01: pass")
    assert "forced, 64 of 64" in added.stdout
    assert (folder / "runs" / "01" / "engine.log").read_bytes() == log.read_bytes()
    again = triage("add", folder, "01", "--item", "first", "--arm", "0.29.0", "--log", log)
    assert (again.exit_code, "is there already" in again.stderr) == (2, True)


def test_a_draft_is_never_written_over(tmp_path: Path) -> None:
    assert triage("new", tmp_path, "--question", "q", "--build", "a").exit_code == 0
    assert triage("new", tmp_path, "--question", "q", "--build", "a").exit_code == 2


def test_what_was_in_the_environment_is_kept_without_secrets(tmp_path: Path) -> None:
    folder = copied(tmp_path, "none")
    (tmp_path / "environ").write_bytes(b"CUDA_LAUNCH_BLOCKING=1\0VLLM_API_KEY=abc\0HOME=/x\0")
    arguments = ("--item", "forced", "--arm", "0.29 at 0.94", "--log", RUN / "engine.log", "--env-file", tmp_path / "environ")
    told = triage("add", folder, "x", *arguments)
    assert "cuda-launch-blocking (heavy; environment CUDA_LAUNCH_BLOCKING)" in " ".join(told.stdout.split())
    assert "abc" not in (folder / "logs" / "x" / "run.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--item", "second", "--arm", "0.29 at 0.94"), "no 'second'; possible: burst"),
        (("--item", "forced", "--arm", "z"), "no 'z'; possible: 0.29 at 0.92"),
        (("--item", "forced", "--arm", "0.29 at 0.94", "--outcome", "fail"), "--because"),
        (("--item", "forced", "--arm", "0.29 at 0.94", "--client", "64x"), "write 64, or 1x64"),
    ],
)
def test_what_cannot_be_added_leaves_nothing(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    folder = copied(tmp_path, "none")
    result = triage("add", folder, "x", "--log", RUN / "engine.log", *arguments)
    assert (result.exit_code, told in result.stderr) == (2, True), result.stderr
    assert not (folder / "logs" / "x").exists()


def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path, "none")
    assert triage("add", folder, "../x", "--item", "forced", "--arm", "0.29 at 0.94", "--log", RUN / "engine.log").exit_code == 2
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("log", "told"),
    [(".", "the runs of the trial lie in it"), ("run.toml", "what is called run.toml"), ("/dev/zero", "is no file and no folder")],
)
def test_a_log_that_cannot_be_kept_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, told: str) -> None:
    folder = copied(tmp_path, "13*")
    monkeypatch.chdir(folder)
    shutil.copy2(folder / "logs" / "13-forced-0.29-0.94" / "run.toml", folder / "run.toml")
    result = triage("add", folder, "x", "--item", "forced", "--arm", "0.29 at 0.94", "--log", log)
    assert (result.exit_code, told in result.stderr) == (2, True), result.output
    assert sorted(path.name for path in (folder / "logs").iterdir()) == ["13-forced-0.29-0.94", "probe.log"]


def test_of_two_that_add_one_name_the_second_leaves_the_first_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = copied(tmp_path, "none")
    copy, inside = shutil.copy2, []

    def late(source: Path, target: Path) -> Path:
        if not inside:
            inside.append(1)
            assert triage("add", folder, "x", "--item", "forced", "--arm", "0.29 at 0.94", "--log", RUN / "engine.log").exit_code == 0
        return Path(copy(source, target))

    monkeypatch.setattr(shutil, "copy2", late)
    second = triage("add", folder, "x", "--item", "forced", "--arm", "0.29 at 0.94", "--log", RUN / "gpu-memory.csv")
    assert (second.exit_code, "is there already" in second.stderr) == (2, True)
    assert sorted(path.name for path in (folder / "logs" / "x").iterdir()) == ["engine.log", "run.toml"]
    assert sorted(path.name for path in (folder / "logs").iterdir()) == ["probe.log", "x"]


def test_what_is_no_text_is_refused_in_a_line(tmp_path: Path) -> None:
    assert triage("new", tmp_path / "t", "--question", "q\udcff", "--build", "a").exit_code == 2
    assert not (tmp_path / "t").exists()


def test_a_trial_among_other_runs_is_refused(tmp_path: Path) -> None:
    result = triage("memory", NIGHT, RUN)
    assert (result.exit_code, "give it alone" in result.stderr) == (2, True)


def test_predictions_are_registered_once(tmp_path: Path) -> None:
    folder = copied(tmp_path, "none")
    for file in folder.glob("predictions.jsonl*"):
        file.unlink()
    assert "4 predictions registered" in triage("predict", folder).stdout
    before = (folder / "predictions.jsonl").read_bytes()
    assert "0 predictions registered, 4 were already" in triage("predict", folder).stdout
    assert (folder / "predictions.jsonl").read_bytes() == before


def test_a_prediction_that_is_made_late_is_told_so_at_once(tmp_path: Path) -> None:
    folder = copied(tmp_path, "14*")
    for file in folder.glob("predictions.jsonl*"):
        file.unlink()
    told = triage("predict", folder)
    assert (told.exit_code, "0.31 at 0.94 ran already" in told.stderr) == (0, True)
    assert "0.93" not in told.stderr


def test_what_traces_a_run_is_found_in_its_environment(tmp_path: Path) -> None:
    folder = copied(tmp_path, "none")
    (tmp_path / "environ").write_bytes(b"NSYS_PROFILING_SESSION_ID=4711\0HOME=/x\0")
    arguments = ("--item", "forced", "--arm", "0.29 at 0.94", "--log", RUN / "engine.log", "--env-file", tmp_path / "environ")
    assert "nsys (heavy; environment NSYS_PROFILING_SESSION_ID)" in triage("add", folder, "x", *arguments).stdout


def test_exit_codes_of_a_verdict(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[1-8]*")
    assert triage("verdict", folder, "--item", "forced").exit_code == 0
    assert triage("verdict", folder, "--item", "forced", "--fail-on", "forced").exit_code == 1
    assert triage("verdict", folder).exit_code == 5  # other items did not run
    assert triage("verdict", folder, "--item", "nothing").exit_code == 2


def test_a_run_that_cannot_be_read_is_told_and_the_others_are_not_lost(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[34]*")
    (folder / "logs" / "13-forced-0.29-0.94" / "engine.log").unlink()
    (folder / "logs" / "13-forced-0.29-0.94" / "gpu-memory.csv").unlink()
    result = triage("show", folder)
    assert result.exit_code == 3
    assert "13-forced-0.29-0.94" in result.stderr
    assert "14-forced-0.31" in result.stdout


def test_a_log_without_an_engine_is_no_run(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    (folder / "logs" / "13-forced-0.29-0.94" / "engine.log").unlink()
    assert "no boot in its logs" in " ".join(triage("verdict", folder).stdout.split())


def test_no_control_character_reaches_the_terminal(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    edited(folder / "trial.toml", lambda text: text.replace("May the batch", "May \\u001b[31mthe batch").replace("one card", "\\u202eone card"))
    for command in ("show", "verdict", "memory", "plan"):
        assert not {"\x1b", "\u202e"} & set(triage(command, folder).output)


def test_the_document_has_everything(tmp_path: Path) -> None:
    document = json.loads(triage("verdict", NIGHT, "--format", "json").stdout)
    assert document["schema"] == "triage/trial/1"
    assert (len(document["runs"]), document["boots"]) == (24, 24)
    (burst,) = [cell for cell in document["cells"] if cell["item"] == "burst" and cell["build"] == "0.31"]
    assert [test["pooled"] for test in burst["tests"]] == [False]
    (ladder,) = [one for one in document["ladders"] if one["item"] == "forced"]
    assert ladder["chosen"] == 0.94
    assert document["downtime"]["failed"] == 158


def test_memory_of_runs_that_belong_to_no_trial(tmp_path: Path) -> None:
    runs = [NIGHT / "logs" / name for name in ("13-forced-0.29-0.94", "14-forced-0.31-0.94")]
    told = " ".join(triage("memory", *runs).stdout.split())
    assert "0.31.0 against 0.29.0, rung by rung: at rest +38 MiB, in the worst step +20 MiB" in told


def test_each_gpu_of_a_run_has_its_name(tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    edited(tmp_path / "run" / "gpu-memory.csv", lambda text: text + "".join(f"{line.replace(', 0, ', ', 3, ')}\n" for line in text.splitlines()[1:]))
    told = triage("memory", tmp_path / "run").stdout
    assert ("run gpu 0  0.29.0" in told, "run gpu 3  0.29.0" in told) == (True, True), told


def test_memory_that_nobody_measured_is_inconclusive(tmp_path: Path) -> None:
    shutil.copy2(RUN / "engine.log", tmp_path / "engine.log")
    result = triage("memory", tmp_path / "engine.log")
    assert (result.exit_code, "nvidia-smi" in result.stdout) == (5, True)


def test_nothing_to_read(tmp_path: Path) -> None:
    assert triage("show", tmp_path).exit_code == 2
    assert triage("memory", tmp_path).exit_code == 2
    assert triage("memory", tmp_path / "missing").exit_code == 2


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    log = folder / "logs" / "13-forced-0.29-0.94" / "engine.log"
    before = log.read_bytes()
    assert triage("show", folder, "-o", log).exit_code == 2
    assert log.read_bytes() == before


def test_a_trial_without_a_run(tmp_path: Path) -> None:
    folder = copied(tmp_path, "none")
    assert "no run yet" in triage("show", folder).stdout
    assert "not run" in triage("verdict", folder).stdout


@pytest.mark.parametrize("width", [60, 80, 132])
def test_nothing_is_wider_than_the_terminal(width: int) -> None:
    for command in ("show", "verdict", "memory"):
        told = CliRunner(env={"COLUMNS": str(width)}).invoke(main, ["trial", command, str(NIGHT)]).stdout
        assert max(map(len, told.splitlines())) <= width, command
