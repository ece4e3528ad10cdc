"""A folder of one's own rules works on every command: one file adds a class, and an id of ours overrides ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main

CLASS = """
class = "fan-stopped"
family = "hardware"
title = "A fan stopped"
meaning = "The board reported a fan at 0 rpm and powered the GPU down; the engine loses its device a moment later."
decides = "The board's own line, before any CUDA error."
not_to_be_confused_with = ["gpu-hardware: an Xid without a word about the fan"]
next = ["Read the board's event log for the same minute."]

[[signature]]
id = "fan-stopped/board"
role = "root"
summary = "the board reports a fan at 0 rpm"
pattern = '''board: fan (?P<fan>\\d+) at 0 rpm, powering down'''
explains = ["*"]
samples = ["board: fan 3 at 0 rpm, powering down"]
near_misses = ["board: fan 3 at 1200 rpm"]
"""
LOG = """\
2026-11-01T09:43:00Z (APIServer pid=1) INFO 11-01 09:43:00 [api_server.py:1977] vLLM API server version 0.11.2
2026-11-01T09:44:00Z (APIServer pid=1) INFO:     Application startup complete.
2026-11-01T09:50:00Z board: fan 3 at 0 rpm, powering down
2026-11-01T09:50:02Z (EngineCore_DP0 pid=7) ERROR 11-01 09:50:02 [core.py:844] EngineCore encountered a fatal error.
"""


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, args)), catch_exceptions=False)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "engine.log").write_text(LOG)
    return tmp_path / "engine.log"


def own(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / "own" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return tmp_path / "own"


def rows(result: Result) -> dict[str, str]:
    """The rows of a table by their first word."""
    return {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}


def test_one_toml_file_adds_a_class(tmp_path: Path, log: Path) -> None:
    assert "fan-stopped" not in rows(run("classify", log))
    folder = own(tmp_path, "faults/fan-stopped.toml", CLASS)
    assert rows(run("classify", log, "--rules", folder))["fan-stopped"].split()[1:3] == ["hardware", "1"]
    assert run("rules", "check", folder).exit_code == 0


def test_explanations_know_it_too(tmp_path: Path, log: Path) -> None:
    folder = own(tmp_path, "faults/fan-stopped.toml", CLASS)
    for shown in (run("explain", "all", log, "--rules", folder).stdout, run("classify", log, "--explain", "--rules", folder).stdout):
        assert "[fan-stopped/board]" in shown
        assert "Read the board's event log for the same minute." in shown


def test_a_class_of_ours_can_be_told_otherwise_by_id(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("2026-11-01T09:50:00Z RuntimeError: CUDA error: device-side assert triggered\n")
    moved = CLASS.replace("fan-stopped/board", "device-assert/text").replace("explains", "fatal = true\nexplains")
    folder = own(tmp_path, "faults/fan-stopped.toml", moved.replace("board: fan (?P<fan>\\d+) at 0 rpm, powering down", "device-side assert"))
    assert rows(run("classify", log))["device-assert"].split()[2] == "1"
    assert "device-assert" not in rows(run("classify", log, "--rules", folder))


BOOT = """
engine = "acme"
[[line]]
id = "acme/boot-banner"
kind = "boot"
pattern = '''Acme engine (?P<version>\\d\\S*) begins'''
summary = "The engine begins."
samples = ["Acme engine 3.1 begins"]
near_misses = ["Acme engine begins"]
"""


def test_boots_of_an_engine_of_ones_own_are_seen(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("2026-11-01T09:43:00Z Acme engine 3.1 begins\n2026-11-01T09:44:00Z it hums\n")
    folder = own(tmp_path, "boot/acme.toml", BOOT)
    boots = json.loads(run("boots", log, "--rules", folder, "--format", "json").stdout)
    assert [(boot["engine"], boot["version"]) for boot in boots] == [("acme", "3.1")]


def test_a_line_of_an_engine_of_ours_can_be_overridden_and_the_others_stay(tmp_path: Path, log: Path) -> None:
    other = BOOT.replace('"acme"', '"vllm"').replace("acme/boot-banner", "vllm/boot-banner").replace("Acme engine", "Acme vLLM")
    folder = own(tmp_path, "boot/vllm.toml", other)
    known = {entry["id"]: entry for entry in json.loads(run("rules", "list", "--rules", folder, "--format", "json").stdout)["listed"]}
    assert known["vllm/boot-banner"]["pattern"].startswith("Acme vLLM")
    assert "vllm/death-fatal" in known
    (boot,) = json.loads(run("boots", log, "--rules", folder, "--format", "json").stdout)
    assert boot["version"] == ""


TEAPOT = "[[text]]\nid = '{}'\nsymbol = 't'\npattern = '''{}'''\nsamples = ['x']\nnear_misses = ['y']\n"


@pytest.mark.parametrize("text", [TEAPOT.format("teapot", "Connection refused"), TEAPOT.format("refused", "(?i)connection refused")])
def test_outages_follow_probe_texts_of_ones_own_first(tmp_path: Path, text: str) -> None:
    log = tmp_path / "probe.log"
    good = [f"2026-11-12T03:{minute:02}:00Z 200 0" for minute in range(9)]
    log.write_text("\n".join([*good, "2026-11-12T03:09:00Z curl: (7) Connection refused", "2026-11-12T03:10:00Z 200 0"]) + "\n")
    folder = own(tmp_path, "probes.toml", text)
    assert [o["symbols"] for o in json.loads(run("outages", log, "--format", "json").stdout)] == ["r"]
    assert [o["symbols"] for o in json.loads(run("outages", log, "--format", "json", "--rules", folder).stdout)] == ["t"]


def test_an_xid_of_ours_can_be_told_otherwise(tmp_path: Path) -> None:
    folder = own(tmp_path, "xid.toml", '[[xid]]\nnumber = 79\nname = "gone"\nrole = "context"\n')
    shown = json.loads(run("rules", "list", "--rules", folder, "--class", "xid", "--format", "json").stdout)["listed"]
    assert [(e["id"], e["summary"]) for e in shown if e["id"] == "Xid 79"] == [("Xid 79", "gone")]
    assert "Xid 31" in run("rules", "list", "--rules", folder).stdout


COMMANDS = [["classify"], ["explain", "all"], ["boots"], ["outages"], ["rules", "test"]]
UNREADABLE = [
    (CLASS.replace("role", "rolle"), "fan-stopped.toml"),
    (CLASS.replace("board: fan (?P<fan>", "board: fan ((?P<fan>"), "fan-stopped/board: `pattern` is no regex"),
]
NOT_FOR_THE_SCANNER = CLASS.replace("board: fan ", "(?>board): fan "), "rule fan-stopped/board: the scanner cannot compile"


@pytest.mark.parametrize(
    ("command", "text", "told"), [*((command, *wrong) for command in COMMANDS for wrong in UNREADABLE), (["classify"], *NOT_FOR_THE_SCANNER)]
)
def test_rules_that_cannot_be_used_are_a_word_and_two(tmp_path: Path, log: Path, command: list[str], text: str, told: str) -> None:
    result = run(*command, log, "--rules", own(tmp_path, "faults/fan-stopped.toml", text))
    assert result.exit_code == 2
    assert told in result.stderr
