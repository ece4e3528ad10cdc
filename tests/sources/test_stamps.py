"""Stamps are read as they stand: every writer's form, and nothing out of the middle of a message."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.sources import stamps
from triage.sources.stamps import FAR_ENOUGH, Stamp, dated_stamps, inner_stamps, last_inner_stamp, outer_stamp


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("2026-11-01T09:43:00.123456789Z", Stamp(2026, 11, 1, 9, 43, 0, 0.123456789, "Z")),
        ("2026-11-01T09:43:00+0000", Stamp(2026, 11, 1, 9, 43, 0, None, "+0000")),
        ("2026-11-01T09:43:00.5+02:00", Stamp(2026, 11, 1, 9, 43, 0, 0.5, "+02:00")),
        ("Nov 01 09:43:00", Stamp(None, 11, 1, 9, 43, 0)),
        ("Nov  1 09:43:00.123456", Stamp(None, 11, 1, 9, 43, 0, 0.123456)),
        ("Sun 2026-11-01 09:43:00 CET", Stamp(2026, 11, 1, 9, 43, 0, None, "CET")),
        ("2026-11-01", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_outer_stamps(text: str, stamp: Stamp | None) -> None:
    assert outer_stamp(text) == stamp


@pytest.mark.parametrize(
    ("text", "stamp"),
    [
        ("INFO 11-20 05:51:01 [core.py:844] Engine", Stamp(None, 11, 20, 5, 51, 1)),
        ("INFO 01-28 16:38:38 async_llm.py:160] Added", Stamp(None, 1, 28, 16, 38, 38)),
        ("(EngineCore_DP0 pid=12) ERROR 02-29 05:51:01 [v1/engine/core.py:844] x", Stamp(None, 2, 29, 5, 51, 1)),
        ("(Worker_TP0 pid=5) [2026-03-10 20:11:49] INFO baton.py:48: waiting", Stamp(2026, 3, 10, 20, 11, 49)),
        ("my-prefix INFO 11-20 05:51:01 [core.py:844] x", Stamp(None, 11, 20, 5, 51, 1)),
        ("Capturing:  12%|#  | 8/67WARNING 11-20 05:51:01 [core.py:844] x", Stamp(None, 11, 20, 5, 51, 1)),
        ("(EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.core] x", Stamp(2026, 11, 1, 9, 43, 0, 0.123)),
        ("2026-11-01 09:43:00,123 INFO exited: vllm (exit status 1; not expected)", Stamp(2026, 11, 1, 9, 43, 0, 0.123)),
        ("[2025-11-06 16:46:01 DP0 TP3 EP3] Decode batch", Stamp(2025, 11, 6, 16, 46, 1)),
        ("[2025-11-06 16:46:01.250] Prefill", Stamp(2025, 11, 6, 16, 46, 1, 0.25)),
        ("[11/06/2025-16:46:01] [TRT-LLM] [I] x", Stamp(2025, 11, 6, 16, 46, 1)),
        ("[E1120 12:34:56.123456789 ProcessGroupNCCL.cpp:632] x", Stamp(None, 11, 20, 12, 34, 56, 0.123456789)),
        ("[E129 12:34:56.5 f.cpp:1] x", Stamp(None, 1, 29, 12, 34, 56, 0.5)),
        ("[E810 12:34:56.5 f.cpp:1] x", Stamp(None, 8, 10, 12, 34, 56, 0.5)),
        ("E0919 07:00:20.968000 2643 site-packages/torch/api.py:986] failed", Stamp(None, 9, 19, 7, 0, 20, 0.968)),
        ("50%|##  | 1/2[W1114 20:24:07.9 TCPStore.cpp:125] x", Stamp(None, 11, 14, 20, 24, 7, 0.9)),
        ("[2026-05-05 06:16:47] node-01:189:189 [3] net.cc:334 NCCL WARN x", Stamp(2026, 5, 5, 6, 16, 47)),
        ("[Sun Nov  1 09:43:00 2026] NVRM: Xid", Stamp(2026, 11, 1, 9, 43, 0)),
        ("Nov 01 09:43:00 something", Stamp(None, 11, 1, 9, 43, 0)),
        ("2026-11-01T09:43:00Z probe ok", Stamp(2026, 11, 1, 9, 43, 0, None, "Z")),
    ],
)
def test_inner_stamps(text: str, stamp: Stamp) -> None:
    assert inner_stamps(text)[:1] == [stamp]


@pytest.mark.parametrize(
    "text",
    [
        'INFO:     127.0.0.1:5000 - "GET /health HTTP/1.1" 200 OK',
        "the model was built on 2025-01-01 00:00:00 by someone",
        "BINFO 11-20 05:51:01 [core.py:844] x",
        "INFO 11-20 05:51:01 no place of a caller follows",
        "[14387.209961] NVRM: The NVIDIA GPU",
        "[2026-11-01 at noon]",
        "Loading: 100%|####| 4/4 [00:01<00:00, 6.1it/s]",
        "x" * FAR_ENOUGH + "INFO 11-20 05:51:01 [core.py:844]",
        "",
    ],
)
def test_lines_without_a_stamp_of_their_own(text: str) -> None:
    assert inner_stamps(text) == []


DATED = ["2026-03-09 01:27:30.12 ", "[11/06/2025-16:46:01] ", "[Sun Nov  1 09:43:00 2026] "]
FIRST = [*DATED, "Nov  1 09:43:00 ", "E1120 12:34:56.1 ", "(W pid=7) ", "x "]
INSIDE = ["INFO 11-20 05:51:01 [core.py:844] ", "[E1120 12:34:56.123456789 file.cpp] ", "2026-03-09 01:27:30 ", "100%| ", "y" * FAR_ENOUGH]


@given(st.sampled_from(FIRST), st.lists(st.sampled_from(INSIDE), max_size=3))
def test_one_of_the_stamps_is_the_one_that_all_of_them_hold(first: str, inside: list[str]) -> None:
    text = first + "".join(inside)
    stamps = inner_stamps(text)
    assert last_inner_stamp(text) == (stamps[-1] if stamps else None)
    assert dated_stamps(text) == [stamp for stamp in stamps if stamp.year is not None]


def test_two_clocks_on_one_line_come_in_the_order_of_their_trust() -> None:
    both = inner_stamps("2026-03-09 01:27:30.12 shipped INFO 03-08 17:27:28 [core.py:1] x")
    assert both == [Stamp(2026, 3, 9, 1, 27, 30, 0.12), Stamp(None, 3, 8, 17, 27, 28)]


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    outer_stamp(text)
    inner_stamps(text)


@given(st.from_regex(r"\A(\(W pid=1\) )?\[?[EI](NFO)? ?[0-9]{2,4}[-/ ][0-9]{2} [0-9:]{6,9}(\.[0-9]{1,12})? \[?f:[0-9]+\] \Z"))
def test_what_only_looks_like_a_stamp_can_be_read(text: str) -> None:
    assert all(isinstance(stamp, Stamp) for stamp in inner_stamps(text))


@given(st.data())
def test_what_has_a_stamp_begins_with_what_its_pattern_is_tried_for(draw: st.DataObject) -> None:
    begins, pattern = draw.draw(st.sampled_from(stamps._FIRST))
    text = draw.draw(st.from_regex(re.compile(pattern.pattern, pattern.flags)))
    assert pattern.match(text) is None or text.startswith(begins)


@given(st.data())
def test_what_has_a_stamp_inside_holds_what_its_pattern_is_tried_for(draw: st.DataObject) -> None:
    needs, pattern = draw.draw(st.sampled_from(stamps._INSIDE))
    text = draw.draw(st.from_regex(re.compile(pattern.pattern, pattern.flags)))
    assert pattern.search(text) is None or any(need in text for need in needs)
