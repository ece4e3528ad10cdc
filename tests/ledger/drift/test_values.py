"""Two values are the same however they are written, and no more than that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger.drift.values import same, same_variable


@pytest.mark.parametrize(
    ("asked", "booted", "kind"),
    [
        ("0.90", 0.9, "float"), ("8", 8, "int"), ("8k", 8000, "size"), ("8K", 8192, "size"), ("131_072", 131072, "size"), ("1.5k", 1500, "size"),
        ("1", True, "bool"), (True, "True", "bool"), ("false", False, "bool"), ("half", "torch.float16", "text"),
        ("bfloat16", "torch.bfloat16", "text"),
        ("fp8", "fp8_e4m3", "text"), ('{"a": 1}', {"a": 1, "b": 2}, "json"), ({"a": {"b": "3"}}, {"a": {"b": 3, "c": 4}}, "json"),
        (["a", "b"], "['a', 'b']", "list"), ("a", ["a"], "list"), ("None", None, "text"), ({}, {}, "json"),
    ],
)  # fmt: skip
def test_the_same(asked: Any, booted: Any, kind: str) -> None:
    assert same(asked, booted, kind)


@pytest.mark.parametrize(
    ("asked", "booted", "kind"),
    [
        ("0.92", 0.93, "float"), ("8k", 8192, "size"), ("1", "true", "text"), ("true", False, "bool"),
        ("maybe", True, "bool"),
        ({"a": 1}, {"b": 1}, "json"), ({"a": 1}, None, "json"), (["a"], ["a", "b"], "list"), ("fp8", "auto", "text"), ("", "x", "text"),
    ],
)  # fmt: skip
def test_not_the_same(asked: Any, booted: Any, kind: str) -> None:
    assert not same(asked, booted, kind)


def test_variables_are_text_or_numbers() -> None:
    assert same_variable("1024", "1024.0")
    assert not same_variable("1", "true")
    assert not same_variable("INFO", "info")


@given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans(), st.text(max_size=20)))
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    assert same(value, value, "text")
