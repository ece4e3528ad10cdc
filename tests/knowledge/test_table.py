"""Where the words of a user begin, nothing is evidence: in the bytes of a line as in its text. And which rules tell figures apart."""

from __future__ import annotations

import pytest

from triage.knowledge.load import load
from triage.knowledge.schema import Line
from triage.knowledge.table import QUICK, Rule, RuleTable

TABLE = RuleTable(load())
REQUEST = "2026-11-01T09:00:00Z (APIServer pid=1) INFO 11-01 09:00:00 [logger.py:39] Received request chatcmpl-1: prompt: 'CUDA error: out of memory'"


@pytest.mark.parametrize("words", ["logger.py:39] ", "prompt: '", 'messages=["', 'Request body ("'])
def test_a_line_ends_where_the_words_of_a_user_begin(words: str) -> None:
    text = f"INFO 11-01 09:00:00 [x.py:1] {words}CUDA error: out of memory"
    assert "CUDA" not in TABLE.own_text(text)
    assert TABLE.own_text(text).encode() == text.encode()[: TABLE.own_length(text.encode())]


def test_of_several_such_words_the_first_counts() -> None:
    assert TABLE.own_text(REQUEST).endswith("[logger.py:39] ")
    assert TABLE.own_length(REQUEST.encode()) == REQUEST.index("Received")


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
    assert TABLE.own_length(raw) == len(raw)


def test_a_sweep_finds_every_fault_and_one_of_the_lines_that_a_healthy_engine_writes_all_the_time() -> None:
    stats = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 9.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs\n"
    data = (stats * 5 + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n" * 2).encode()
    full, swept = ([TABLE[index] for _, index in scanner.scan(data)] for scanner in (TABLE.scanner, TABLE.sweep))
    assert [rule.id for rule in full if not (rule.is_periodic or rule.is_trouble)] == [
        rule.id for rule in swept if not (rule.is_periodic or rule.is_trouble)
    ]
    assert (sum(rule.is_periodic for rule in full), sum(rule.is_periodic for rule in swept)) == (5, 1)


@pytest.mark.parametrize(
    ("pattern", "reads"),
    [
        (r"exited with code \d+", False),
        (r"layer[0-9]{1,3} of .{0,40}(?P<g1>failed)", False),
        (r"0x[0-9a-f]{8,16}", True),
        (r"(?:CUDA error|code) 700\b", True),
    ],
)
def test_whether_a_rule_tells_figures_apart(pattern: str, reads: bool) -> None:
    assert Rule(Line(id="x/y", pattern=pattern, kind="death", summary="", samples=())).reads_figures is reads
