"""A flood costs little, and what comes after it is not drowned: the next day, the next trouble, another message."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.model import Event
from triage.parsers.options import Options
from triage.parsers.reading import read_source
from triage.parsers.repeats import EVIDENCE_PER_RULE, FLOOD_LINES, FLOOD_MINUTES
from triage.pipeline import classify
from triage.sources.find import Source

TABLE = RuleTable(load())
BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
FAULT = "RuntimeError: CUDA error: an illegal memory access was encountered"
XID = "NVRM: Xid (PCI:0000:19:00): 31, pid=301, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS"


def said(at: timedelta, text: str, who: str = "EngineCore_DP0 pid=301", level: str = "ERROR") -> str:
    return f"({who}) {level} {BEGIN + at:%m-%d %H:%M:%S} [core.py:844] {text}\n"


def events_of(tmp_path: Path, text: str) -> list[Event]:
    path = tmp_path / "vllm.log"
    path.write_text(text)
    source = Source(name="vllm.log", files=(str(path),))
    return list(read_source(source, "engine", TABLE, Options(year=2026)).events)


def test_a_kernel_line_at_the_same_minute_of_every_hour_is_kept_each_time(tmp_path: Path) -> None:
    hours = 300
    path = tmp_path / "kernel.log"
    path.write_text("".join(f"{BEGIN + timedelta(hours=n):%Y-%m-%dT%H:29:59,000000+00:00} {XID}\n" for n in range(hours)))
    found = read_source(Source(name="kernel.log", files=(str(path),)), "kernel", TABLE, Options()).events
    assert sum(event.rule == "illegal-memory-access/xid" for event in found) == hours


def test_a_flood_leaves_a_few_lines_of_each_minute(tmp_path: Path) -> None:
    minutes = 60
    text = "".join(said(timedelta(seconds=second), FAULT) for minute in range(minutes) for second in [60 * minute + n / 5 for n in range(300)])
    count = sum(event.rule == "illegal-memory-access/text" for event in events_of(tmp_path, text))
    assert count == FLOOD_MINUTES * EVIDENCE_PER_RULE + (minutes - FLOOD_MINUTES) * FLOOD_LINES


def test_after_a_flood_has_ended_the_next_trouble_is_told_in_full(tmp_path: Path) -> None:
    flood = "".join(said(timedelta(seconds=n / 5), FAULT) for n in range(60 * 300))
    later = "".join(said(timedelta(hours=5, seconds=n), FAULT) for n in range(30))
    found = [event for event in events_of(tmp_path, flood + later) if event.rule == "illegal-memory-access/text"]
    assert sum(event.at is not None and event.at.earliest >= (BEGIN + timedelta(hours=5)).timestamp() for event in found) == 30


def test_a_new_message_in_the_middle_of_a_flood_is_seen(tmp_path: Path) -> None:
    flood = [said(timedelta(seconds=n / 5), FAULT) for n in range(20 * 300)]
    flood[4000] = said(timedelta(seconds=800), "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")
    assert any(event.rule == "device-oom/allocator" for event in events_of(tmp_path, "".join(flood)))


@pytest.mark.parametrize("fault", [FAULT, "ValueError: too many values to unpack (expected 2)"])
def test_an_echo_that_was_told_often_enough_still_hides_the_fault_in_its_line(tmp_path: Path, fault: str) -> None:
    """The wrapper quotes another engine's fault many times over; what it says is never a root, the hundredth time either."""
    wrapped = f"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause. {fault}"
    text = "".join(said(timedelta(seconds=n / 10), wrapped, "APIServer pid=1") for n in range(400))
    first, last = text.splitlines(keepends=True)[:1], text.splitlines(keepends=True)[-1:]
    assert {event.fault for event in events_of(tmp_path, "".join(first + last)) if event.role == "root"} == set()
    assert {event.fault for event in events_of(tmp_path, text) if event.role == "root"} == set()


def test_a_crash_on_every_second_line_is_one_incident_of_the_first_fault(tmp_path: Path) -> None:
    faults = [FAULT, "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa)`",
              "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."]  # fmt: skip
    lines = []
    for number in range(6000):
        at = timedelta(seconds=number / 2)
        lines += [said(at, faults[number % 3]), said(at, f"Added request chatcmpl-{number:08x}.", "APIServer pid=1", "INFO")]
    path = tmp_path / "vllm.log"
    path.write_text("".join(lines))
    (verdict,) = classify([path], options=Options(year=2026)).verdicts
    assert verdict.fault_class == "illegal-memory-access"
    assert verdict.root is not None and verdict.root.place.offset == 0


def test_figures_tell_lines_apart_where_a_rule_names_one(tmp_path: Path) -> None:
    """A thousand processes that ended with 9 do not hide the one that ended with 11."""
    died = "Worker proc VllmWorker-{} died unexpectedly (exit code: -{}), shutting down executor."
    codes = [9] * 1000 + [11] + [9] * 1000
    text = "".join(said(timedelta(seconds=n / 5), died.format(n, code)) for n, code in enumerate(codes))
    found = [event.text for event in events_of(tmp_path, text) if event.rule == "native-crash/exit-code"]
    assert len(found) == 1 and "code: -11)" in found[0]


def test_a_fault_among_a_thousand_lines_that_differ_in_figures_only_is_seen(tmp_path: Path) -> None:
    """Ids and counters of other lines are no news, and what has another word is."""
    lines = [f"RuntimeError: tensor {n * 2654435761 % 2**64:016x} of layer {n} has a wrong stride" for n in range(3000)]
    lines[2000] = "RuntimeError: Triton Error [CUDA]: operation not permitted"
    text = "".join(said(timedelta(seconds=n / 20), line) for n, line in enumerate(lines))
    assert any(event.rule == "triton-fault/driver" and event.order for event in events_of(tmp_path, text))
