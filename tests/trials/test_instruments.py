"""Instruments are found by environment, arguments, lines and files; an unknown one is heavy; one that kept nothing of the fault is blind."""

from __future__ import annotations

import pytest

from tests.trials.night import known
from triage.model import Instant
from triage.trials.instruments import Carried, carried, heavy
from triage.trials.lines import Seen, Sighting

FAULT = (1000.0, 1010.0)


def found(**given: object) -> dict[str, Carried]:
    told = {"environment": {}, "arguments": {}, "files": (), "seen": {}, "named": (), "fault": None, **given}
    return {one.id: one for one in carried(known().instruments, **told)}  # type: ignore[arg-type]


def seen(**lines: float) -> dict[str, Seen]:
    kept: dict[str, Seen] = {}
    for name, at in lines.items():
        kept[name.replace("__", " ").replace("_", "-")] = one = Seen()
        one.add(Sighting(Instant.sharp(at), "x/engine.log", "text", {}))
    return kept


@pytest.mark.parametrize(
    ("given", "id_", "weight"),
    [
        ({"environment": {"CUDA_LAUNCH_BLOCKING": "1"}}, "cuda-launch-blocking", "heavy"),
        ({"environment": {"TORCH_FR_BUFFER_SIZE": "2000"}}, "flight-recorder", "light"),
        ({"arguments": {"enforce_eager": "True"}}, "eager", "heavy"),
        ({"files": ("dumps/memory_snapshot.pickle",)}, "memory-history", "heavy"),
        ({"files": ("gpu-memory.csv",)}, "memory-sampler", "passive"),
        ({"seen": seen(instrument__memory_history=1.0)}, "memory-history", "heavy"),
        ({"named": ("strace",)}, "strace", "heavy"),
        ({"named": ("cpp-stacks",)}, "cpp-stacks", "passive"),
    ],
)
def test_found_by(given: dict[str, object], id_: str, weight: str) -> None:
    assert {name: one.weight for name, one in found(**given).items()} == {id_: weight}


def test_what_is_switched_off_is_not_carried() -> None:
    assert not found(environment={"CUDA_LAUNCH_BLOCKING": "0"}, arguments={"enforce_eager": "False"})


def test_only_heavy_ones_divide_runs_for_good() -> None:
    told = found(environment={"NCCL_DEBUG": "INFO", "TORCH_FR_BUFFER_SIZE": "9", "TORCH_SHOW_CPP_STACKTRACES": "1"})
    assert heavy(told.values()) == {"nccl-debug"}


@pytest.mark.parametrize(("at", "recorded"), [(1005.0, True), (1300.0, True), (500.0, False), (9000.0, False)])
def test_a_recording_counts_near_the_fault(at: float, recorded: bool) -> None:
    lines = seen(instrument__memory_history=1.0, record__memory_history=at)
    assert found(seen=lines, fault=FAULT)["memory-history"].recorded is recorded


def test_of_no_fault_nothing_can_be_missing() -> None:
    assert found(seen=seen(instrument__memory_history=1.0))["memory-history"].recorded is None


def test_an_instrument_that_keeps_nothing_cannot_be_blind() -> None:
    assert found(environment={"CUDA_LAUNCH_BLOCKING": "1"}, fault=FAULT)["cuda-launch-blocking"].recorded is None
