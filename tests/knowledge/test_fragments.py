"""A part of a pattern has one name and one place, and every pattern that uses it is whole before anything reads it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import regex

from triage.knowledge.files import in_files
from triage.knowledge.fragments import FragmentError, with_fragments, written_out
from triage.knowledge.lint import check
from triage.knowledge.load import FRAGMENTS, RuleError, builtin_rules, fragments_of, load
from triage.knowledge.schema import Fragment

RULES = builtin_rules()
LONGEST = 750  # characters of one pattern as it is written; more than that is not read but skipped
WIDEST = 350  # characters of one line of it
CLASS = """
class = "coffee-spill"
family = "hardware"
title = "Coffee in the chassis"
meaning = "A cup was poured over the board."
decides = "The board says so."
not_to_be_confused_with = ["`gpu-hardware`: nobody spilled anything"]
next = ["Dry the board."]
references = ["https://example.org/boards"]

[[signature]]
id = "coffee-spill/board"
role = "root"
summary = "the board reports coffee"
pattern = '''PATTERN'''
samples = ["RuntimeError: coffee at 61 C", "RuntimeError: coffee at 7 C"]
near_misses = ["RuntimeError: tea at 61 C"]
"""
DRINK = "[drink]\nmeaning = 'What was in the cup.'\npattern = '''coffee|cocoa'''\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))


def own(tmp_path: Path, pattern: str, fragments: str | None = None, name: str = "own") -> Path:
    """A folder of one rule with this pattern, added to ours."""
    (tmp_path / name / "faults").mkdir(parents=True, exist_ok=True)
    (tmp_path / name / "faults" / "coffee-spill.toml").write_text(CLASS.replace("PATTERN", pattern))
    if fragments is not None:
        (tmp_path / name / FRAGMENTS).write_text(fragments)
    return tmp_path / name


def pattern_of(*folders: Path) -> str:
    return load(folders).classes["coffee-spill"].signatures[0].pattern


@pytest.mark.parametrize(
    ("written", "whole"),
    [
        ("a{{x}}d", "ab|cd"),
        ("{{x}}{{x}}", "b|cb|c"),
        ("a{2}{3,4}[{]", "a{2}{3,4}[{]"),
        (r"\{\{x\}\}", r"\{\{x\}\}"),
        ("\n  a |\n  b\n", "a |b"),
        ("a(?:\n    b|\n\tc\n)", "a(?:b|c)"),
        (" a$", " a$"),
    ],
)
def test_names_and_line_breaks_go_and_nothing_else(written: str, whole: str) -> None:
    assert written_out({"pattern": written}, {"x": "b|c"}) == {"pattern": whole}


def test_only_patterns_are_written_out() -> None:
    rule = {"samples": ["{{x}}"], "summary": "{{x}}", "when": {"frame": "{{x}}", "before": "{{x}}"}, "scan": "{{x}}"}
    whole = {"samples": ["{{x}}"], "summary": "{{x}}", "when": {"frame": "b", "before": "{{x}}"}, "scan": "b"}
    assert written_out({"signature": [rule]}, {"x": "b"}) == {"signature": [whole]}


def test_a_fragment_uses_those_above_it_and_none_below() -> None:
    first, second = Fragment(pattern="a", meaning="-"), Fragment(pattern="{{first}}b", meaning="-")
    assert with_fragments({"first": first, "second": second}, {}) == {"first": "a", "second": "ab"}
    with pytest.raises(FragmentError, match=r"`first`.*`\$\.second\.pattern`"):
        with_fragments({"second": second, "first": first}, {})


def test_a_folder_of_ones_own_uses_ours_and_adds_its_own(tmp_path: Path) -> None:
    pattern = pattern_of(own(tmp_path, "{{error-says}}(?:{{drink}}) at", DRINK))
    assert pattern.endswith("(?:coffee|cocoa) at")
    assert regex.search(pattern, "(APIServer pid=1) RuntimeError: coffee at 61 C")


def test_what_a_folder_gives_anew_holds_for_it_and_not_for_ours(tmp_path: Path) -> None:
    anew = DRINK.replace("[drink]", "[hub-frames]")
    known = load([own(tmp_path, "{{hub-frames}}", anew)])
    assert known.classes["coffee-spill"].signatures[0].pattern == "coffee|cocoa"
    assert known.classes["model-load"] == load().classes["model-load"]


def test_a_change_of_a_fragment_is_a_change_of_the_rules(tmp_path: Path) -> None:
    before = load([own(tmp_path, "(?:{{drink}}) at", DRINK)])
    after = load([own(tmp_path, "(?:{{drink}}) at", DRINK.replace("cocoa", "hot milk"))])
    assert before.version != after.version
    assert after.classes["coffee-spill"].signatures[0].pattern == "(?:coffee|hot milk) at"


@pytest.mark.parametrize("pattern", ["{{milk}}", "{{ drink }}", "{{}}"])
def test_an_unknown_name_is_refused_with_file_and_key(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(RuleError, match=r"coffee-spill\.toml: no fragment is called `.*`.* at `\$\.signature\[0\]\.pattern`"):
        load([own(tmp_path, pattern, DRINK)])


def test_rules_check_says_in_which_line(tmp_path: Path) -> None:
    (flaw,) = check(own(tmp_path, "{{milk}}", DRINK)).flaws
    assert (flaw.check, flaw.place.rpartition("/")[2]) == ("schema", "coffee-spill.toml:11")
    assert "`milk`" in flaw.what


def test_rules_check_finds_nothing_in_a_folder_that_uses_ours(tmp_path: Path) -> None:
    assert check(own(tmp_path, "{{error-says}}(?:{{drink}}) at", DRINK)).flaws == ()


@pytest.mark.parametrize("text", ["[drink]\npattern = 'coffee'\n", DRINK + "samples = []\n", DRINK.replace("cocoa", "{{milk}}"), "[drink\n"])
def test_a_broken_file_of_fragments_is_told_as_such(tmp_path: Path, text: str) -> None:
    folder = own(tmp_path, "coffee at", text)
    with pytest.raises(RuleError, match=r"fragments\.toml: "):
        load([folder])
    assert [flaw.check for flaw in in_files(folder)] == ["schema"]


def written() -> list[tuple[str, str]]:
    """Each pattern of ours as it is written, with its file."""

    def below(told: Any) -> list[str]:
        values = [(key, value) for key, value in told.items()] if isinstance(told, dict) else [("", value) for value in told]
        nested = [text for _, value in values if isinstance(value, dict | list) for text in below(value)]
        return nested + [value for key, value in values if key in ("pattern", "scan", "frame", "no_frame") and isinstance(value, str)]

    return [(file.name, text) for file in sorted(RULES.rglob("*.toml")) for text in below(tomllib.loads(file.read_text()))]


def test_each_fragment_of_ours_is_used_and_is_a_regex_by_itself() -> None:
    used = {name for _, text in written() for name in re.findall(r"\{\{(.*?)\}\}", text)}
    known = fragments_of([RULES])
    assert used == set(known)
    assert all(regex.compile(text) for text in known.values())


def test_no_pattern_of_ours_is_too_long_to_be_read() -> None:
    long = [(file, text) for file, text in written() if len("".join(line.strip() for line in text.split("\n"))) > LONGEST]
    wide = [(file, line) for file, text in written() for line in text.split("\n") if len(line) > WIDEST]
    assert long + wide == []
