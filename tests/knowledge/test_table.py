"""What a sweep finds of what a full scan finds, and which rules tell figures apart."""

from __future__ import annotations

import pytest

from triage.knowledge.load import load
from triage.knowledge.schema import Line
from triage.knowledge.table import Rule, RuleTable

TABLE = RuleTable(load())


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
