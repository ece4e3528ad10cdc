"""Whole logs of vLLM, from lines to class and root: excerpts, scripts, other platforms, other programs' lines among its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import triage
from tests.lives import Life, log

TRACEBACK = "Traceback (most recent call last):"
STEP = ["/opt/venv/vllm/v1/executor/multiproc_executor.py:999 worker_busy_loop", "/opt/venv/vllm/v1/worker/gpu_worker.py:631 execute_model"]
FREE = "ValueError: Free memory on device (0.9/47.4 GiB) on startup is less than desired GPU memory utilization (0.9, 42.66 GiB)."
REQUEST = f"""ERROR:    Exception in ASGI application
{TRACEBACK}
  File "/opt/venv/fastapi/routing.py", line 301, in app
    raw_response = await run_endpoint_function(
  File "/opt/venv/vllm/multimodal/video.py", line 136, in load_bytes
    assert count == wanted, "frames"
AssertionError: wanted 32 frames and found 17"""


def found(folder: Path, text: Life | str) -> list[tuple[str, str]]:
    """Class and root line of each incident."""
    if isinstance(text, Life):
        path = log(folder, text)
    else:
        path = str(folder / "vllm.log")
        Path(path).write_text(text, encoding="utf-8")
    return [(v.fault_class, v.root.text if v.root else "") for v in triage.classify([path]).verdicts]


def classes(folder: Path, text: Life | str) -> list[str]:
    return [name for name, _ in found(folder, text)]


def test_the_log_may_end_with_the_exception_of_a_step(tmp_path: Path) -> None:
    ((name, root),) = found(tmp_path, Life(3).serves().raises(5, "ValueError: zero-size array to reduction operation", STEP))
    assert name == "engine-exception"
    assert root.endswith("ValueError: zero-size array to reduction operation")


def test_an_order_that_raised_was_answered_and_the_engine_goes_on(tmp_path: Path) -> None:
    assert classes(tmp_path, Life(3).serves().raises(5, "ValueError: no such adapter", [STEP[0]])) == []


@pytest.mark.parametrize("lost", [False, True])
def test_what_one_request_raised_is_no_incident_also_where_the_log_begins_there_and_lost_its_indentation(tmp_path: Path, lost: bool) -> None:
    text = "\n".join(line.lstrip() for line in REQUEST.split("\n")) if lost else REQUEST
    assert classes(tmp_path, f'{text}\nINFO:     10.0.0.9:5000 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error\n') == []


def test_a_slow_boot_that_went_on_to_make_tokens_is_none(tmp_path: Path) -> None:
    life = Life(3).core("INFO", "shm_broadcast.py:501", "No available shared memory broadcast block found in 60 seconds.", later=60)
    assert classes(tmp_path, life) == ["slow-start"]
    life.core("INFO", "monitor.py:34", "torch.compile takes 37.21 s in total")
    for seconds in (9, 8):
        life.core("INFO", "backends.py:391", f"Compiling a graph for dynamic shape takes {seconds} s")
    life.serves()
    life.lines = [line for line in life.lines if "startup complete" not in line]  # that one went to another stream
    assert classes(tmp_path, life) == []


def test_only_an_engine_that_is_up_makes_steps_whatever_its_boot_printed(tmp_path: Path) -> None:
    life = Life(3)
    life.lines = life.lines[:2]  # a platform that says nothing of its load
    early = Life(3).core("ERROR", "core.py:866", f"EngineCore failed to start.\n{TRACEBACK}\nValueError: no such backend")
    early.lines = early.lines[:2] + early.lines[3:]
    frame = '  File "/opt/venv/vllm/v1/engine/core.py", line 1008, in _process_engine_step'
    text = f"{TRACEBACK}\n{frame}\n    self.step_fn()\nRuntimeError: status 1006"
    assert classes(tmp_path, life.core("ERROR", "core.py:1008", text)) == ["engine-exception"]
    assert classes(tmp_path, early) == ["start-refused"]


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (["/src/vllm/examples/ask.py:9 <module>", "/src/vllm/entrypoints/llm.py:309 generate"], "engine-exception"),
        (["/src/vllm/examples/ask.py:3 <module>", "/src/vllm/__init__.py:5 <module>"], "start-refused"),
    ],
)
def test_a_script_beside_the_engines_sources_is_no_import_of_them(tmp_path: Path, frames: list[str], name: str) -> None:
    told = "".join(f'  File "{f.rsplit(":", 1)[0]}", line 9, in {f.split()[1]}\n    run()\n' for f in frames)
    assert classes(tmp_path, f"{TRACEBACK}\n{told}NotImplementedError: Could not run 'some_op' with arguments from the 'CPU' backend.\n") == [name]


def test_a_sticky_fault_counts_also_where_a_destructor_met_it(tmp_path: Path) -> None:
    life = Life(3).raw("Exception ignored in: <function Shared.__del__ at 0x7f2a>").raw(TRACEBACK)
    life.raw('  File "/opt/venv/vllm/_custom_ops.py", line 1758, in free').raw("    torch.ops.free(ptr)")
    life.raw("RuntimeError: CUDA error: an illegal memory access was encountered").core("ERROR", "core.py:515", "EngineCore failed to start.")
    assert classes(tmp_path, life) == ["illegal-memory-access"]


GEMM = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k)`"
ILLEGAL = "CUDA error: an illegal memory access was encountered"


def test_an_illegal_access_that_a_gemm_meets_first_is_one_in_its_chain_and_from_the_watchdog_of_its_rank(tmp_path: Path) -> None:
    chain = f"{GEMM}\n\nDuring handling of the above exception, another exception occurred:\n\n{TRACEBACK}\ntorch.AcceleratorError: {ILLEGAL}"
    assert classes(tmp_path, Life(3).serves().raises(5, chain, STEP).dies()) == ["illegal-memory-access"]
    told = "ProcessGroupNCCL.cpp:1895] [PG ID 2 PG GUID 3 Rank 5] Process group watchdog thread terminated with exception:"
    for rank, name in ((5, "illegal-memory-access"), (2, "cublas-fault")):
        life = Life(3).serves().raises(5, GEMM, STEP)
        life.raw(f"[rank{rank}]:[E1120 {life.at()[6:]}.118833021 {told.replace('Rank 5', f'Rank {rank}')} {ILLEGAL}").dies()
        assert classes(tmp_path, life) == [name]


def test_a_gemm_alone_stays_one_though_a_later_life_has_an_illegal_access(tmp_path: Path) -> None:
    first, second = Life(3).serves().raises(5, GEMM, STEP).dies(), Life(4, pid=900).serves().raises(5, f"RuntimeError: {ILLEGAL}", STEP).dies()
    assert [v.fault_class for v in triage.classify([log(tmp_path, first, second)]).verdicts] == ["cublas-fault", "illegal-memory-access"]


@pytest.mark.parametrize(
    ("frame", "error", "name"),
    [
        ("/opt/venv/transformers/tokenization_oak.py:201 get_spm", "TypeError: not a string", "model-load"),
        ("/opt/venv/transformers/configuration_oak.py:182 __init__", "ValueError: `rope` must be a dictionary with two fields", "start-refused"),
        ("/opt/venv/transformers/modeling_oak.py:182 __init__", "ValueError: `rope` must be a dictionary with two fields", "engine-exception"),
    ],
)
def test_an_excerpts_frames_tell_a_vocabulary_and_a_configuration_from_the_rest(tmp_path: Path, frame: str, error: str, name: str) -> None:
    place, function = frame.split()
    path, line = place.rsplit(":", 1)
    assert classes(tmp_path, f'{TRACEBACK}\n  File "{path}", line {line}, in {function}\n    self.check()\n{error}\n') == [name]


def test_the_v0_engine_that_raised_died_before_its_server_shut_down_in_order(tmp_path: Path) -> None:
    stamp = "ERROR 02-11 10:00:01 engine.py:139]"
    lines = [f'{stamp}   File "/opt/venv/vllm/worker/model_runner.py", line 1700, in load', f"{stamp}     self.pipe.take()"]
    ended = "INFO:     Shutting down\nINFO:     Application shutdown complete.\nINFO:     Finished server process [605]\n"
    assert classes(tmp_path, "\n".join([*lines, f"{stamp} Exception: the pipe was shut", ended])) == ["engine-exception"]
    assert classes(tmp_path, "\n".join([*lines, ended])) == ["external-stop"]


def test_what_another_process_was_asked_to_inspect_is_the_root_and_not_its_askers_word(tmp_path: Path) -> None:
    command = "['/opt/venv/bin/python', '-m', 'vllm.model_executor.models.registry']"
    asked = f"{TRACEBACK}\nsubprocess.CalledProcessError: Command '{command}' returned non-zero exit status 1."
    carried = f"RuntimeError: Error raised in subprocess:\n{TRACEBACK}\nModuleNotFoundError: No module named 'triton.compiler'"
    life = Life(3).say("APIServer", 1, "ERROR", "registry.py:354", f"Error in inspecting model architecture 'Oak'\n{asked}\n\n{carried}")
    ((name, root),) = found(tmp_path, life)
    assert (name, root.rpartition("] ")[2]) == ("start-refused", "ModuleNotFoundError: No module named 'triton.compiler'")


def test_a_program_that_goes_on_without_its_engine_does_not_wake_it(tmp_path: Path) -> None:
    life = Life(3).core("ERROR", "core.py:1100", f"EngineCore failed to start.\n{TRACEBACK}\n{FREE}")
    life.raw("WARNING:app.loader:[preload] failed (non-fatal)").raw("INFO:     Application startup complete.")
    assert classes(tmp_path, life) == ["start-refused"]


def test_a_log_that_somebody_quotes(tmp_path: Path) -> None:
    life = Life(3).serves().raises(5, "ValueError: zero-size array to reduction operation", STEP)
    life.lines = [f"> {line}" for line in life.lines]
    assert classes(tmp_path, life) == ["engine-exception"]


def test_a_streams_last_word_counts_though_another_stream_goes_on(tmp_path: Path) -> None:
    lines = [TRACEBACK, '  File "/src/ask.py", line 9, in <module>', "    main()", "AttributeError: no such op"]
    text = "Some words about it:\n\n" + "".join(f"engine-1  | {line}\n" for line in lines) + "\nAnd some words below.\n"
    assert classes(tmp_path, text) == ["engine-exception"]


def test_an_offline_run_after_another_in_one_log_is_no_death(tmp_path: Path) -> None:
    bar = "Processed prompts: 100%|██████████| 9/9 [00:05<00:00,  1.88it/s, est. speed input: 1204.31 toks/s, output: 55.62 toks/s]"
    first, second = Life(3).raw(bar), Life(4, pid=900).raw(bar)
    for life in (first, second):
        life.lines = life.lines[1:]  # no server
    assert [v.fault_class for v in triage.classify([log(tmp_path, first, second)]).verdicts] == []
