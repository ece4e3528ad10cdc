"""What lines have in common is what they say, not their figures; words in another order are another line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.learn.examples import Example
from triage.learn.features import likeness, line_features, mask_of, shingles
from triage.learn.vectors import LETTERS, WORDS, Vectors


def alike(one: str, other: str) -> float:
    a, b = shingles(mask_of(one)), shingles(mask_of(other))
    return likeness(len(a & b), len(a), len(b))


def test_figures_and_paths_do_not_tell_two_lines_apart() -> None:
    assert mask_of("pool 17 ran dry at /data/run_81/pool.bin") == mask_of("pool 942 ran dry at /srv/other/pool.bin")


def test_codes_of_errors_do() -> None:
    assert mask_of("descriptor failed with code 700") != mask_of("descriptor failed with code 719")
    assert "code104" in line_features(mask_of("OSError: [Errno 104] reset"))[0]


def test_a_line_is_like_itself_and_hardly_like_its_own_words_mixed() -> None:
    line = "the page table walker gave up after it lost its root"
    assert alike(line, line) == 1
    assert alike(line, "root its lost it after up gave walker table page the") < 0.2


def test_the_beginning_and_the_end_count_for_short_lines() -> None:
    assert alike("Killed", "Killed") == 1
    assert alike("Killed", "Killed process in the pool of shard four today") < 0.5


@given(st.text(max_size=300), st.text(max_size=300))
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str) -> None:
    assert 0 <= alike(one, other) <= 1 + 1e-9
    assert alike(one, other) == pytest.approx(alike(other, one))


@given(st.lists(st.text(alphabet="abcdef ", min_size=1, max_size=40), min_size=1, max_size=6))
def test_no_line_weighs_more_than_a_unit_and_more_lines_take_nothing_away(lines: list[str]) -> None:
    vectors = Vectors.of([Example(id="1", label="x", lines=tuple(lines))])
    alone, together = vectors.of_line(lines[0]), vectors.row(Example(id="2", label="", lines=tuple(lines)))
    assert sum(value**2 for value in alone.values()) <= WORDS**2 + LETTERS**2 + 1e-6  # no code among them
    assert all(together[i] >= value for i, value in alone.items())


def test_a_line_full_of_unknown_words_says_little() -> None:
    vectors = Vectors.of([Example(id="1", label="x", lines=("pool ran dry",))])
    known, strange = vectors.of_line("pool ran dry"), vectors.of_line("pool kotri lenmur shavel ostzan")
    assert sum(strange.values()) < 0.5 * sum(known.values())
