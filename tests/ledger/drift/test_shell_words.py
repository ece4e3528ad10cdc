"""Shell text is split as a shell does it; what is not known stays as it is written, and says why."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.drift.shell_words import commands


def texts(text: str, **variables: str) -> list[list[str]]:
    return [[word.text for word in command] for command in commands(text, variables)]


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("a && b; c | d &", [["a"], ["b"], ["c"], ["d"]]),
        ("export A=1\nB=2\necho $A ${B} $C", [["export", "A=1"], ["B=2"], ["echo", "1", "2", "$C"]]),
        ("a '$X' \"$X\" \\$X", [["a", "$X", "x y", "$X"]]),
        ("a $X \"\" ''", [["a", "x", "y", "", ""]]),
        ("a ${N:-d} ${X:-d} ${X:+e} ${N:+e}", [["a", "d", "x", "y", "e"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("a >log 2>&1 <in", [["a"]]),
        ("", []),
    ],
)
def test_commands_and_their_words(text: str, split: list[list[str]]) -> None:
    assert texts(text, X="x y") == split


def test_what_is_not_known_says_why() -> None:
    (command,) = commands("serve --port $PORT --key $(cat key) --seed 1", {}, "run.sh")
    assert [word.why for word in command] == ["", "", "it is that of $PORT", "", "it is what a command prints", "", ""]


def test_words_have_the_line_they_begin_in() -> None:
    (command,) = commands("vllm serve \\\n  --port 1 \\\n  --seed 'a\nb' --x", {}, "run.sh", first_line=10)
    assert [word.place for word in command] == [f"run.sh:{line}" for line in (10, 10, 11, 11, 12, 12, 13)]


def test_a_variable_that_depends_on_what_is_not_known_is_not_known_either() -> None:
    *_, command = commands("A=$(hostname)\nserve $A", {}, "run.sh")
    assert command[1].why == "it is that of $A"


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=6))
def test_words_that_shlex_quoted_come_back(words: list[str]) -> None:
    joined = " ".join(shlex.quote(word) for word in words)
    assert texts(joined) == [words]


@given(st.text(alphabet="ab'\"\\$`(){}#;&|<>=\n ", max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(command for command in commands(text, {"a": "b"}, "f"))
