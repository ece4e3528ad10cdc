"""Writes big engine logs to measure on: docker-stamped vLLM 0.27 text, the same bytes for the same arguments, hundreds of MB a second.

    python -m benchmarks.make_logs build/bench/clean.log --size 500 --kind clean

An hour of lines is prepared a few times over and then repeated with other stamps. All of it is made up; only the formats are real.

clean       a quarter stats and access lines, the rest requests, some near misses; one crash in the middle and one at the end
crash-loop  a boot, two minutes of traffic and a crash, again and again
flood       a fault on every second line, one of six, in one life
ansi        as clean, coloured
nccl-info   as clean, every second line an NCCL INFO line
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

BEGIN = datetime(2026, 11, 1, 9, tzinfo=UTC)
OUTER, INNER = "%Y-%m-%dT%H:", "%m-%d %H:"
VARIANTS = 4
PER_HOUR, STATS_EVERY = 6480, 18  # so that a stats line comes every ten seconds, as vLLM writes them
BOOT_TAKES, LIFE_TAKES = 180.0, 120.0
RANKS = 8
SITE = "/usr/local/lib/python3.12/dist-packages"

Lines = Iterator[tuple[float, str]]  # second of the hour, and the text without docker's stamp


class Writer(NamedTuple):
    """How one engine writes its records: coloured or not, and the dice for what varies."""

    dice: random.Random
    colour: bool = False

    def record(self, second: float, process: str, level: str, place: str, message: str) -> Lines:
        """One log record; as vLLM does, a further line repeats the prefix and the line before it ends in CR."""
        clock = BEGIN.strftime(INNER) + f"{int(second // 60):02}:{int(second % 60):02}"
        if self.colour:
            head = f"\x1b[0;36m({process})\x1b[0;0m \x1b[32m{level}\x1b[0m \x1b[90m{clock}\x1b[0m \x1b[90m[{place}]\x1b[0m"
        else:
            head = f"({process}) {level} {clock} [{place}]"
        *first, last = message.split("\n")
        yield from ((second, f"{head} {line}\r") for line in first)
        yield second, f"{head} {last}"

    def request_id(self) -> str:
        return f"chatcmpl-{self.dice.getrandbits(128):032x}"

    def port(self) -> int:
        return self.dice.randrange(32768, 61000)


def worker(rank: int) -> str:
    return f"Worker_TP{rank} pid={200 + rank}"


API, CORE = "APIServer pid=1", "EngineCore pid=142"


def boot(write: Writer, start: float) -> Lines:
    """A boot from its banner to the first request, over `BOOT_TAKES` seconds."""
    steps: list[tuple[str, str, str]] = [
        (API, "api_server.py:1977", "vLLM server version 0.27.0, serving model example/sparse-moe"),
        (API, "utils.py:253", "non-default args: {'model': 'example/sparse-moe', 'tensor_parallel_size': 8, 'max_num_batched_tokens': 8192}"),
        (CORE, "core.py:110", "Initializing a V1 LLM engine (v0.27.0) with config: model='example/sparse-moe', tensor_parallel_size=8, seed=0"),
        *((worker(r), "parallel_state.py:1395", f"rank {r} in world size 8 is assigned as DP rank 0, PP rank 0, TP rank {r}") for r in range(RANKS)),
        *((worker(r), "gpu_model_runner.py:4880", "Model loading took 84.1200 GiB memory and 71.402193 seconds") for r in range(RANKS)),
        *((worker(r), "gpu_worker.py:441", "Available KV cache memory: 38.51 GiB") for r in range(RANKS)),
        (CORE, "kv_cache_utils.py:2235", "GPU KV cache size: 1,184,320 tokens"),
        (worker(0), "gpu_model_runner.py:6134", "Graph capturing finished in 21 secs, took 2.31 GiB"),
        (CORE, "core.py:290", "init engine (profile, create kv cache, warmup model) took 52.10 s (compilation: 18.44 s)"),
        (API, "api_server.py:602", "Starting vLLM server on http://0.0.0.0:8000"),
    ]
    for number, (process, place, message) in enumerate(steps):
        yield from write.record(start + BOOT_TAKES * number / (len(steps) + 1), process, "INFO", place, message)
    bars = (f"\rCapturing CUDA graphs (decode, FULL): {done * 100 // 64:3}%| {done}/64 [00:{done // 6:02}<00:09, 6it/s]" for done in range(0, 65, 4))
    yield start + BOOT_TAKES - 2, f"({worker(0)}) {''.join(bars)}"
    for text in ("Started server process [1]", "Waiting for application startup.", "Application startup complete."):
        yield start + BOOT_TAKES - 1, f"({API}) INFO:     {text}"


def request_line(write: Writer, at: float) -> Lines:
    message = (
        f"Received request {write.request_id()}: params: SamplingParams(n=1, presence_penalty=0.0, temperature=0.6, "
        f"top_p=0.95, seed=None, stop=[], max_tokens={write.dice.randrange(64, 8192)}), lora_request: None."
    )
    return write.record(at, API, "INFO", "logger.py:39", message)


def added_line(write: Writer, at: float) -> Lines:
    return write.record(at, API, "INFO", "async_llm.py:402", f"Added request {write.request_id()}.")


def access_line(write: Writer, at: float) -> Lines:
    yield at, f'({API}) INFO:     10.2.0.{write.dice.randrange(2, 250)}:{write.port()} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def health_line(write: Writer, at: float) -> Lines:
    yield at, f'({API}) INFO:     127.0.0.1:{write.port()} - "GET /health HTTP/1.1" 200 OK'


def stats_line(write: Writer, at: float) -> Lines:
    roll = write.dice.uniform
    message = (
        f"Engine 000: Avg prompt throughput: {roll(900, 9000):.1f} tokens/s, Avg generation throughput: {roll(300, 2400):.1f} tokens/s, "
        f"Running: {write.dice.randrange(4, 64)} reqs, Waiting: {write.dice.randrange(6)} reqs, "
        f"GPU KV cache usage: {roll(10, 90):.1f}%, Prefix cache hit rate: {roll(20, 70):.1f}%"
    )
    return write.record(at, API, "INFO", "loggers.py:271", message)


UNSUPPORTED = "CUBLAS_STATUS_NOT_SUPPORTED when calling cublasLtMatmul with transpose_mat1 1 m 3584 n 90 k 3584"


def near_miss(write: Writer, at: float) -> Lines:
    """A line with the words of a fault and no fault in it."""
    process, level, place, message = write.dice.choice([
        (worker(3), "WARNING", "blas.py:88", f"gemm_internal_cublaslt error: {UNSUPPORTED}. Will attempt to recover by calling cublas instead."),
        (API, "INFO", "logger.py:39", f"Received request {write.request_id()}: prompt: 'what does CUDA error: out of memory mean?'"),
        (API, "INFO", "loggers.py:271", "KV Transfer metrics: Num successful transfers=12, Avg xfer time (ms)=3.1, timed out=0"),
        (API, "INFO", "async_llm.py:611", f"Aborted request(s) {write.request_id()}."),
        (CORE, "INFO", "core.py:640", "collective timeout is 600 s, watchdog enabled"),
    ])  # fmt: skip
    return write.record(at, process, level, place, message)


def nccl_line(write: Writer, at: float) -> Lines:
    rank = write.dice.randrange(RANKS)
    yield at, (
        f"gpu-box:{200 + rank}:{1400 + rank} [{rank}] NCCL INFO Channel {write.dice.randrange(24):02}/0 : "
        f"{rank}[{rank}] -> {(rank + 1) % RANKS}[{(rank + 1) % RANKS}] via P2P/CUMEM"
    )


MIX: list[tuple[Callable[[Writer, float], Lines], float]] = [
    (request_line, 0.395), (added_line, 0.395), (access_line, 0.13), (health_line, 0.075), (near_miss, 0.005),
]  # fmt: skip


def traffic(write: Writer, start: float, end: float, nccl: bool = False) -> Lines:
    """Requests, answers and stats from `start` to `end`, `PER_HOUR` lines an hour."""
    makers, weights = zip(*MIX, strict=True)
    count = int((end - start) * PER_HOUR / 3600)
    for number, make in enumerate(write.dice.choices(makers, weights, k=count)):
        routine = nccl_line if nccl and number % 2 else make
        yield from (stats_line if number % STATS_EVERY == 0 else routine)(write, start + (end - start) * number / count)


FRAMES = "\n".join([
    "Traceback (most recent call last):",
    f'  File "{SITE}/vllm/v1/executor/multiproc_executor.py", line 955, in worker_busy_loop',
    "    output = func(*args, **kwargs)",
    f'  File "{SITE}/vllm/v1/worker/gpu_model_runner.py", line 4127, in execute_model',
    "    model_output = self._model_forward(input_ids, positions)",
    f'  File "{SITE}/vllm/model_executor/layers/sparse_attn_indexer.py", line 118, in forward',
    "    logits = torch.mm(query, keys.t())",
])  # fmt: skip
FAULT = "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k, &falpha, a, CUDA_R_16BF, lda)`"


FLOOD_PER_HOUR = 36_000
FLOOD = (
    f"RuntimeError: {FAULT}",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "RuntimeError: Triton Error [CUDA]: operation not permitted",
    "[rank3]:[E1118 09:00:00 ProcessGroupNCCL.cpp:685] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=57, OpType=ALLREDUCE)",
    "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
)


def crash(write: Writer, at: float) -> Lines:
    """A cuBLAS call fails on every rank; the engine and the server follow within two seconds."""
    for rank in range(RANKS):
        message = f"WorkerProc hit an exception.\n{FRAMES}\nRuntimeError: {FAULT}"
        yield from write.record(at + rank / 100, worker(rank), "ERROR", "multiproc_executor.py:962", message)
    dump = "Dumping scheduler output for model execution: SchedulerOutput(total_num_scheduled_tokens=2049, scheduled_spec_decode_tokens={})"
    yield from write.record(at + 0.2, CORE, "ERROR", "dump_input.py:79", dump)
    wrapped = f"Worker failed with error '{FAULT}', please check the stack trace above for the root cause"
    yield from write.record(at + 0.3, CORE, "ERROR", "core.py:1138", f"EngineCore encountered a fatal error.\n{FRAMES}\nRuntimeError: {wrapped}")
    dead = "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
    for number in range(20):
        message = f"AsyncLLM output_handler failed.\nTraceback (most recent call last):\nvllm.v1.engine.exceptions.{dead}"
        yield from write.record(at + 0.4 + number / 100, API, "ERROR", "async_llm.py:704", message)
        yield at + 0.4 + number / 100, f'({API}) INFO:     10.2.0.9:{write.port()} - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error'
    for text in ("Shutting down", "Waiting for application shutdown.", "Application shutdown complete.", "Finished server process [1]"):
        yield at + 2, f"({API}) INFO:     {text}"


def life(write: Writer, start: float, nccl: bool) -> Lines:
    """The hour in which an engine boots at `start` and then serves."""
    yield from boot(write, start)
    yield from traffic(write, start + BOOT_TAKES, 3600, nccl)


def fall(write: Writer, nccl: bool) -> Lines:
    """The hour that begins with a crash; the engine boots again and serves."""
    yield from crash(write, 2)
    yield from life(write, 10, nccl)


def loop(write: Writer) -> Lines:
    """An hour of short lives."""
    for number in range(int(3600 / (BOOT_TAKES + LIFE_TAKES))):
        start = number * (BOOT_TAKES + LIFE_TAKES)
        yield from boot(write, start)
        yield from traffic(write, start + BOOT_TAKES, start + BOOT_TAKES + LIFE_TAKES - 10)
        yield from crash(write, start + BOOT_TAKES + LIFE_TAKES - 9)


def flood(write: Writer) -> Lines:
    """An hour with a fault on every second line: one life that never ends."""
    for number in range(FLOOD_PER_HOUR):
        at = 3600 * number / FLOOD_PER_HOUR
        if number % 2:
            yield from added_line(write, at)
        elif (said := write.dice.choice(FLOOD)).startswith("["):
            yield at, said
        else:
            yield from write.record(at, CORE, "ERROR", "core.py:844", said)


def block(lines: Lines) -> bytes:
    """The lines of the first hour, each with docker's stamp."""
    hour = BEGIN.strftime(OUTER)
    return "".join(f"{hour}{int(at // 60):02}:{at % 60:012.9f}Z {text}\n" for at, text in lines).encode()


def moved(prepared: bytes, hours: int) -> bytes:
    """A prepared hour as the hour that comes `hours` later."""
    later = BEGIN + timedelta(hours=hours)
    for stamp in (OUTER, INNER):
        prepared = prepared.replace(BEGIN.strftime(stamp).encode(), later.strftime(stamp).encode())
    return prepared


def blocks(kind: str, size: int, seed: int) -> Iterator[bytes]:
    """The hours of a log of about `size` bytes, in order."""
    write = Writer(random.Random(seed), colour=kind == "ansi")
    nccl = kind == "nccl-info"
    if kind in ("crash-loop", "flood"):
        hour = loop if kind == "crash-loop" else flood
        yield from repeated([block(hour(write)) for _ in range(VARIANTS)], size)
        return
    busy = [block(traffic(write, 0, 3600, nccl)) for _ in range(VARIANTS)]
    first, fallen, last = block(life(write, 0, nccl)), block(fall(write, nccl)), block(crash(write, 2))
    half = (size - len(first) - len(fallen) - len(last)) // 2
    yield from repeated(busy, half, first)
    yield from repeated(busy, half, fallen)
    yield last


def repeated(prepared: list[bytes], size: int, first: bytes = b"") -> Iterator[bytes]:
    """`first`, then the prepared hours in turn until `size` more bytes are reached."""
    if first:
        yield first
    for number in range(max(size, 0) // (sum(map(len, prepared)) // len(prepared))):
        yield prepared[number % len(prepared)]


def write_log(path: Path, hours: Iterable[bytes]) -> int:
    """Write the hours with their stamps to `path`; the number of bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        return sum(file.write(moved(prepared, number)) for number, prepared in enumerate(hours))


def main() -> None:
    """Write one log and say how big it became."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("path", type=Path)
    ask.add_argument("--size", type=float, default=500, help="about this many MB (10^6 bytes)")
    ask.add_argument("--kind", choices=["clean", "crash-loop", "flood", "ansi", "nccl-info"], default="clean")
    ask.add_argument("--seed", type=int, default=1)
    given = ask.parse_args()
    written = write_log(given.path, blocks(given.kind, int(given.size * 1e6), given.seed))
    print(f"{given.path}: {written / 1e6:.0f} MB, {given.kind}, seed {given.seed}")


if __name__ == "__main__":
    main()
