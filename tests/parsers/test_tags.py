"""Who speaks in a line, for every era of prefix."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.parsers import tags, traceback
from triage.parsers.tags import tag


def test_the_examples_in_the_documentation_hold() -> None:
    for module in (tags, traceback):
        tried = doctest.testmod(module)
        assert tried.attempted and not tried.failed


@pytest.mark.parametrize(
    ("text", "process", "pid", "rank", "message"),
    [
        ("(VllmWorker rank=5 pid=77) INFO 03-01 10:00:00 [worker.py:1] hello", "VllmWorker", 77, 5, "hello"),
        ("(EngineCore_DP0 pid=301) Traceback (most recent call last):", "EngineCore_DP0", 301, None, "Traceback (most recent call last):"),
        ("INFO 01-28 16:38:38 async_llm.py:160] Added request", "", None, None, "Added request"),
        ("> (EngineCore pid=7) ERROR 11-20 05:51:01 [core.py:844] quoted", "EngineCore", 7, None, "quoted"),
        ("ERROR 11-20 05:51:01 [core.py:844] boom", "", None, None, "boom"),
        ("[2025-11-06 16:46:01 DP0 TP3 EP3] Decode batch", "DP0 TP3 EP3", None, 3, "Decode batch"),
        ("[2025-11-06 16:46:01] The server is fired up", "", None, None, "The server is fired up"),
        ("[11/06/2025-16:46:01] [TRT-LLM] [MPI_Rank 3] [E] failed", "", None, 3, "failed"),
        ("(RayWorkerWrapper pid=12, ip=10.0.0.1) text", "RayWorkerWrapper", 12, None, "text"),
        ("[11/06/2025-16:46:01] [TRT-LLM] [I] [_torch][RANK 5] ready", "", None, 5, "ready"),
        ("    ERROR 11-20 05:51:01 [core.py:844]   File", "", None, None, "  File"),
        ("│ ERROR 11-20 05:51:01 engine.py:157] boom", "", None, None, "boom"),
        ("ERROR [serving_chat.py:200] no stamps", "", None, None, "no stamps"),
        ("(Worker_TP1 pid=9) ERROR  [core.py:844] no stamps", "Worker_TP1", 9, 1, "no stamps"),
        ("(Server pid=9) [rank0]: RuntimeError: x", "Server", 9, 0, "[rank0]: RuntimeError: x"),
        ("ERROR [error] no place", "", None, None, "ERROR [error] no place"),
        ("    indented", "", None, None, "    indented"),
        ("box [rank3]:[E1120 05:51:01.1 x.cpp:1] late", "", None, 3, "box [rank3]:[E1120 05:51:01.1 x.cpp:1] late"),
        ("plain text (not a tag pid=1)", "", None, None, "plain text (not a tag pid=1)"),
    ],
)
def test_tag(text: str, process: str, pid: int | None, rank: int | None, message: str) -> None:
    found = tag(text)
    assert (found.process, found.pid, found.rank, found.message) == (process, pid, rank, message)


@given(st.text())
def test_any_text_has_a_tag_whose_message_is_its_end(text: str) -> None:
    assert text.endswith(tag(text).message)
