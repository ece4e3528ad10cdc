"""What a source gives as a whole: every line of a record by itself, what kind of log it is, and what its times are worth."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.model import Kind
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.parsers.sorting import NothingToReadError, known_ones
from triage.pipeline import classify
from triage.sources.find import Source

TABLE = RuleTable(load())
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.05 GiB is free."
CUBLAS = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle)`"
FATAL = "EngineCore encountered a fatal error."
PROBE = "2026-11-01T09:{:02}:00Z 200 0.412 exit=0\n"
BANNER = "2026-11-01T09:00:00Z (APIServer pid=1) INFO 11-01 09:00:00 [api_server.py:1] vLLM API server version 0.11.2\n"


def reading(path: Path, text: str, kind: Kind = "engine", *, year: int | None = None) -> Reading:
    path.write_text(text)
    return read_source(Source(str(path), (str(path),)), kind, TABLE, Options(year=year))


def classes(path: Path, text: str) -> list[str]:
    path.write_text(text)
    return [verdict.fault_class for verdict in classify([str(path)]).verdicts]


def record(second: int, level: str, process: str, message: str, exception: str = "") -> str:
    """A record of vLLM's JSON formatter."""
    when = f"2026-11-01 09:{second // 60:02}:{second % 60:02},123"
    said = {"asctime": when, "levelname": level, "name": "vllm", "processName": process, "process": 7, "message": message}
    return json.dumps({**said, "exc_info": exception} if exception else said) + "\n"


def journal(second: int, *lines: str) -> str:
    """A record of journalctl -o json with several lines."""
    return json.dumps({"__REALTIME_TIMESTAMP": f"{1793523600 + second}000000", "_SYSTEMD_UNIT": "vllm.service", "MESSAGE": "\n".join(lines)}) + "\n"


class TestRecordsOfSeveralLines:
    """A consequence and the root may stand in one record: they are two lines."""

    @pytest.mark.parametrize(("error", "fault"), [(OOM, "device-oom"), (CUBLAS, "cublas-fault")])
    def test_the_root_is_found_in_the_traceback_of_a_record(self, error: str, fault: str, tmp_path: Path) -> None:
        traceback = f'Traceback (most recent call last):\n  File "/opt/engine/linear.py", line 12, in forward\n    y = f(x)\n{error}'
        log = (
            record(0, "INFO", "APIServer", "vLLM server version 0.33.0, serving model /m")
            + record(60, "INFO", "APIServer", "Application startup complete.")
            + record(605, "ERROR", "Worker_TP1", "WorkerProc hit an exception.", traceback)
            + record(606, "ERROR", "EngineCore", FATAL, "Traceback (most recent call last):\nRuntimeError: Worker failed with error")
        )
        path = tmp_path / "vllm.log"
        path.write_text(log)
        (verdict,) = classify([str(path)]).verdicts
        assert verdict.fault_class == fault
        assert verdict.root is not None
        assert verdict.root.frames == ("/opt/engine/linear.py:12 forward",)

    def test_the_root_is_found_in_a_message_of_the_journal(self, tmp_path: Path) -> None:
        says = "(Worker_TP1 pid=5) ERROR 11-01 09:10:05 [multiproc_executor.py:844] "
        log = (
            journal(0, "(APIServer pid=1) INFO 11-01 09:00:00 [api_server.py:1] vLLM API server version 0.11.2")
            + journal(60, "(APIServer pid=1) INFO:     Application startup complete.")
            + journal(605, f"{says}WorkerProc hit an exception.", f"{says}Traceback (most recent call last):", f"{says}{OOM}")
            + journal(606, f"(EngineCore pid=3) ERROR 11-01 09:10:06 [core.py:844] {FATAL}")
        )
        assert classes(tmp_path / "journal.json", log) == ["device-oom"]


class TestWhatIsOurs:
    @pytest.mark.parametrize(
        "text",
        [
            "gpu-a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2\n",
            'INFO:     10.0.0.1:1 - "GET /health HTTP/1.1" 200 OK\n',
            "/usr/lib/python3/dist-packages/torch/cuda/__init__.py:54: FutureWarning: The package is deprecated.\n",
            "2026-11-01T09:00:00Z a line of an entrypoint\n",
        ],
        ids=["nccl", "access", "warning", "stamps"],
    )
    def test_a_quiet_log_is_known_and_no_incident(self, text: str, tmp_path: Path) -> None:
        assert classes(tmp_path / "quiet.log", text) == []

    @pytest.mark.parametrize("text", ["root:x:0:0:root:/root:/bin/bash\n", "# Read me\n\nSome words about a program.\n"])
    def test_text_in_which_nothing_was_understood_is_said_to_be_and_is_no_engine(self, text: str, tmp_path: Path) -> None:
        path = tmp_path / "notes"
        path.write_text(text)
        findings = classify([str(path)])
        assert [(p.file, p.what, p.lost) for p in findings.problems] == [(str(path), "nothing in it that triage knows", False)]
        assert (findings.boots, findings.verdicts, findings.coverage.start) == ((), (), None)

    def test_in_a_folder_it_is_passed_over(self, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text("some words\n")
        with pytest.raises(NothingToReadError, match="notes: nothing in it that triage knows"):
            classify([str(tmp_path)])

    def test_beside_a_log_it_counts_for_nothing(self, tmp_path: Path) -> None:
        path, log = tmp_path / "notes", tmp_path / "vllm.log"
        path.write_text("some words\n")
        log.write_text(BANNER)
        assert [boot.source for boot in classify([str(path), str(log)]).boots] == [str(log)]

    def test_what_the_user_calls_an_engine_is_one(self, tmp_path: Path) -> None:
        (tmp_path / "notes").write_text("some words\n")
        findings = classify([str(tmp_path)], kind="engine")
        assert (len(findings.sources), findings.problems) == (1, ())

    def test_a_named_log_that_is_empty_is_quiet(self, tmp_path: Path) -> None:
        assert classes(tmp_path / "vllm.log", "") == []

    def test_what_could_not_be_read_is_told_once(self, tmp_path: Path) -> None:
        missing = read_source(Source("gone.log", (str(tmp_path / "gone.log"),)), "engine", TABLE, Options())
        assert [problem.lost for problem in missing.info.problems] == [True]
        assert known_ones([missing], list(missing.info.files)) == ([], [])


@pytest.mark.parametrize("first", ["engine", "probes"])
def test_probes_in_an_engines_log_are_said_to_be_unread(first: str, tmp_path: Path) -> None:
    rows = "".join(PROBE.format(minute) for minute in range(5))
    log = reading(tmp_path / "all.log", BANNER + rows if first == "engine" else rows + BANNER)
    assert [(p.lost, "look like health probes" in p.what) for p in log.info.problems] == [(False, True)]
    assert reading(tmp_path / "engine.log", BANNER).info.problems == ()


class TestDoubts:
    def test_without_stamps_there_is_only_an_order(self, tmp_path: Path) -> None:
        log = reading(tmp_path / "bare.log", "gpu-a:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2\n")
        assert log.assumptions == (f"no stamps in {tmp_path}/bare.log: order only, no times",)
        assert reading(tmp_path / "stamped.log", BANNER).assumptions == ()

    @pytest.mark.parametrize("filler", ["Requirement already satisfied: pkg in /opt/packages\n", "frame #1: c10::Error::Error() + 0x57\n"])
    @pytest.mark.parametrize("lines", [300, 40_000])
    def test_a_log_lasts_from_its_first_to_its_last_stamp_however_many_lines_have_none(self, filler: str, lines: int, tmp_path: Path) -> None:
        fatal = f"2026-11-01T09:10:00Z (EngineCore_DP0 pid=3) ERROR 11-01 09:10:00 [core.py:844] {FATAL}\n"
        found = reading(tmp_path / "engine.log", filler * lines + BANNER + fatal + filler * lines).info
        assert found.first is not None
        assert found.last is not None
        assert found.last.earliest - found.first.earliest == 600
        assert found.clock == "outer stamp"

    def test_a_log_that_ends_before_it_begins_is_doubtful(self, tmp_path: Path) -> None:
        log = reading(tmp_path / "turned.log", "2026-11-02T00:00:00Z late\n2026-11-01T00:00:00Z early\n")
        assert f"{tmp_path}/turned.log ends 86399 s before it begins" in log.assumptions[-1]


def test_the_same_unit_on_two_hosts_is_two_engines(tmp_path: Path) -> None:
    lines = [f"2026-11-01T09:00:00+0000 gpu-{host} vllm[9]: {BANNER.partition(' ')[2]}" for host in "abab"]
    two = reading(tmp_path / "two.log", "".join(lines))
    assert {event.stream for event in two.events if event.kind == "boot"} == {"gpu-a/vllm", "gpu-b/vllm"}
    one = reading(tmp_path / "one.log", "".join(lines[::2]))
    assert {event.stream for event in one.events if event.kind == "boot"} == {"vllm"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_with_a_name_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(BANNER,), daemon=True)
    writer.start()
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(len(classify([str(pipe)]).boots)), daemon=True)
    reader.start()
    reader.join(60)
    assert found == [1]


@pytest.mark.parametrize("outer", ["", "2026-11-01T09:10:05.000000000Z ", "2026-11-01T09:10:05.000000000Z stderr F "])
def test_a_fault_behind_the_fields_of_an_envelope_inside_another_is_found(outer: str, tmp_path: Path) -> None:
    inner = f'<11>1 2026-11-01T09:10:05Z gpu7 vllm 7 - [x@1 text="engine"] {OOM}'
    lines = [BANNER, *([f"{outer}{inner}\n"] * 3)]
    events = reading(tmp_path / "vllm.log", "".join(lines)).events
    assert len({event.place.offset for event in events if event.fault == "device-oom"}) == 3


@pytest.mark.parametrize("requests", [3, 64, 400])
def test_a_step_is_read_out_of_a_dump_of_any_length(tmp_path: Path, requests: int) -> None:
    new = ", ".join(f"NewRequestData(req_id=cmpl-{n},prompt_token_ids_len=128,sampling_params=SamplingParams({'x' * 300}))" for n in range(requests))
    counts = ", ".join(f"cmpl-{n}: 128" for n in range(requests))
    step = f"num_scheduled_tokens={{{counts}}}, total_num_scheduled_tokens={requests * 128}, scheduled_spec_decode_tokens={{}}"
    head = "2026-11-01T09:05:00Z (EngineCore pid=7) ERROR 11-01 09:05:00 [dump_input.py:79] Dumping scheduler output for model execution: "
    dump = f"{head}SchedulerOutput(scheduled_new_reqs=[{new}], {step}, finished_req_ids=[])"
    (found,) = [e for e in reading(tmp_path / "engine.log", f"{BANNER}{dump}\n").events if e.kind == "step"]
    assert (found.data["tokens"], found.data["prefills"]) == (str(requests * 128), str(requests))


def test_samples_of_gpu_memory_are_a_source_and_no_coverage(tmp_path: Path) -> None:
    told = "timestamp, index, memory.used [MiB]\n2026/11/01 09:00:00.000, 0, 10 MiB\n2026/11/01 10:00:00.000, 0, 12 MiB\n"
    (tmp_path / "gpu.csv").write_text(told)
    (tmp_path / "engine.log").write_text(BANNER)
    findings = classify([str(tmp_path)])
    assert {source.name: source.kind for source in findings.sources} == {"engine.log": "engine", "gpu.csv": "gpu_memory"}
    assert not findings.problems
    assert findings.coverage.start is not None
    assert findings.coverage.end is not None
    assert findings.coverage.end - findings.coverage.start <= 1  # the banner's second alone
