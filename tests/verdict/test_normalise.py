"""Lines that say the same have one mask, lines that do not have two; a mask's pattern finds the line it was made of and its kin."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.verdict.normalise import LONGEST, masked, pattern_for, words

SAME = [
    ("slot 17 of pool 'kv-3' ran dry", "slot 9 of pool 'a much longer name' ran dry"),
    ("mapped 12.02 GiB at 0x7f2a00110000", "mapped 900 MiB at 0x7f2affff0000"),
    ("cannot read /data/a/one.bin: gone", "cannot read /srv/models/two.safetensors: gone"),
    ("2026-11-20T05:51:01.118Z gave up", "2025-01-02 03:04:05,999 gave up"),
    ("lost 10.0.0.8:29500 after 3 tries", "lost 192.168.7.121:1 after 12 tries"),
    ("request chatcmpl-579aee810767492c was dropped", "request chatcmpl-00ff was dropped"),
    ("worker 0f8c1d2e-1111-2222-3333-444455556666 is gone", "worker aaaaaaaa-bbbb-cccc-dddd-eeeeeeee0000 is gone"),
    ("GPU 0000:c1:00 fell silent", "GPU 0000:03:00.0 fell silent"),
    ("[rank3] and Worker_TP3 disagree", "[rank11] and Worker_TP0 disagree"),
    ("shape [1, 2, 3] does not fit", "shape [4096, 7168] does not fit"),
    ("fetch of https://a.example/x?y=1 failed", "fetch of s3://bucket/key failed"),
    ("took 45.1s and 12ms, 97%", "took 3s and 900ms, 1.5%"),
]
DIFFERENT = [
    ("slot 17 ran dry", "slot 17 ran over"),
    ("'NoneType' object has no attribute 'block_ids'", "'NoneType' object has no attribute 'num_tokens'"),
    ("cublasGemmEx failed", "cublasLtMatmul failed"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_volatile_makes_no_difference(one: str, other: str) -> None:
    assert masked(one) == masked(other)
    assert masked(one) != one


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_tells_two_faults_apart_stays(one: str, other: str) -> None:
    assert masked(one) != masked(other)


def test_an_apostrophe_opens_no_quote() -> None:
    assert masked("can't read it, won't try") == "can't read it, won't try"


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_pattern_finds_the_line_it_was_made_of_and_the_one_that_differs_in_volatile_parts(one: str, other: str) -> None:
    text, kin = f"acme pool says: {one} (so it stops)", f"acme pool says: {other} (so it stops)"
    pattern = pattern_for(text)
    assert re.search(pattern, text)
    assert re.search(pattern, kin)
    assert not re.search(pattern, "acme pool says: all is well (so it stops)")


@pytest.mark.parametrize("text", ["", "Killed", "17 42 0x1f", "error 5", "'quoted words and nothing else'"])
def test_too_little_fixed_text_makes_no_pattern(text: str) -> None:
    assert pattern_for(text) == ""


def test_a_pattern_has_fixed_text_at_both_ends() -> None:
    pattern = pattern_for("17: page table walker lost its root at 0x7f2a00110000 (pid 9)")
    assert pattern.startswith("page table walker")
    assert pattern[-1].isalpha()


def test_words_leave_out_what_is_masked() -> None:
    assert words(masked("slot 17 of pool 'kv-3' ran dry")) == {"slot", "pool", "ran", "dry"}


@given(st.text(max_size=3000))
def test_whatever_a_line_holds_its_mask_is_short_and_its_pattern_matches_it(text: str) -> None:
    assert len(masked(text)) <= LONGEST
    pattern = pattern_for(text)
    assert not pattern or re.search(pattern, text)
