"""The first question, on boots in the engines' own words: what a mechanism needs, since when, and whether the change does anything at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.booting import CONFIG, KNOWN, boot_log
from triage.ledger.answers import Answer, case_of
from triage.ledger.mechanism import UnknownMechanismError, mechanism_answer
from triage.ledger.wording import entry_of
from triage.model import Findings
from triage.pipeline import classify

ARGS = {"model": "acme/oak-8b", "tensor_parallel_size": 8}
DIED = (
    "(Worker_TP1 pid=201) ERROR 11-02 08:09:00 [multiproc_executor.py:1029] RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling "
    "`cublasGemmEx( handle, opa, opb)`\n"
    "(EngineCore pid=80) ERROR 11-02 08:09:01 [core.py:1345] EngineCore encountered a fatal error.\n"
)
NO_CUSTOM = (
    "(Worker_TP0 pid=200) WARNING 11-02 08:00:20 [custom_all_reduce.py:144] "
    "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. "
)
STOPPED = "(APIServer pid=1) INFO 11-02 08:05:00 [launcher.py:114] [shutdown] API server: shutdown triggered"
UNKNOWN = "(APIServer pid=1) WARNING 11-02 08:00:01 [envs.py:2088] Unknown vLLM environment variable detected: VLLM_OLD_SWITCH"


def dying(log: str) -> str:
    return log + "".join(f"2026-11-02T08:09:0{n}.000000000Z {line}\n" for n, line in enumerate(DIED.splitlines()))


def found(folder: Path, log: str) -> Findings:
    file = folder / "vllm.log"
    file.write_text(log, encoding="utf-8")
    return classify(file, knowledge=KNOWN)


def answer(folder: Path, log: str, change: str, *mechanisms: str) -> Answer:
    entry = entry_of({"name": "x", "class": "cublas-fault", "changes": [change], "mechanisms": list(mechanisms)})
    return mechanism_answer(case_of(entry, found(folder, log)), KNOWN)


@pytest.mark.parametrize(
    ("config", "mechanism", "verdict"),
    [
        (", compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL: 2>}", "full-graph-on-mixed-batch", "holds"),
        (", compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>}", "full-graph-on-mixed-batch", "fails"),
        (", compilation_config={'cudagraph_mode': <CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>}", "full-graph-on-decode", "holds"),
        ("", "full-graph-on-mixed-batch", "cannot be observed"),
        ("", "tensor_parallel_size > 1", "holds"),
        ("", "prefix-caching", "holds"),
        ("", "vllm < 0.27", "fails"),
        ("", "NCCL_ALGO == Ring", "cannot be observed"),
    ],
)
def test_what_a_mechanism_needs(tmp_path: Path, config: str, mechanism: str, verdict: str) -> None:
    said = answer(tmp_path, dying(boot_log(ARGS, config=CONFIG + config)), "SOMETHING=1", mechanism)
    assert said.verdict == verdict
    assert said.lines or verdict == "cannot be observed"


def test_all_mechanisms_must_be_possible(tmp_path: Path) -> None:
    said = answer(tmp_path, dying(boot_log(ARGS)), "SOMETHING=1", "prefix-caching", "vllm < 0.27")
    assert said.verdict == "fails"


def test_since_when_a_library_has_been_running(tmp_path: Path) -> None:
    stamped = [f"2026-10-0{day}T06:00:00.000000000Z torch 2.11.0, nccl {nccl}, driver 580.95.05\n" for day, nccl in ((1, "2.27.7"), (7, "2.28.9"))]
    first = stamped[0] + boot_log(ARGS, after=(STOPPED,)).replace("2026-11-02T", "2026-10-01T")
    second = stamped[1] + boot_log(ARGS).replace("2026-11-02T", "2026-10-07T")
    said = answer(tmp_path, first + second + dying("").replace("2026-11-02T", "2026-10-09T"), "nccl=2.28.9", "nccl < 2.28.3")
    assert said.verdict == "fails"
    assert any("2.28.9 has been running since 2026-10-07" in text and "before that 2.27.7" in text for text in said.says)
    assert any("before the first cublas-fault (2026-10-09" in text for text in said.says)
    assert any("nccl=2.28.9 does nothing here" in text for text in said.says)


@pytest.mark.parametrize(
    ("change", "before", "after", "said"),
    [
        ("VLLM_OLD_SWITCH=1", (), (UNKNOWN,), "does not know this variable"),
        ("VLLM_FUSED_MOE_CHUNK_SIZE=1", (), (), ""),
        ("--tensor-parallel-size=8", (), (), "had it already"),
        ("NCCL_P2P_DISABLE=1", ("NCCL_P2P_DISABLE=1",), (), "had it already"),
        ("NCCL_P2P_DISABLE=1", ("NCCL_P2P_DISABLE=0",), (), ""),
    ],
)
def test_changes_that_do_nothing(tmp_path: Path, change: str, before: tuple[str, ...], after: tuple[str, ...], said: str) -> None:
    told = answer(tmp_path, dying(boot_log(ARGS, before=before, after=after)), change)
    idle = [text for text in told.says if "does nothing here" in text]
    assert any(said in text for text in idle) if said else not idle
    assert told.verdict == ("fails" if said else "cannot be observed")


def test_a_variable_that_the_version_has_no_more(tmp_path: Path) -> None:
    told = answer(tmp_path, dying(boot_log(ARGS, version="0.33.0")), "VLLM_FUSED_MOE_CHUNK_SIZE=1")
    assert "has it no more (gone in 0.33)" in told.says[0]


def test_an_all_reduce_that_is_off_already(tmp_path: Path) -> None:
    log = dying(boot_log(ARGS, after=(NO_CUSTOM,)))
    told = answer(tmp_path, log, "--disable-custom-all-reduce", "custom-all-reduce")
    assert told.verdict == "fails"
    assert any("Custom allreduce is disabled" in line.text for line in told.lines)


def test_a_mechanism_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UnknownMechanismError, match="full-graph-on-mixed-batch"):
        answer(tmp_path, boot_log(ARGS), "A=1", "no-such-thing")


def test_without_an_incident_all_boots_are_asked(tmp_path: Path) -> None:
    told = answer(tmp_path, boot_log(ARGS), "A=1", "prefix-caching")
    assert told.verdict == "holds"
    assert "1 of 1 boots in these logs" in told.says[0]


def test_a_variable_that_an_older_version_did_not_know_may_do_something_now(tmp_path: Path) -> None:
    older = boot_log(ARGS, version="0.26.0", after=(UNKNOWN,))
    now, warned = (
        dying(boot_log(ARGS, after=after)).replace("2026-11-02T", "2026-11-03T").replace(" 11-02 ", " 11-03 ") for after in ((), (UNKNOWN,))
    )
    assert answer(tmp_path, older + now, "VLLM_OLD_SWITCH=1").verdict == "cannot be observed"
    assert "does not know this variable" in answer(tmp_path, older + warned, "VLLM_OLD_SWITCH=1").says[0]
