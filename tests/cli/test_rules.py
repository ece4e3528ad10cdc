"""`triage rules` as a user meets it: the list, the pages, the check of a folder, and a log held against the rules."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.cli.rules import rules
from triage.knowledge.load import load
from triage.report.catalogue import entries
from triage.report.rule_page import HEADINGS
from triage.report.rules import fitted_page, fitted_text

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
OOM = FIXTURES / "oom-then-cublas" / "logs" / "vllm.log"
KNOWN = load()


def run(*args: str | Path, given: str | None = None) -> Result:
    return CliRunner().invoke(main, ["rules", *map(str, args)], input=given, terminal_width=80, catch_exceptions=False)


def own(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / "own" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return tmp_path / "own"


@pytest.mark.parametrize("name", sorted(rules.commands))
def test_every_part_has_help_with_an_example(name: str) -> None:
    assert f"triage rules {name}" in run(name, "--help").stdout


def test_the_list_has_every_rule_once() -> None:
    listed = json.loads(run("list", "--format", "json").stdout)
    ids = [entry["id"] for entry in listed["listed"]]
    assert len(ids) == len(set(ids)) == len(list(entries(load())))
    assert {"cublas-fault/status", "echo/wrapper-exception", "vllm/boot-banner", "trouble/words", "refused", "Xid 79"} <= set(ids)
    assert listed["rules"] == load().version


def test_the_list_can_be_cut_to_a_class_and_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("list", "--class", "cublas-fault", "--class", "echoes", "--kind", "root").stdout.splitlines()[2:]
    assert shown
    assert all(line.split()[1:3] == ["cublas-fault", "root"] for line in shown)
    assert run("list", "--class", "vllm", "--kind", "root").stdout.strip() == "no rule is like that"
    for option, possible in (("--class", "cublas-fault"), ("--kind", "consequence")):
        refused = run("list", option, "nothing")
        assert (refused.exit_code, "'nothing'" in refused.stderr, possible in refused.stderr) == (2, True, True)


OF_EACH_KIND = ["cublas-fault", "unclassified", "cublas-fault/status", "echo/wrapper-exception", "vllm/boot-banner", "refused", "xid 79"]


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_a_page_has_the_fixed_headings_in_order(name: str) -> None:
    shown = run("show", name).stdout
    assert tuple(line.removeprefix("## ") for line in shown.splitlines() if line.startswith("## ")) == HEADINGS


def test_a_page_of_a_class_says_all_that_its_file_says() -> None:
    fault, shown = KNOWN.classes["device-oom"], run("show", "device-oom").stdout
    told = (*fault.not_to_be_confused_with, *fault.next, *fault.references)
    for signature in fault.signatures:
        told += (signature.pattern, *signature.samples, *signature.near_misses, signature.safety)
    assert [text for text in told if text.rstrip() not in shown] == []
    assert " ".join(fault.meaning.split()) in shown


@pytest.mark.parametrize("name", ["Device-OOM", "DEVICE-OOM/allocator", "container-lost-gpu"])
def test_names_are_found_however_they_are_spelled_and_common_causes_too(name: str) -> None:
    assert run("show", name).stdout.lower().startswith(f"# {name.lower()}: ")


@pytest.mark.parametrize("name", [*sorted(KNOWN.classes), "refused", "container-lost-gpu"])
def test_a_page_fits_a_terminal_and_loses_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = run("show", name).stdout
    shown = fitted_page(page)
    assert [line for line in shown.splitlines() if len(line) > 80 and len(line.split()) > 1] == []
    assert "".join(shown.split()) == "".join(page.split())
    assert set(re.findall(r"(?:/[\w.-]+){2,}", page.partition("## Samples")[2])) <= set(re.findall(r"(?:/[\w.-]+){2,}", shown))


def test_a_log_held_against_the_rules_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = fitted_text(run("test", OOM, "--all").stdout)
    assert [line for line in shown.splitlines() if len(line) > 80 and len(line.split()) > 1] == []
    assert shown.count("device-oom/allocator") > 1


def test_a_page_of_a_rule_shows_when_it_counts() -> None:
    shown = run("show", "start-refused/port").stdout
    assert "Counts only in phase boot or unknown." in shown
    assert "start-refused/length" not in shown


def test_a_name_that_nothing_bears_gets_a_hint_and_two() -> None:
    result = run("show", "cublas-falt")
    assert result.exit_code == 2
    assert "did you mean cublas-fault" in result.stderr


GOOD = """
class = "fan-stopped"
family = "hardware"
title = "A fan stopped"
meaning = "The board reported a fan at 0 rpm and powered the GPU down."
decides = "The board's own line."
not_to_be_confused_with = ["gpu-hardware: an Xid without a word about the fan"]
next = ["Read the board's event log."]

[[signature]]
id = "fan-stopped/board"
role = "root"
summary = "the board reports a fan at 0 rpm"
pattern = '''board: fan (?P<fan>\\d+) at 0 rpm, powering down'''
samples = ["board: fan 3 at 0 rpm, powering down"]
near_misses = ["board: fan 3 at 1200 rpm"]
"""


def test_a_folder_that_is_well_passes(tmp_path: Path) -> None:
    result = run("check", own(tmp_path, "faults/fan-stopped.toml", GOOD))
    assert result.exit_code == 0
    assert "1 rule in 1 class, 1 sample, 1 near miss" in result.stdout
    assert "all is well" in result.stdout


def test_a_flaw_is_one_line_with_file_line_rule_and_question(tmp_path: Path) -> None:
    folder = own(tmp_path, "faults/fan-stopped.toml", GOOD.replace("1200 rpm", "0 rpm, powering down"))
    result = run("check", folder)
    assert result.exit_code == 1
    first, last = result.stdout.splitlines()
    assert first.startswith(f"{folder}/faults/fan-stopped.toml:11: fan-stopped/board: [near miss] near miss 1 is matched")
    assert last.endswith(": 1 flaw")


def test_a_flaw_as_json(tmp_path: Path) -> None:
    result = run("check", own(tmp_path, "faults/fan-stopped.toml", GOOD.replace("role", "rolle")), "--format", "json")
    assert result.exit_code == 1
    (flaw,) = json.loads(result.stdout)["flaws"]
    assert flaw["check"] == "schema"
    assert flaw["place"].endswith("fan-stopped.toml:10")


def test_a_healthy_log_of_ones_own_is_held_against_the_rules(tmp_path: Path) -> None:
    log = tmp_path / "fine.log"
    log.write_text("2026-11-01T09:43:00Z board: fan 3 at 0 rpm, powering down for maintenance\n")
    result = run("check", own(tmp_path, "faults/fan-stopped.toml", GOOD), "--healthy", log)
    assert result.exit_code == 1
    assert f"[healthy] matches a healthy line, {log}:1" in result.stdout


def test_a_folder_that_is_not_there_is_two(tmp_path: Path) -> None:
    result = run("check", tmp_path / "nowhere")
    assert (result.exit_code, "no such folder of rules" in result.stderr) == (2, True)


def test_a_log_is_held_against_the_rules() -> None:
    shown = run("test", OOM).stdout
    assert "vllm.log (engine log): " in shown
    assert "device-oom/allocator" in shown
    assert f"{OOM}:1  vllm/boot-banner (boot)" in shown
    assert "engine-exception/serving (root, with conditions)" in shown


def test_what_looks_like_trouble_and_matches_nothing_is_shown_with_its_place(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text(
        "INFO 11-01 09:43:00 [a.py:1] vLLM API server version 0.11.2\n"
        "ERROR 11-01 09:43:01 [a.py:7] the flux capacitor 17 lost its charge\n"
        "ERROR 11-01 09:43:02 [a.py:7] the flux capacitor 18 lost its charge\n"
        "ERROR 11-01 09:43:03 [a.py:9]   File \"flux.py\", line 3, in charge\n"
        "INFO 11-01 09:43:04 [a.py:8] Received request cmpl-1: prompt: 'ERROR: it crashed', params: None\n"
        "INFO 11-01 09:43:05 [a.py:8] all is well\n"
    )  # fmt: skip
    shown = run("test", log).stdout
    assert "6 lines, 1 matched by 1 rule, 2 look like trouble and match nothing" in shown
    assert shown[shown.index("looks like trouble, and") :].splitlines()[1:3] == [
        f"  {log}:2  and 1 like it",
        "    ERROR 11-01 09:43:01 [a.py:7] the flux capacitor 17 lost its charge",
    ]


def test_unknown_lines_of_a_probe_log_are_counted_and_shown(tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text("".join(f"2026-11-12T03:{minute:02}:00Z 200 0\n" for minute in range(20)) + "a cat walked over the keyboard\n")
    shown = run("test", log).stdout
    assert "probe.log (probe log): 20 probes (20 .), 1 unknown line" in shown
    assert f"{log}:21" in shown
    assert "a cat walked over the keyboard" in shown


def test_a_root_beside_an_echo_is_said_not_to_count(tmp_path: Path) -> None:
    head = "[[signature]]\nid = 'echo/quoted'\nrole = 'consequence'\nsummary = 'x'\n"
    echo = f"{head}pattern = 'quoting: '\nsamples = ['quoting: x']\nnear_misses = ['x']\n"
    log = tmp_path / "engine.log"
    log.write_text("quoting: RuntimeError: CUDA error: device-side assert triggered\n")
    shown = run("test", log, "--rules", own(tmp_path, "echoes.toml", echo)).stdout
    assert "device-assert/text (root, does not count beside echo/quoted)" in shown


def test_a_log_as_json_from_a_pipe() -> None:
    document = json.loads(run("test", "-", "--format", "json", given=OOM.read_text()).stdout)
    (source,) = document["sources"]
    assert document["rules"] == load().version
    assert source["lines"] == len(OOM.read_text().splitlines())
    assert (source["tallies"][0]["rule"], source["tallies"][0]["first"]["line"]) == ("vllm/boot-banner", 1)


def test_everything_is_shown_when_asked_for() -> None:
    assert run("test", OOM, "--all").stdout.count("vllm/progress-stats (progress)") > run("test", OOM).stdout.count("vllm/progress-stats (progress)")


@pytest.mark.parametrize("args", [["nowhere.log"], [str(OOM), "--rules", "nowhere"], [str(OOM), "--tz", "Mars/Olympus"]])
def test_what_cannot_be_done_is_two_with_a_word(args: list[str]) -> None:
    result = run("test", *args)
    assert result.exit_code == 2
    assert args[-1] in result.stderr
