"""Where the words of a user begin, nothing is evidence: in the bytes of a line as in its text."""

from __future__ import annotations

import re

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.load import load
from triage.knowledge.user_words import QUICK, UserWords, needed_texts

BEGINS = load().user_text.begins
WORDS = UserWords(BEGINS, needed_texts(BEGINS))
REQUEST = "2026-11-01T09:00:00Z (APIServer pid=1) INFO 11-01 09:00:00 [logger.py:39] Received request chatcmpl-1: prompt: 'CUDA error: out of memory'"
OLD = st.characters(max_codepoint=0x2FF)  # of newer characters `re` and `regex` may know differently whether words have them
PARTS = ["logger.py:7] ", "Received request x: prompt", "prompt:", "PROMPT: '", "text=", "messages=[", '"content": ["', "Request body", "\u212a"]


@pytest.mark.parametrize("words", ["logger.py:39] ", "prompt: '", 'messages=["', 'Request body ("'])
def test_a_line_ends_where_the_words_of_a_user_begin(words: str) -> None:
    text = f"INFO 11-01 09:00:00 [x.py:1] {words}CUDA error: out of memory"
    assert "CUDA" not in WORDS.own_text(text)
    assert WORDS.own_text(text).encode() == text.encode()[: WORDS.own_length(text.encode())]


def test_of_several_such_words_the_first_counts() -> None:
    assert WORDS.own_text(REQUEST).endswith("[logger.py:39] ")
    assert WORDS.own_length(REQUEST.encode()) == REQUEST.index("Received")


@pytest.mark.parametrize(
    "raw",
    [
        b"RuntimeError: CUDA error: out of memory",
        b"prompt: '50%\rRuntimeError: CUDA error: out of memory",
        REQUEST.encode() + b"x" * QUICK,
    ],
    ids=["nobody's words", "another segment", "too long to tell soon"],
)
def test_where_it_cannot_be_told_from_the_bytes_the_whole_line_is_looked_at(raw: bytes) -> None:
    assert WORDS.own_length(raw) == len(raw)


@given(st.lists(st.sampled_from(PARTS) | st.text(max_size=4), max_size=6).map("".join))
def test_the_texts_that_rule_expressions_out_change_no_answer(text: str) -> None:
    found = [match for begin in BEGINS if (match := regex.search(begin, text))]
    end = min(found, key=lambda match: match.start()).end() if found else len(text)
    assert WORDS.own_text(text) == text[:end]


@given(st.data())
def test_where_an_expression_matches_it_is_tried(data: st.DataObject) -> None:
    begin = data.draw(st.sampled_from(BEGINS))
    text = data.draw(st.from_regex(re.compile(begin), alphabet=OLD))
    found = [match for each in BEGINS if (match := regex.search(each, text))]
    assert WORDS.own_text(text) == text[: min(found, key=lambda match: match.start()).end()]


def test_an_expression_that_cannot_be_ruled_out_by_a_text_is_tried_on_every_line() -> None:
    begins = ("(?i)task: ", r"\p{Lu}+=", "naïve=", "(?:question){e<=1}", "ask[[:alpha:]]ed")
    begins += (r"na\xefve\.", r"\xc3\xa9t\xc3\xa9", "(?:answer){1<=e<=2}")
    assert set(needed_texts(begins).values()) == {()}
    words = UserWords(begins, needed_texts(begins))
    told = {"x ta\u017fk: y": "x ta\u017fk: ", "a TASK=b": "a TASK=", "naïve=b": "naïve=", "guestion?": "guestion", "askXed by": "askXed"}
    told |= {"na\xefve.b": "na\xefve.", "\xc3\xa9t\xc3\xa9 b": "\xc3\xa9t\xc3\xa9", "anzwer b": "anzwer"}
    assert {text: words.own_text(text) for text in told} == told
