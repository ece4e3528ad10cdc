"""Lives of a made-up vLLM engine as lines of its log, for tests that need a whole one: boot, serving, death."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

DAY = "11-20"


class Life:
    """One life that begins at an hour of the day; each call adds lines and moves the clock on."""

    def __init__(self, hour: float, *, pid: int = 100, version: str = "0.11.2", ranks: int = 8) -> None:
        self.lines: list[str] = []
        self.clock = round(hour * 3600)
        self.pid = pid
        self.say("APIServer", 1, "INFO", "api_server.py:1977", f"vLLM API server version {version}")
        config = f"Initializing a V1 LLM engine (v{version}) with config: model='/models/oak-8b', tensor_parallel_size={ranks}"
        self.say("EngineCore_DP0", pid, "INFO", "core.py:93", f"{config}, pipeline_parallel_size=1, data_parallel_size=1")
        self.worker(0, "INFO", "gpu_model_runner.py:3259", "Starting to load model /models/oak-8b...")

    def at(self) -> str:
        return f"{DAY} {self.clock // 3600:02}:{self.clock // 60 % 60:02}:{self.clock % 60:02}"

    def say(self, process: str, pid: int, level: str, where: str, text: str, *, later: int = 1) -> Life:
        self.clock += later
        self.lines += [f"({process} pid={pid}) {level} {self.at()} [{where}] {part}" for part in text.split("\n")]
        return self

    def worker(self, rank: int, level: str, where: str, text: str, *, later: int = 1) -> Life:
        return self.say(f"Worker_TP{rank}", self.pid + 1 + rank, level, where, text, later=later)

    def core(self, level: str, where: str, text: str, *, later: int = 1) -> Life:
        return self.say("EngineCore_DP0", self.pid, level, where, text, later=later)

    def raw(self, text: str) -> Life:
        self.lines.append(text)
        return self

    def serves(self, minutes: int = 3) -> Life:
        self.raw("INFO:     Application startup complete.")
        for _ in range(minutes):
            stats = "Engine 000: Avg prompt throughput: 81.0 tokens/s, Avg generation throughput: 40.2 tokens/s, Running: 3 reqs, Waiting: 0 reqs"
            self.say("APIServer", 1, "INFO", "loggers.py:123", f"{stats}, GPU KV cache usage: 2.3%, Prefix cache hit rate: 0.0%", later=60)
        return self

    def raises(self, rank: int, error: str, frames: Iterable[str] = ()) -> Life:
        """A worker logs an exception; `frames` are `path:line function`, outermost first."""
        text = "\n".join(["WorkerProc hit an exception.", "Traceback (most recent call last):", *_frames(frames), error])
        return self.worker(rank, "ERROR", "multiproc_executor.py:815", text)

    def steps(self, *counts: int, speculated: str = "", evil: str = "") -> Life:
        """The engine core dumps the step it was in: tokens for each request; `evil` is what a user put into a stop string."""
        requests = ", ".join(f"cmpl-{number}: {count}" for number, count in enumerate(counts))
        told = f"SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=cmpl-0,sampling_params=SamplingParams(stop=[{evil}]))], "
        told += f"num_scheduled_tokens={{{requests}}}, total_num_scheduled_tokens={sum(counts)}, "
        told += f"scheduled_spec_decode_tokens={{{speculated}}}, finished_req_ids=[])"
        return self.core("ERROR", "dump_input.py:79", f"Dumping scheduler output for model execution: {told}")

    def dies(self, later: int = 1) -> Life:
        return self.core("ERROR", "core.py:844", "EngineCore encountered a fatal error.", later=later)


def _frames(frames: Iterable[str]) -> Iterator[str]:
    for frame in frames:
        place, _, name = frame.rpartition(" ")
        path, _, line = place.rpartition(":")
        yield f'  File "{path}", line {line}, in {name}'
        yield "    return self.run(*args)"


def log(folder: Path, *lives: Life, name: str = "vllm.log") -> str:
    """Writes the lives into one log, and tells its path."""
    file = folder / name
    file.write_text("".join(f"{line}\n" for life in lives for line in life.lines), encoding="utf-8")
    return str(file)
