"""What a missing dump means, and what dumps mean in which nobody waits: from engine log and dumps to the words of `explain`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

import triage
from tests.made_dumps import T0, Job, config, document, entry, job, lay
from tests.verdict.story import Story
from triage.knowledge.load import load
from triage.model import Boot, Incident, Verdict
from triage.report.dump_evidence import of_dumps
from triage.report.explain import explain
from triage.verdict.recorder import dump_state

START = T0 / 1e9
TIMEOUT = "ERROR {} [core.py:1586] TimeoutError: RPC call to sample_tokens timed out."
FATAL = "ERROR {} [core.py:1586] EngineCore encountered a fatal error."
ILLEGAL = "ERROR {} [core.py:1586] RuntimeError: CUDA error: an illegal memory access was encountered"


def log(*last: tuple[float, str]) -> str:
    """A vLLM engine's life, `last` lines by seconds after the first operation of the dumps."""
    boot = [(-90, "INFO {} [core.py:105] Initializing a V1 LLM engine (v0.27.0) with config: model='m'"), (-80, "INFO {} [x.py:1] torch 2.11.0")]
    ready = [(-20, "INFO:     Application startup complete.")]
    busy = "INFO {} [loggers.py:271] Engine 000: Avg prompt throughput: 9.0 tokens/s, Avg generation throughput: 9.0 tokens/s, Running: 2 reqs"
    told = [*boot, *ready, *((s, busy) for s in range(-10, 3, 2)), *last]
    return "".join(f"{_stamp(s)} (EngineCore pid=7) {text.format(f'{_at(s):%m-%d %H:%M:%S}')}\n" for s, text in told)


def _at(second: float) -> datetime:
    return datetime.fromtimestamp(START + second, UTC)


def _stamp(second: float) -> str:
    return _at(second).isoformat().replace("+00:00", "Z")


def finished(world: int = 4) -> Job:
    return {rank: document([entry(s) for s in range(1, 7)], config("0", range(world))) for rank in range(world)}


def judged(folder: Path, text: str, made: Job) -> Verdict:
    (folder / "vllm.log").write_text(text)
    lay(folder / "dumps", made)
    (verdict,) = triage.classify(str(folder)).verdicts
    return verdict


def spoken(verdict: Verdict) -> str:
    return " ".join(explain(verdict, load([])).split())


def test_a_hang_with_dumps_in_which_nobody_waits_may_be_outside_of_torch(tmp_path: Path) -> None:
    verdict = judged(tmp_path, log((302, TIMEOUT), (302.1, FATAL)), finished())
    assert (verdict.fault_class, verdict.family) == ("engine-stall", "hang")
    assert verdict.incident.dump_state == "present"
    assert next(a.answer for a in verdict.forks if a.fork == "dump") == "unknown"
    assert not any("dump" in conflict for conflict in verdict.conflicts)
    for word in ("none of which waits", "pynccl", "--disable-custom-all-reduce", "VLLM_DISABLE_PYNCCL=1", "nc localhost 28028"):
        assert word in spoken(verdict)
    told = of_dumps(verdict)
    assert (told["state"], told["ranks"], len(told["notes"])) == ("present", [0, 1, 2, 3], 1)


def test_an_empty_recorder_is_said_to_be_empty(tmp_path: Path) -> None:
    made = {rank: document([], of_rank["pg_config"]) for rank, of_rank in finished().items()}
    for file in lay(tmp_path / "dumps", made).iterdir():
        os.utime(file, (START + 305, START + 305))
    (tmp_path / "vllm.log").write_text(log((302, TIMEOUT), (302.1, FATAL)))
    (verdict,) = triage.classify(str(tmp_path)).verdicts
    assert "4 ranks in" in spoken(verdict)
    assert "which recorded nothing" in spoken(verdict)
    assert "outside torch.distributed" in spoken(verdict)


def test_a_crash_is_no_hang_for_a_dump_in_which_nobody_waits(tmp_path: Path) -> None:
    verdict = judged(tmp_path, log((3, ILLEGAL), (3.1, FATAL)), finished())
    assert (verdict.fault_class, verdict.family) == ("illegal-memory-access", "instant")
    assert next(a.answer for a in verdict.forks if a.fork == "dump") == "unknown"
    assert of_dumps(verdict)["notes"] == []
    assert "pynccl" not in spoken(verdict)


def test_dumps_of_an_earlier_life_say_nothing_of_this_one(tmp_path: Path) -> None:
    early = {rank: document([entry(s, created=T0 - 10**13 + s) for s in range(1, 7)], config("0", range(2))) for rank in range(2)}
    verdict = judged(tmp_path, log((302, TIMEOUT), (302.1, FATAL)), early)
    assert verdict.incident.idle_dump is None
    assert "pynccl" not in spoken(verdict)


def test_log_and_dumps_that_agree_are_told(tmp_path: Path) -> None:
    name = "[rank{r}]:[E1118 00:00:00.1 ProcessGroupNCCL.cpp:{n}]"
    caught = "[Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=6, OpType=ALLREDUCE, Timeout(ms)=600000)"
    state = "[PG ID 0 PG GUID 0(default_pg) Rank {r}]  failure detected by watchdog at work sequence id: 6"
    state += " PG status: last enqueued work: 6, last completed work: 5"
    lines = []
    for rank in (0, 1, 3):
        lines.append((600.2, name.format(r=rank, n=683) + " " + caught.format(r=rank) + " ran for 600100 milliseconds before timing out."))
        lines.append((600.3, name.format(r=rank, n=2241) + " " + state.format(r=rank)))
    (tmp_path / "vllm.log").write_text(log() + "".join(f"{_stamp(s)} {text}\n" for s, text in lines))
    lay(tmp_path / "dumps", job(4, stuck={0, 1, 3}))
    (verdict,) = triage.classify(str(tmp_path)).verdicts
    assert verdict.fault_class == "collective-hang"
    same = "log: sequence 6 of group 0 (ALLREDUCE) on ranks 0, 1, 3; dumps: the same; rank 2 has entered 5 at most (without a line in the log)"
    assert f"log and dumps - {same}" in spoken(verdict)
    (told,) = of_dumps(verdict)["log"]
    assert (told["group"], told["sequence"], told["agrees"], told["same"]) == ("0", 6, True, [0, 1, 3])


@pytest.mark.parametrize(("limit", "state"), [("", "not collected"), ("120", "not collected"), ("1200", "absent")])
def test_an_engine_that_gives_up_first_leaves_no_dump(limit: str, state: str) -> None:
    incident = _armed({"VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": limit} if limit else {}, "engine-stall/vllm-rpc-timeout")
    told, reason = dump_state(incident, place_was_read=True)
    assert told == state
    assert ("gave up waiting before torch's watchdog" in reason) is (state == "not collected")


def test_a_dump_that_an_armed_recorder_did_not_leave_is_absent() -> None:
    incident = _armed({}, "illegal-memory-access/cuda")
    assert dump_state(incident, place_was_read=True)[0] == "absent"
    assert dump_state(incident, place_was_read=False)[0] == "not collected"


def _armed(settings: dict[str, str], rule: str) -> Incident:
    (incident,) = Story().served().root(rule.partition("/")[0], rule).death().incidents()
    boot = msgspec.structs.replace(incident.boot or Boot(id="b", source="s", engine="vllm"), config={"torch": "2.11.0"} | settings)
    return msgspec.structs.replace(incident, boot=boot)


@pytest.mark.parametrize(
    ("config", "state", "said"),
    [
        ({"torch": "2.6.0"}, "not armed", "off by default"),
        ({"torch": "2.8.0"}, "not collected", "not known whether torch 2.8"),
        ({"torch": "2.9.1+cu128"}, "absent", "on by default"),
        ({"torch": "2.10.0"}, "absent", "on by default"),
        ({"torch": "2.6.0", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"}, "not armed", "TORCH_NCCL_DUMP_ON_TIMEOUT=1, which was not seen"),
        ({"torch": "2.6.0", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000", "TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}, "absent", "armed"),
        ({"torch": "2.11.0", "TORCH_FR_BUFFER_SIZE": "0"}, "not armed", "TORCH_FR_BUFFER_SIZE=0"),
        ({"torch": "2.11.0", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}, "not armed", "TORCH_NCCL_DUMP_ON_TIMEOUT=0"),
        ({"torch": "2.11.0", "TORCH_NCCL_BLOCKING_WAIT": "1"}, "not armed", "TORCH_NCCL_BLOCKING_WAIT=1"),
        ({}, "not collected", "no boot line tells"),
    ],
)
def test_what_is_armed_follows_from_version_and_settings(config: dict[str, str], state: str, said: str) -> None:
    incident = _armed({}, "illegal-memory-access/cuda")
    assert incident.boot
    incident = msgspec.structs.replace(incident, boot=msgspec.structs.replace(incident.boot, config=config))
    told, reason = dump_state(incident, place_was_read=True)
    assert (told, said in reason) == (state, True)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("recorder-written", "wrote a dump that was not among what was read: /root/.cache/torch/comm_lib_trace_rank_0"),
        ("recorder-open-failed", "could not write its dump: /root/.cache/torch/comm_lib_trace_rank_0"),
        ("recorder-preparing", "began a dump that was not among what was read"),
    ],
)
def test_a_dump_that_the_log_speaks_of_is_not_absent(rule: str, said: str) -> None:
    incident = _armed({}, "collective-hang/watchdog")
    path = {} if rule.endswith("preparing") else {"path": "/root/.cache/torch/comm_lib_trace_rank_0"}
    told = msgspec.structs.replace(incident.events[-1], rule=f"torch/{rule}", kind="recorder", data=path)
    incident = msgspec.structs.replace(incident, events=(*incident.events, told))
    state, reason = dump_state(incident, place_was_read=True)
    assert (state, reason.endswith(said)) == ("not collected", True)


def test_a_stack_that_was_not_found_does_not_prove_the_recorder_off() -> None:
    incident = _armed({}, "collective-hang/watchdog")
    told = msgspec.structs.replace(incident.events[-1], rule="torch/recorder-no-stack", kind="recorder")
    assert dump_state(msgspec.structs.replace(incident, events=(*incident.events, told)), place_was_read=True)[0] == "absent"
