"""Which rules match which lines: counted without limit, with places, and alike lines of unknown trouble put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.model import Kind
from triage.parsers.matching import Matching, matching, texts
from triage.parsers.options import Options
from triage.sources.find import find

TABLE = RuleTable(load())
STATS = "INFO 11-01 09:43:{:02} [loggers.py:257] Engine 000: Avg prompt throughput: 5.0 tokens/s, Avg generation throughput: 9.0 tokens/s, "
STATS += "Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%\n"


def held(tmp_path: Path, text: str, kind: Kind = "engine", most: int = 3) -> Matching:
    log = tmp_path / "some.log"
    log.write_text(text)
    (source,) = find([str(log)])[0]
    return matching(source, kind, TABLE, Options(), most=most)


def test_every_line_counts_and_only_the_first_ones_are_shown(tmp_path: Path) -> None:
    found = held(tmp_path, "".join(STATS.format(second % 60) for second in range(500)))
    tally = next(tally for tally in found.tallies if tally.rule == "vllm/progress-stats")
    assert (found.lines, found.matched, tally.lines, tally.first.line) == (500, 500, 500, 1)
    assert [line.place.line for line in found.shown] == [1, 2, 3]


def test_lines_of_several_rules_name_them_all(tmp_path: Path) -> None:
    found = held(tmp_path, "nothing\n\nRuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx(handle)`\n")
    assert [line.place.line for line in found.shown] == [3]
    assert {"cublas-fault/status", "launch-failure/any"} <= set(found.shown[0].rules)


def test_alike_lines_of_trouble_are_one_with_a_count(tmp_path: Path) -> None:
    alike = [f"ERROR 11-01 09:43:00 [a.py:7] slot {n} at 0x7f{n:06x}00 is corrupt\n" for n in range(40)]
    found = held(tmp_path, "".join(alike) + "ERROR 11-01 09:43:00 [a.py:8] no slots\n")
    assert [(line.place.line, line.like) for line in found.unmatched] == [(1, 40), (41, 1)]


def test_rules_for_the_kernel_only_see_the_kernels_log(tmp_path: Path) -> None:
    rule = next(rule for rule in TABLE.rules if rule.sources == ("kernel",)) if any(r.sources == ("kernel",) for r in TABLE.rules) else None
    if rule is None:
        pytest.skip("no rule is for the kernel alone")
    sample = rule.definition.samples[0] + "\n"
    assert rule.id in {tally.rule for tally in held(tmp_path, sample, "kernel").tallies}
    assert rule.id not in {tally.rule for tally in held(tmp_path, sample).tallies}


def test_a_probe_log_is_counted_by_symbol(tmp_path: Path) -> None:
    found = held(tmp_path, "2026-11-12T03:10:00Z 200 0\n2026-11-12T03:11:00Z 000 28\nwho knows\n2026-11-12T03:12:00Z 000 7\n", "probe")
    assert (found.symbols, found.unknown) == ({".": 1, "t": 1, "r": 1}, 1)
    assert [(line.place.line, line.text) for line in found.unknown_shown] == [(3, "who knows")]


def test_texts_come_without_their_envelope(tmp_path: Path) -> None:
    log = tmp_path / "pod.log"
    log.write_text("2026-11-01T09:43:00.1Z stderr F one\n2026-11-01T09:43:00.2Z stderr F two\n")
    (source,) = find([str(log)])[0]
    assert list(texts(source)) == [(f"{log}:1", "one"), (f"{log}:2", "two")]
