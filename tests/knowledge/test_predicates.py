"""Conditions on a configuration: three answers, versions by their numbers, values however they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.predicates import PredicateError, holds, parsed, version_before


@pytest.mark.parametrize(
    ("text", "booted", "answer"),
    [
        ("nccl < 2.28.3", {"nccl": "2.28.9"}, False),
        ("nccl < 2.28.10", {"nccl": "2.28.9"}, True),
        ("nccl == 2.28", {"nccl": "2.28"}, True),
        ("torch >= 2.10", {"torch": "2.9.0+cu130"}, False),
        ("torch >= 2.10", {"torch": "2.9"}, False),
        ("nccl != 2.1", {"nccl": "2.10"}, True),
        ("graphs.mixed == FULL", {"graphs.mixed": "full"}, True),
        ("enforce_eager == true", {"enforce_eager": "True"}, True),
        ("enforce_eager == 1", {"enforce_eager": "True"}, True),
        ("utilization <= 0.90", {"utilization": "0.9"}, True),
        ("X > 0", {"X": "0"}, False),
        ("X > 0", {}, None),
        ("a == 1 and b == 2", {"a": "2"}, False),
        ("a == 1 and b == 2", {"a": "1"}, None),
        ("name < 3", {"name": "abc"}, None),
        ("x != None", {"x": "None"}, False),
    ],
)
def test_answers(text: str, booted: dict[str, str], answer: bool | None) -> None:
    assert holds(parsed(text), booted.get) is answer


@pytest.mark.parametrize("text", ["", "nccl", "nccl <", "< 2", "a == 1 or b == 2", "a = 1", "a == 1 and", " and ".join(["a == 1"] * 99)])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(PredicateError, match="NAME OP VALUE"):
        parsed(text)


@given(st.lists(st.integers(0, 99), min_size=2, max_size=4), st.lists(st.integers(0, 99), min_size=2, max_size=4))
def test_versions_are_ordered_by_their_numbers(one: list[int], other: list[int]) -> None:
    first, second = ([*numbers, 0, 0][:4] for numbers in (one, other))
    assert version_before(".".join(map(str, one)), ".".join(map(str, other))) is (first < second)
