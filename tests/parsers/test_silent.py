"""What is remembered of a line holds for the next line of its kind only, whichever source it stands in."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.parsers.options import Options
from triage.parsers.reading import read_source
from triage.parsers.silent import KEPT, LONGEST, Silent, silent
from triage.sources.find import Source

TABLE = RuleTable(load())
XID = "NVRM: Xid (PCI:0000:19:00): {}, pid=301, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS"
LOGS = {
    "near.log": "(Worker_TP0 pid=7) WARNING 11-01 09:00:0{} [blas.py:88] gemm error: CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLt\n",
    "fault.log": "(Worker_TP0 pid=7) ERROR 11-01 09:00:0{} [blas.py:88] RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling it\n",
    "echo.log": "(APIServer pid=1) ERROR 11-01 09:00:0{} [x.py:9] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.\n",
    "13.log": f"kernel: {XID.format(13)}\n",
    "31.log": f"kernel: {XID.format(31)}\n",
}


def index_of(rule: str) -> int:
    return next(index for index, known in enumerate(TABLE.rules) if known.id == rule)


@pytest.mark.parametrize("order", list(permutations(LOGS))[::7])
def test_what_was_read_before_changes_nothing_of_what_a_log_gives(tmp_path: Path, order: tuple[str, ...]) -> None:
    alone = {name: events_of(tmp_path, name, afresh=True) for name in LOGS}
    silent.cache_clear()
    assert {name: events_of(tmp_path, name, afresh=False) for name in order} == alone
    assert any(alone["fault.log"]) and any(alone["31.log"])


def events_of(tmp_path: Path, name: str, *, afresh: bool) -> list[tuple[str, int]]:
    if afresh:
        silent.cache_clear()
    path = tmp_path / name
    path.write_text("".join(LOGS[name].format(second) for second in range(8)))
    source = Source(name=name, files=(str(path),))
    return [(event.rule, event.order) for event in read_source(source, "engine", TABLE, Options(year=2026)).events]


def test_lines_that_differ_in_stamps_figures_and_ids_are_one_unless_a_rule_reads_figures() -> None:
    known = Silent(TABLE, "engine", frozenset())
    plain, figures = frozenset({index_of("cublas-fault/status")}), frozenset(i for i, rule in enumerate(TABLE.rules) if rule.reads_figures)
    one, other = (b"09:00:0%d request chatcmpl-%s of 8%d" % (n, b"57d99d6b" if n else b"7e9f0734", n) for n in (0, 1))
    assert known.content(one, plain) == known.content(other, plain)
    assert known.content(one, figures) != known.content(other, figures)
    assert known.content(one, figures) == known.content(one.replace(b"09:00:00", b"09:00:07"), figures)


@pytest.mark.parametrize("raw", [b"x" * (LONGEST + 1), b"50%\r100%"], ids=["long", "several segments"])
def test_of_lines_that_may_be_several_nothing_is_remembered(raw: bytes) -> None:
    known = Silent(TABLE, "engine", frozenset())
    known.keep(known.content(raw, frozenset({1})), frozenset({1}))
    assert known.rules_in(known.content(raw, frozenset({1}))) == frozenset()


def test_what_is_remembered_is_bounded() -> None:
    known = Silent(TABLE, "engine", frozenset())
    for number in range(2 * KEPT + 1):
        known.keep(b"%d" % number, frozenset({number % 7}))
    assert sum(bool(known.rules_in(b"%d" % number)) for number in range(2 * KEPT + 1)) <= KEPT
    assert known.rules_in(b"%d" % (2 * KEPT)) == frozenset({2 * KEPT % 7})
