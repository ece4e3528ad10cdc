"""The second question: the side of the gate by frame, by line and by size, and what a change of the threshold makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.booting import CONFIG, KNOWN, boot_log
from triage.knowledge.sides import ConditionError
from triage.ledger.answers import Answer, case_of
from triage.ledger.gates import gate_answer
from triage.ledger.wording import entry_of
from triage.pipeline import classify

ARGS = {"model": "acme/oak-8b", "max_num_seqs": 64}
THRESHOLD = "VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD"
OFF, ON = 111, 127  # lines of `execute_in_parallel` in 0.27
WORKER = "(Worker_TP1 pid=201) ERROR 11-02 08:09:00 [multiproc_executor.py:1029] "
FRAMES = (
    ("/opt/vllm/models/deepseek_v4/attention.py", 449, "attn_gemm_parallel_execute"),
    ("/opt/vllm/utils/multi_stream_utils.py", 0, "execute_in_parallel"),
    ("/opt/vllm/models/deepseek_v4/attention.py", 437, "indexer_compressor_kv_score"),
)


def crash(line: int, tokens: dict[str, int]) -> str:
    """A worker's traceback through a line of `execute_in_parallel`, and the scheduler's dump of the step."""
    shown = [f'  File "{path}", line {at or line}, in {function}' for path, at, function in FRAMES]
    error = "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx( handle, opa, opb)`"
    counts = ", ".join(f"{name}: {count}" for name, count in tokens.items())
    dump = f"SchedulerOutput(num_scheduled_tokens={{{counts}}}, total_num_scheduled_tokens={sum(tokens.values())}, scheduled_spec_decode_tokens={{}})"
    core = "(EngineCore pid=80) ERROR 11-02 08:09:01 "
    lines = [
        *(WORKER + text for text in ("WorkerProc hit an exception.", "Traceback (most recent call last):", *shown, error)),
        f"{core}[dump_input.py:79] Dumping scheduler output for model execution: {dump}",
        f"{core}[core.py:1345] EngineCore encountered a fatal error.",
    ]
    return "".join(f"2026-11-02T08:09:00.{number:09}Z {text}\n" for number, text in enumerate(lines))


def answer(folder: Path, log: str, change: str = f"{THRESHOLD}=0", **more: object) -> Answer:
    file = folder / "vllm.log"
    file.write_text(log, encoding="utf-8")
    entry = entry_of({"name": "x", "class": "cublas-fault", "changes": [change], **more})
    return gate_answer(case_of(entry, classify(file, knowledge=KNOWN)), KNOWN)


def booted(version: str = "0.27.0", threshold: int | None = 1024) -> str:
    return boot_log(ARGS, version=version, before=(f"{THRESHOLD}={threshold}",) if threshold is not None else ())


PREFILL, DECODE = {"a": 1408, "b": 1}, {f"r{n}": 1 for n in range(12)}


def test_in_the_seeds_words(tmp_path: Path) -> None:
    said = answer(tmp_path, booted() + crash(OFF, PREFILL))
    assert said.verdict == "fails"
    assert said.says[0] == (
        "the faulting frame is in the sequential branch of a prefill of 1,408 tokens; threshold 0 would not move it, "
        "and would send every decode batch (up to 64 requests) into the same path"
    )
    assert [frame.rpartition(" ")[2] for frame in said.lines[0].frames] == ["execute_in_parallel"]
    assert said.lines[1].kind == "step"


@pytest.mark.parametrize(
    ("line", "tokens", "change", "verdict", "words"),
    [
        (ON, DECODE, "0", "holds", "in the multi-stream branch of a decode of 12 tokens; threshold 0 would move it to the sequential branch"),
        (ON, DECODE, "8", "holds", "would move it to the sequential branch"),
        (OFF, PREFILL, "4096", "holds", "would move it to the multi-stream branch"),
        (OFF, PREFILL, "1300", "fails", "would not move it"),
        (OFF, PREFILL, "2", "fails", "would send decode batches of 3 to 64 requests into the same path"),
    ],
)
def test_what_a_threshold_makes_of_it(tmp_path: Path, line: int, tokens: dict[str, int], change: str, verdict: str, words: str) -> None:
    said = answer(tmp_path, booted() + crash(line, tokens), f"{THRESHOLD}={change}")
    assert (said.verdict, words in said.says[0]) == (verdict, True), said.says[0]


def test_a_step_that_padding_may_take_over_the_threshold_is_not_said_to_move(tmp_path: Path) -> None:
    said = answer(tmp_path, booted() + crash(OFF, PREFILL), f"{THRESHOLD}=1410")
    assert said.verdict == "cannot be observed"
    assert "padded" in said.says[0]


def test_without_a_known_line_the_size_tells(tmp_path: Path) -> None:
    said = answer(tmp_path, booted("0.29.1") + crash(999, PREFILL))
    assert said.verdict == "fails"
    assert "by frame or size" in said.says[1]


def test_the_default_holds_where_the_variable_is_not_shown(tmp_path: Path) -> None:
    said = answer(tmp_path, booted("0.29.1", None) + crash(999, PREFILL))
    assert any("THRESHOLD 1024" in text for text in said.says)


def test_where_frame_and_size_do_not_agree_the_frame_is_believed(tmp_path: Path) -> None:
    said = answer(tmp_path, booted() + crash(ON, PREFILL))
    assert "in the multi-stream branch" in said.says[0]
    assert any("another side than its frame" in text for text in said.says)


def test_a_traceback_that_did_not_go_by_the_gate_says_nothing(tmp_path: Path) -> None:
    log = (booted() + crash(OFF, PREFILL)).replace("attn_gemm_parallel_execute", "attention_impl")
    said = answer(tmp_path, log)
    assert said.verdict == "cannot be observed"


def test_a_change_that_sets_no_gate_is_told_which_ones_were_passed(tmp_path: Path) -> None:
    said = answer(tmp_path, booted() + crash(OFF, PREFILL), "NCCL_ALGO=Ring")
    assert said.verdict == "cannot be observed"
    assert any("multi-stream-gemm" in text and "the sequential branch" in text for text in said.says)


def test_a_gate_of_ones_own(tmp_path: Path) -> None:
    gate = {"enable": "enable = batch_tokens <= LIMIT", "true_frames": ["run_streams"], "false_frames": ["indexer_compressor_kv_score"]}
    said = answer(tmp_path, booted() + crash(OFF, PREFILL), "MY_LIMIT=0", gate=gate)
    assert said.verdict == "fails"
    assert "in the other branch of a prefill of 1,408 tokens; threshold 0 would not move it" in said.says[0]
    with pytest.raises(ConditionError):
        answer(tmp_path, booted() + crash(OFF, PREFILL), "MY_LIMIT=0", gate={"enable": "tokens are few"})


@pytest.mark.parametrize(
    ("mode", "tokens", "asked", "verdict", "words"),
    [
        ("FULL_DECODE_ONLY: (2, 0)", {"a": 300}, "PIECEWISE", "holds", "ran eagerly, without a graph; PIECEWISE would run it in piecewise graphs"),
        ("FULL_DECODE_ONLY: (2, 0)", {"a": 4096}, "PIECEWISE", "fails", "from FULL to PIECEWISE"),
        ("FULL: 2", {"a": 300}, "PIECEWISE", "holds", "ran in a full graph; PIECEWISE would run it in piecewise graphs"),
        ("FULL_AND_PIECEWISE: (2, 1)", DECODE, "NONE", "holds", "a decode of 12 tokens, ran in a full graph; NONE would run it eagerly"),
    ],
)
def test_the_graph_mode_is_a_gate(tmp_path: Path, mode: str, tokens: dict[str, int], asked: str, verdict: str, words: str) -> None:
    config = CONFIG + f", compilation_config={{'cudagraph_mode': <CUDAGraphMode.{mode}>, 'max_cudagraph_capture_size': 512}}"
    said = answer(tmp_path, boot_log(ARGS, config=config) + crash(OFF, tokens), f"--compilation-config.cudagraph_mode={asked}")
    assert (said.verdict, words in said.says[0]) == (verdict, True), said.says[0]


def test_no_incident_no_frame(tmp_path: Path) -> None:
    said = answer(tmp_path, booted())
    assert (said.verdict, "no cublas-fault is in these logs" in said.says[0]) == ("cannot be observed", True)
