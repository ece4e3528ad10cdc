"""A step is read out of a dump that users' words stand in: figures only, and nothing where they do not agree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers.steps import step


@pytest.mark.parametrize(
    ("by_request", "speculated", "kind", "chunk"),
    [
        ("cmpl-a: 2045, cmpl-b: 1", "", "prefill", "2045"),
        ("cmpl-a: 1, cmpl-b: 1", "", "decode", None),
        ("cmpl-a: 4, cmpl-b: 1", "cmpl-a: [-1, -1, -1]", "decode", None),
        ("cmpl-a: 5, cmpl-b: 1", "cmpl-a: [-1, -1, -1]", "prefill", "5"),
        ("cmpl-a: 4, cmpl-b: 1", "cmpl-a: 3", "decode", None),
        ("0: 37", "", "prefill", "37"),
    ],
)
def test_more_than_one_token_beyond_the_speculated_ones_is_a_prefill(by_request: str, speculated: str, kind: str, chunk: str | None) -> None:
    total = sum(int(part.rpartition(" ")[2]) for part in by_request.split(","))
    told = step({"by_request": by_request, "tokens": str(total), "speculated": speculated})
    assert (told["step"], told.get("chunk"), told["tokens"]) == (kind, chunk, str(total))


def test_requests_that_do_not_make_up_the_total_tell_no_kind() -> None:
    assert step({"tokens": "2048", "by_request": "cmpl-x: 9: 2040, cmpl-y: 1"}) == {"tokens": "2048"}


def test_a_batch_that_only_counts_its_requests() -> None:
    assert step({"requests": "109"}) == {"requests": "109"}


@given(st.dictionaries(st.sampled_from(["tokens", "requests"]), st.text(max_size=9)), st.text(max_size=200), st.text(max_size=200))
def test_whatever_a_dump_holds_only_figures_come_of_it(figures: dict[str, str], by_request: str, speculated: str) -> None:
    told = step({**figures, "by_request": by_request, "speculated": speculated})
    assert told.pop("step", "decode") in ("prefill", "decode")
    assert all(value.isdecimal() for value in told.values())
