"""`triage ledger`, and what a recording run says of it: the two-fixes story, its journal tampered with, its incidents dismissed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.ledger.journal import append, read

STORY = Path(__file__).resolve().parents[2] / "fixtures" / "two-fixes"
LOGS = str(STORY / "logs")
OVERCLAIMS = re.compile(r"\b(?:fix(?:ed)?|verified|proven|proved|validated)\b", re.IGNORECASE)


def run(*arguments: str | Path, **env: str) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1", **env}).invoke(main, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with the journal of the story, where a history can be made beside it."""
    for name in ("ledger.jsonl", "ledger.jsonl.head"):
        shutil.copy(STORY / name, tmp_path / name)
    return tmp_path


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("history") / "history.db"
    assert run("classify", LOGS, "--record", "--store", made).exit_code == 0
    return made


@pytest.fixture
def recorded(home: Path, store: Path) -> Iterator[Path]:
    shutil.copy(store, home / "history.db")
    yield home / "history.db"


def standing(told: str, name: str) -> dict[str, object]:
    return next(m for m in json.loads(told)["mitigations"] if m["name"] == name)


def test_both_changes_are_refuted_by_the_right_incident(home: Path) -> None:
    told = run("ledger", LOGS, "--ledger", home / "ledger.jsonl", "--format", "json").output
    for name, fault, at in (
        ("piecewise-graphs", "collective-hang", "2026-10-19T15:12:40.800Z"), ("no-multi-stream-gemm", "cublas-fault", "2026-10-24T11:00:15.100Z"),
    ):  # fmt: skip
        of = standing(told, name)
        assert of["status"] == "refuted"
        assert (of["refuted_by"]["class"], of["refuted_by"]["at"]) == (fault, at)  # type: ignore[index]
        assert of["mechanism_observed"] is True
        assert of["control"]["events"] == 1  # type: ignore[index]


@pytest.mark.parametrize("day", [*range(17, 29)])
def test_on_no_day_is_either_called_more_than_unverified(home: Path, day: int) -> None:
    told = run("ledger", LOGS, "--ledger", home / "ledger.jsonl", "--format", "json", "--until", f"2026-10-{day}T08:59:00Z").output
    seen = {m["name"]: m["status"] for m in json.loads(told)["mitigations"]}
    first = "proposed" if day == 17 else "unverified" if day <= 19 else "refuted"
    second = {} if day < 22 else {"no-multi-stream-gemm": "proposed" if day == 22 else "unverified" if day <= 24 else "refuted"}
    assert seen == {"piecewise-graphs": first, **second}


def test_logs_and_history_say_the_same_but_for_idle_time(recorded: Path, home: Path) -> None:
    journal = home / "ledger.jsonl"
    logs = run("ledger", LOGS, "--ledger", journal).output
    history = run("ledger", "--store", recorded).output
    told = [line for line in history.splitlines() if "idle time" not in line and "to have it taken off" not in line]
    assert told[:-1] == logs.splitlines()[:-1]


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_no_form_of_it_claims_too_much_or_is_too_wide(home: Path, form: str) -> None:
    told = run("ledger", LOGS, "--ledger", home / "ledger.jsonl", "--format", form).output
    assert not OVERCLAIMS.search(told.replace("unverified", "").replace("two-fixes", ""))
    if form == "table":
        assert max(len(line) for line in told.splitlines() if "/" not in line) <= 80  # a path is not broken


def test_what_an_operator_needs_to_know_stands_there(home: Path) -> None:
    told = " ".join(run("ledger", LOGS, "--ledger", home / "ledger.jsonl").output.split())
    for sentence in (
        "decode 39.4 -> 29.9 tok/s (-24 %, as stated)",
        "this stack has gone 6.0 d without it before with nothing changed (2026-10-01 06:06 to 10-07 06:10, on nccl 2.27.7)",
        "other deaths 1 cublas-fault: not what it is against",
        "as one class (10 deaths in 16.1 d) you would need 5.6 d of quiet; collective-hang alone (3) needs 27.5 d",
        "1 in 3.0 d since, 3 in 16.1 d before (one-sided p 0.88): no sign of one",
        "lists piecewise as 'no improvement over baseline'",
    ):
        assert sentence in told


@pytest.mark.parametrize("name", ["logs/vllm.log", "ledger.jsonl", "ledger.jsonl.head"])
def test_an_answer_is_never_written_over_what_is_read(tmp_path: Path, name: str) -> None:
    copy = tmp_path / "story"
    shutil.copytree(STORY, copy)
    before = (copy / name).read_bytes()
    done = run("ledger", copy / "logs", "--ledger", copy / "ledger.jsonl", "--output", copy / name)
    assert (done.exit_code, (copy / name).read_bytes() == before) == (2, True)


def test_exit_codes(home: Path) -> None:
    journal = home / "ledger.jsonl"
    assert run("ledger", LOGS, "--ledger", journal, "--fail-on", "void").exit_code == 0
    assert run("ledger", LOGS, "--ledger", journal, "--fail-on", "refuted").exit_code == 1
    run("mitigation", "add", "--from", STORY / "entries" / "nccl-upgrade.toml", "--ledger", journal)
    void = run("ledger", LOGS, "--ledger", journal)
    assert void.exit_code == 4
    assert "it was in place before the first such death" in " ".join(void.output.split())


def test_without_a_history_and_without_paths_it_says_what_to_do(home: Path) -> None:
    done = run("ledger", "--store", home / "none.db")
    assert (done.exit_code, "--record" in done.output) == (3, True)


def test_verify(home: Path) -> None:
    journal = home / "ledger.jsonl"
    head = read(journal)[-1].hash
    assert run("ledger", "verify", "--ledger", journal, "--head", head[:12]).exit_code == 0
    assert "6 records, each as it was written" in " ".join(run("ledger", "verify", "--ledger", journal).output.split())
    assert run("ledger", "verify", "--ledger", journal, "--head", "0123456789ab").exit_code == 4
    (home / "ledger.jsonl.head").unlink()
    assert "would not be noticed" in " ".join(run("ledger", "verify", "--ledger", journal).output.split())
    journal.write_bytes(journal.read_bytes().replace(b"39.4", b"30.1"))
    done = run("ledger", "verify", "--ledger", journal)
    assert done.exit_code == 4
    assert "ledger.jsonl:1: record 1 (mitigation.added piecewise-graphs) is not as it was written" in done.output
    assert run("ledger", LOGS, "--ledger", journal).exit_code == 4


def test_a_cron_run_names_each_refutation_once(home: Path) -> None:
    arguments = ("classify", LOGS, "--new", "--quiet", "--store", home / "history.db", "--prom", home / "t.prom")
    first = run(*arguments)
    assert first.exit_code == 0
    lines = [line for line in first.output.splitlines() if line.startswith("mitigation ")]
    assert lines[0].startswith("mitigation piecewise-graphs is refuted by ee71c115 (collective-hang, 2026-10-19 15:12 UTC)")
    assert len(lines) == 2
    assert run(*arguments).output == ""
    assert [r.kind for r in read(home / "ledger.jsonl")[-2:]] == ["mitigation.refuted"] * 2
    metrics = (home / "t.prom").read_text()
    assert 'triage_mitigation_status{id="piecewise-graphs",class="collective-hang",status="refuted"} 1' in metrics
    assert 'triage_mitigation_status{id="piecewise-graphs",class="collective-hang",status="supported"} 0' in metrics
    assert 'triage_config_drift{id="piecewise-graphs"} 0' in metrics


def test_an_edited_journal_does_not_keep_a_cron_run_from_its_work(home: Path) -> None:
    (home / "ledger.jsonl").write_bytes((home / "ledger.jsonl").read_bytes().replace(b"39.4", b"30.1"))
    done = run("classify", LOGS, "--new", "--quiet", "--store", home / "history.db", "--prom", home / "t.prom")
    assert done.exit_code == 0
    assert "it was edited" in done.stderr
    assert "triage history show" in done.stdout
    assert "triage_ledger_intact 0" in (home / "t.prom").read_text()


def test_a_dismissed_recurrence_refutes_no_longer(recorded: Path, home: Path) -> None:
    at = datetime(2026, 10, 25, 10, tzinfo=UTC).timestamp()
    append(home / "ledger.jsonl", "mitigation.refuted", "piecewise-graphs", {"incident": "ee71c115", "since": at}, at=at)
    ledger = ("ledger", "--store", recorded, "--format", "json")
    assert standing(run(*ledger).output, "piecewise-graphs")["status"] == "refuted"
    assert run("history", "dismiss", "ee71c115", "--reason", "load test", "--store", recorded).exit_code == 0
    assert standing(run(*ledger).output, "piecewise-graphs")["status"] == "withdrawn"


def test_a_configuration_that_was_captured_counts(recorded: Path, home: Path) -> None:
    """No line of a boot tells the variable; /proc/PID/environ does."""
    run("mitigation", "add", "hidden", "--class", "cublas-fault", "--change", "CUBLAS_WORKSPACE_CONFIG=:4096:8", "--ledger", home / "ledger.jsonl")
    told = run("ledger", "--store", recorded, "--format", "json").output
    assert {boot["change"] for boot in standing(told, "hidden")["boots"]} == {"cannot be observed"}  # type: ignore[union-attr, index]
    from triage.history.capture import capture, environ
    from triage.history.store import open_store

    with open_store(recorded) as kept, kept.transaction() as db:
        assert capture(db, None, environ(b"CUBLAS_WORKSPACE_CONFIG=:4096:8\0HF_TOKEN=x\0"))
    told = run("ledger", "--store", recorded, "--format", "json").output
    boots = standing(told, "hidden")["boots"]
    assert [boot["change"] for boot in boots][-1] == "holds"  # type: ignore[union-attr, index]


def test_a_journal_that_is_not_there_is_not_called_intact(home: Path) -> None:
    done = run("ledger", "verify", "--ledger", home / "typo.jsonl")
    assert (done.exit_code, "there is no journal" in done.output) == (2, True)
    (home / "ledger.jsonl").unlink()
    assert run("ledger", "verify", "--ledger", home / "ledger.jsonl").exit_code == 4
    recording = run("classify", LOGS, "--new", "--quiet", "--store", home / "history.db", "--prom", home / "t.prom")
    assert (recording.exit_code, "the end was cut off" in recording.stderr) == (0, True)
    assert "triage_ledger_intact 0" in (home / "t.prom").read_text()


def test_options_may_stand_before_the_name_of_a_command(home: Path) -> None:
    assert run("ledger", "--ledger", home / "ledger.jsonl", "verify").output == run("ledger", "verify", "--ledger", home / "ledger.jsonl").output


def test_what_an_entry_says_acts_on_no_terminal_and_no_page(home: Path) -> None:
    file, journal = home / "entry.toml", home / "other.jsonl"
    file.write_text('name = "h"\nclass = "cublas-fault"\nchanges = ["A=1"]\ncost = "<img src=x> \\u009b31m"\nnote = "\\u202e\\u009b31m"\n')
    assert run("mitigation", "add", "--from", file, "--ledger", journal).exit_code == 0
    ledger = ("ledger", LOGS, "--ledger", journal, "--format")
    told = [run(*ledger, form).output for form in ("table", "markdown", "json")]
    told += [run("mitigation", "show", "h", "--ledger", journal, "--format", form).output for form in ("text", "json")]
    assert not any(character in text for text in told for character in ("\x9b", "\u202e"))
    assert "<img" not in told[1]
    assert json.loads(told[-1])["mitigations"][0]["note"] == "\u202e\x9b31m"


def test_a_window_that_leaves_the_recurrence_out_says_so(home: Path) -> None:
    told = " ".join(run("ledger", LOGS, "--ledger", home / "ledger.jsonl", "--since", "2026-10-20").output.split())
    assert "piecewise-graphs: withdrawn" in told
    assert "evidence begins after it was in force: what came before is not seen, and may refute it" in told
