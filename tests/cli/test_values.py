"""A value that an option cannot take is refused with 2 and a line that names it and what is possible; so are options that do not go together."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main

LOGS = Path(__file__).resolve().parents[2] / "fixtures" / "oom-then-cublas" / "logs"
OWN = """
class = "spooky-fault"
family = "instant"
title = "A ghost in the machine"
meaning = "It haunts."
decides = "The line says so."
next = ["Call somebody."]

[[signature]]
id = "spooky-fault/boo"
summary = "the ghost says so"
pattern = 'BOO from the machine'
role = "root"
samples = ["ERROR BOO from the machine"]
near_misses = ["BOO from nobody"]
"""


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)


def last_line(result: Result) -> str:
    """What a refusal says, its box and its line ends left out."""
    return " ".join(result.stderr.split())


BAD = [
    ("--tz", "Nope/Zone", "Europe/Berlin"),
    ("--tz", "+99:00", "+02:00"),
    ("--tz", "", "UTC"),
    ("--year", "99999", "1990"),
    ("--year", "0", "1990"),
    ("--year", "-5", "1990"),
    ("--probe-format", "(", "regular expression"),
    ("--probe-format", "x", "status"),
    ("--probe-format", "(?P<status>x)(?P<nope>y)", "target"),
    ("--rank-from", "x", "rank(\\d+)"),
    ("--rank-from", "(", "regular expression"),
    ("--since", "yesterday", "2026-11-12"),
    ("--until", "99999999999999999d", "30d"),
    ("--kind", "nope", "engine"),
    ("--by", "nope", "week"),
    ("--class", "nope", "cublas-fault"),
    ("--fail-on", "nope", "any"),
]


@pytest.mark.parametrize(("option", "value", "possible"), BAD)
def test_classify_names_the_value_and_what_is_possible(option: str, value: str, possible: str) -> None:
    result = run("classify", LOGS, option, value)
    assert (result.exit_code, result.stdout) == (2, "")
    assert option in last_line(result)
    assert repr(value)[1:-1] in last_line(result) or value in last_line(result)
    assert possible in last_line(result)


@pytest.mark.parametrize("command", [["boots", "list"], ["outages"], ["explain", "all"], ["unknown"], ["rules", "test"], ["watch", "--once"]])
def test_the_same_options_are_refused_everywhere(command: list[str]) -> None:
    result = run(*command, LOGS, "--tz", "Nope/Zone") if command[0] != "watch" else run(*command, LOGS / "vllm.log", "--tz", "Nope/Zone")
    assert (result.exit_code, "'Nope/Zone'" in result.stderr) == (2, True)


def test_classes_of_own_rules_are_possible(tmp_path: Path) -> None:
    (tmp_path / "faults").mkdir()
    (tmp_path / "faults" / "spooky-fault.toml").write_text(OWN)
    assert run("classify", LOGS, "--class", "spooky-fault").exit_code == 2
    assert run("classify", LOGS, "--class", "spooky-fault", "--fail-on", "spooky-fault", "--rules", tmp_path).exit_code == 0


def test_a_class_of_the_history_is_one_that_is_on_record_or_known(tmp_path: Path) -> None:
    store = tmp_path / "history.db"
    assert run("classify", LOGS, "--record", "--store", store).exit_code == 0
    assert "device-oom" in run("history", "list", "--store", store, "--class", "device-oom").stdout
    result = run("history", "list", "--store", store, "--class", "nope")
    assert (result.exit_code, "'nope'" in result.stderr, "device-oom" in result.stderr) == (2, True, True)


def test_counts_as_csv_and_jsonl() -> None:
    rows = list(csv.DictReader(io.StringIO(run("classify", LOGS, "--by", "day", "--format", "csv").stdout)))
    assert [(r["day"], r["class"], r["count"]) for r in rows if r["count"] != "0"] == [("2026-11-14", "device-oom", "1")]
    lines = [json.loads(line) for line in run("classify", LOGS, "--by", "day", "--format", "jsonl").stdout.splitlines()]
    assert [(r["group"], r["class"], r["count"]) for r in lines if r["count"]] == [("2026-11-14", "device-oom", 1)]


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_explanations_are_for_people(form: str) -> None:
    result = run("classify", LOGS, "--explain", "--format", form)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--explain" in result.stderr and form in result.stderr


def test_many_problems_are_told_in_few_lines(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"notes-{number:02}.log").write_text("nothing of ours\n")
    (tmp_path / "vllm.log").write_bytes((LOGS / "vllm.log").read_bytes())
    (tmp_path / "zz.log").write_bytes(bytes(range(256)) * 64)
    result = run("classify", tmp_path, "--format", "json")
    told = result.stderr.splitlines()
    assert len(told) == 21
    assert "zz.log" in told[0], "what was lost is told first"
    assert told[-1] == "triage: ... and 41 more; --format json has all"
    assert len(json.loads(result.stdout)["problems"]) == 61
