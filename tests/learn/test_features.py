"""What lines have in common is what they say, not their figures; words in another order are another line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.learn.examples import Example
from triage.learn.features import LONGEST_MASK, in_order, likeness, line_features, mask_of, shingles
from triage.learn.vectors import LETTERS, WORDS, Vectors


def alike(one: str, other: str) -> float:
    a, b = shingles(mask_of(one)), shingles(mask_of(other))
    return likeness(len(a & b), len(a), len(b))


def test_figures_and_paths_do_not_tell_two_lines_apart() -> None:
    assert mask_of("pool 17 ran dry at /data/run_81/pool.bin") == mask_of("pool 942 ran dry at /srv/other/pool.bin")


def test_codes_of_errors_do() -> None:
    assert mask_of("descriptor failed with code 700") != mask_of("descriptor failed with code 719")
    assert "code104" in line_features(mask_of("OSError: [Errno 104] reset"))[0]


def test_what_an_error_is_called_is_kept_though_it_is_quoted() -> None:
    assert mask_of("gpu-07: CUDA failure common.cu:11 'out of memory'") != mask_of("gpu-07: CUDA failure common.cu:11 'invalid argument'")
    assert "out of memory" in mask_of("CUDA failure 2 'out of memory'")
    assert mask_of("call of `poolCreate(handle)` failed") != mask_of("call of `poolDestroy(handle)` failed")


@pytest.mark.parametrize("quoted", ["a prompt of seven words that somebody wrote", "token sk-8817", "berlin", "x" * 60])
def test_other_quoted_words_are_not(quoted: str) -> None:
    assert mask_of(f"request failed on '{quoted}'") == mask_of("request failed on 'pool seven is far too dry today indeed'")


def test_of_a_line_of_fields_the_message_counts() -> None:
    line = 'time="2026-11-20T05:51:01Z" level=info msg="container {} {} by its own hand"'
    assert mask_of(line.format("4f1c77aa", "stopped")) == mask_of(line.format("99be01d2", "stopped"))
    assert mask_of(line.format("4f1c77aa", "stopped")) != mask_of(line.format("4f1c77aa", "was started"))


@given(st.text(max_size=2000))
def test_no_mask_is_longer_than_a_model_may_keep(text: str) -> None:
    assert len(mask_of(text + " error 'out of memory' code -1234 `pool_create(x)`")) <= LONGEST_MASK


@pytest.mark.parametrize(
    "other", ["caught: pool table gave up after it lost its root", "the pool table gave up after it", "the pool has given up after it lost"]
)
def test_another_wording_a_frame_and_a_cut_leave_words_in_order(other: str) -> None:
    assert in_order("the pool table gave up after it lost its root", other) >= 0.8


def test_mixed_words_are_in_no_order() -> None:
    assert in_order("the pool table gave up after it lost its root", "root its lost it after up gave table pool the") < 0.3
    assert in_order("a b", "c d") == 1


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
