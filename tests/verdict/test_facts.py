"""Step, frame, rank, GPU and host of an incident, read from lines that users' words may stand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import triage
from tests.lives import Life, log
from triage.cli.main import main
from triage.model import Facts
from triage.verdict.facts import engine_frame, words

CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(handle)`"
FRAMES = [
    "/usr/lib/python3.12/threading.py:1012 run",
    "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py:4391 execute_model",
    "/opt/venv/lib/python3.12/site-packages/vllm/utils/multi_stream_utils.py:111 execute_in_parallel",
    "/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py:2300 linear",
]


def facts_of(folder: Path, life: Life) -> Facts:
    (verdict,) = triage.classify([log(folder, life)]).verdicts
    return verdict.facts


def crash(*counts: int, **more: str) -> Life:
    return Life(3).serves().raises(5, CUBLAS, FRAMES).steps(*counts, **more).dies()


def test_the_step_comes_from_the_dump_and_the_frame_from_the_traceback(tmp_path: Path) -> None:
    found = facts_of(tmp_path, crash(2045, 1, 1, 1))
    assert (found.step, found.tokens, found.chunk, found.requests) == ("prefill", 2048, 2045, 4)
    assert found.frame == FRAMES[2]
    assert found.rank == 5
    assert words(found) == "a prefill step of 2,048 tokens (its longest chunk 2,045, 4 requests)"


def test_speculated_tokens_are_no_prefill(tmp_path: Path) -> None:
    found = facts_of(tmp_path, crash(4, 1, speculated="cmpl-0: [-1, -1, -1]"))
    assert (found.step, found.tokens, found.chunk) == ("decode", 5, None)


@pytest.mark.parametrize("evil", ["'total_num_scheduled_tokens=9, '", "'num_scheduled_tokens={cmpl-9: 9}, total_num_scheduled_tokens=9'"])
def test_a_user_who_writes_a_total_of_his_own_makes_the_step_unknown_and_no_other(tmp_path: Path, evil: str) -> None:
    found = facts_of(tmp_path, crash(2045, 1, evil=evil))
    assert (found.step, found.tokens, found.step_line) == ("", None, None)


def test_no_word_of_the_dump_is_handed_on(tmp_path: Path) -> None:
    path = log(tmp_path, crash(2045, 1, evil="'my secret plan'"))
    document = json.loads(CliRunner().invoke(main, ["classify", path, "--format", "json"]).stdout)
    (incident,) = document["incidents"]
    line = Path(path).read_text().splitlines()[incident["facts"]["step"]["from"]["line"] - 1]
    assert "Dumping scheduler output" in line
    assert "secret" not in json.dumps(document)
    assert incident["facts"]["step"] | {"from": None} == {"kind": "prefill", "tokens": 2046, "chunk": 2045, "requests": 2, "from": None}
    assert incident["facts"]["frame"].endswith("multi_stream_utils.py:111 execute_in_parallel")


def test_explain_shows_them_with_file_and_line(tmp_path: Path) -> None:
    path = log(tmp_path, crash(2045, 1))
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["explain", "all", path]).stdout
    number = next(n for n, line in enumerate(Path(path).read_text().splitlines(), 1) if "Dumping scheduler output" in line)
    assert f"step       a prefill step of 2,046 tokens (its longest chunk 2,045, 2 requests) ({path}:{number})" in shown
    assert "frame      /opt/venv/lib/python3.12/site-packages/vllm/utils/multi_stream_utils.py:111 execute_in_parallel" in shown
    assert "on         rank 5" in shown


def test_a_dump_of_an_earlier_life_is_not_this_one_s(tmp_path: Path) -> None:
    before = Life(1, pid=50).serves().raises(1, CUBLAS).steps(512).dies()
    after = Life(3, pid=100).serves().raises(1, CUBLAS).dies()
    tokens = [verdict.facts.tokens for verdict in triage.classify([log(tmp_path, before, after)]).verdicts]
    assert tokens == [512, None]


def test_a_cublaslt_call_tells_the_tokens_where_no_dump_does(tmp_path: Path) -> None:
    error = f"{CUBLAS.partition('`')[0]}cublasLtMatmul with transpose_mat1 1 transpose_mat2 0 m 64 n 1312 k 32"
    found = facts_of(tmp_path, Life(3).serves().raises(1, error).dies())
    assert (found.step, found.tokens) == ("", 1312)


def test_sglang_tells_the_step_by_the_function_that_ran_and_the_batch_before(tmp_path: Path) -> None:
    stamp = "[2026-11-20 05:51:0{} TP1]"
    lines = [
        f"{stamp.format(0)} The server is fired up and ready to roll!",
        f"{stamp.format(1)} Prefill batch, #new-seq: 1, #new-token: 8192, #cached-token: 0, token usage: 0.41, #running-req: 14, #queue-req: 3",
        f"{stamp.format(2)} Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/sgl/python/sglang/srt/model_executor/model_runner.py", line 1830, in forward_extend',
        "    return self.model.forward(x)",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
    ]
    file = tmp_path / "sglang.log"
    file.write_text("\n".join(lines) + "\n")
    (verdict,) = triage.classify([str(file)]).verdicts
    assert (verdict.fault_class, verdict.facts.step, verdict.facts.chunk) == ("illegal-memory-access", "prefill", 8192)
    assert verdict.facts.frame.endswith("model_runner.py:1830 forward_extend")


def test_the_gpu_and_the_host_come_from_the_root() -> None:
    logs = Path(__file__).resolve().parents[2] / "fixtures" / "gpu-off-the-bus" / "logs"
    verdict = next(v for v in triage.classify([str(logs)]).verdicts if v.fault_class == "gpu-hardware")
    assert verdict.root is not None
    assert verdict.facts.gpu and verdict.facts.gpu in verdict.root.text
    assert verdict.facts.host == verdict.incident.host or verdict.facts.host == verdict.root.host


def test_a_hang_strikes_the_rank_that_the_dumps_point_at_not_the_one_that_speaks() -> None:
    logs = Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks" / "logs"
    hangs = [v for v in triage.classify([str(logs)]).verdicts if v.fault_class == "collective-hang"]
    assert [v.facts.rank for v in hangs] == [3, 6, 1, 5]
    assert any(v.root is not None and v.root.rank != v.facts.rank for v in hangs)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ((), ""),
        (("/usr/lib/python3.12/threading.py:1012 run",), ""),
        (("<frozen runpy>:88 _run_code", "<string>:1 <module>"), ""),
        (("/opt/engine/model.py:7 forward", "/root/.cache/vllm/torch_compile_cache/ab/x.py:9 call"), "/opt/engine/model.py:7 forward"),
        (("/v/dist-packages/sglang/moe.py:3 apply", "/v/dist-packages/triton/runtime/jit.py:9 run"), "/v/dist-packages/sglang/moe.py:3 apply"),
        (("python/tvm_ffi/cython/function.pxi:929 call",), ""),
    ],
)
def test_the_failing_frame_is_the_innermost_of_engine_code(frames: tuple[str, ...], expected: str) -> None:
    assert engine_frame(frames) == expected

