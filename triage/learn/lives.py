"""Writes the life of an engine as its log, around one line: boot, load, capture, service, and how it goes down. Made of the rules' own samples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from triage.knowledge.load import Knowledge
from triage.learn.wording import Variation
from triage.model import Seconds
from triage.parsers.tags import tag

SITUATIONS = (
    "serving", "serving-line", "boot", "boot-line", "load", "load-line", "capture", "capture-line", "kernel", "stop", "mild", "late", "tail", "busy",
)  # fmt: skip
UP = ("serving", "kernel", "stop", "mild", "late", "busy")
STEP: Seconds = 0.5
BEAT: Seconds = 30.0
PREFIX = {
    "vllm": "(Worker_TP{rank} pid=30{rank}) ERROR 11-20 05:51:01 [multiproc_executor.py:815] ",
    "sglang": "[2026-11-20 05:51:01 TP{rank}] ",
    "tensorrt_llm": "[11/20/2026-05:51:01] [TRT-LLM] [E] ",
}
_STEP = ("/opt/venv/vllm/v1/engine/core.py:1008 _process_engine_step", "/opt/venv/vllm/v1/worker/gpu_worker.py:631 execute_model",
         "/opt/venv/vllm/v1/worker/gpu_model_runner.py:2874 execute_model")  # fmt: skip
FRAMES: dict[str, tuple[str, ...]] = {
    "serving": _STEP,
    "boot": ("/opt/venv/vllm/entrypoints/cli/main.py:73 main", "/opt/venv/vllm/engine/arg_utils.py:1411 create_engine_config"),
    "load": ("/opt/venv/vllm/v1/engine/core.py:701 run_engine_core", "/opt/venv/vllm/v1/worker/gpu_worker.py:214 load_model",
             "/opt/venv/vllm/model_executor/model_loader/default_loader.py:268 load_weights"),
    "capture": ("/opt/venv/vllm/v1/worker/gpu_worker.py:344 compile_or_warm_up_model",
                "/opt/venv/vllm/v1/worker/gpu_model_runner.py:3301 capture_model"),
}  # fmt: skip
# Frames that a signature may ask for, beside those of its situation.
SPECIAL = (
    "/opt/venv/lmcache/v1/storage_backend/connector/redis_connector.py:88 get",
    "/opt/venv/lib/python3.12/site-packages/huggingface_hub/file_download.py:1201 hf_hub_download",
    "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/registry.py:31 <module>",
    "/opt/venv/lib/python3.12/site-packages/transformers/tokenization_utils_base.py:2014 from_pretrained",
    "/opt/venv/lib/python3.12/site-packages/transformers/convert_slow_tokenizer.py:511 __init__",
    "/opt/venv/lib/python3.12/site-packages/vllm/model_executor/models/oak.py:330 load_weights",
    "/opt/venv/lib/python3.12/site-packages/vllm/engine/async_timeout.py:179 _do_exit",
    "/opt/venv/lib/python3.12/site-packages/vllm/config/__init__.py:402 __post_init__",
    "/srv/app/serve.py:12 <module>",
    *_STEP,
)
_BOOTED: dict[str, tuple[str, ...]] = {
    "vllm": ("vllm/boot-banner", "vllm/boot-args", "vllm/boot-engine"), "sglang": ("sglang/boot-args", "sglang/boot-progress-init"),
    "tensorrt_llm": ("tensorrt_llm/boot-banner",),
}  # fmt: skip
_READY = {"vllm": "torch/ready-uvicorn", "sglang": "sglang/ready", "tensorrt_llm": "torch/ready-uvicorn"}
_PROGRESS = {"vllm": "vllm/progress-stats", "sglang": "sglang/progress-decode", "tensorrt_llm": "tensorrt_llm/progress-iteration"}
_DEATHS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # once up, and before that
    "vllm": (("vllm/death-fatal", "vllm/death-engine-dead"), ("vllm/death-core-start", "vllm/death-init")),
    "sglang": (("sglang/death-sigquit",), ("sglang/death-child",)),
    "tensorrt_llm": (("tensorrt_llm/death-executor",), ("tensorrt_llm/death-worker-start",)),
}
_STOPPED = ("torch/stop-uvicorn", "torch/exit-uvicorn-complete", "torch/exit-uvicorn")


class Line(NamedTuple):
    """One line and when it was written, in seconds since the epoch."""

    at: Seconds
    text: str


class Ends(NamedTuple):
    """How the log of a life is handed over: from its first line or cut somewhere in service, and whether its last words are in it."""

    headless: bool = False
    cut: bool = False


class Library:
    """Samples of the lines of an engine's life, by the id of their rule."""

    def __init__(self, known: Knowledge) -> None:
        self.samples = {line.id: line.samples[0] for engine in known.engines.values() for line in engine.lines}
        self.milestones = {
            name: [s for rule, s in self.samples.items() if rule.startswith(f"{name}/milestone-")] for name in known.engines
        }

    def life(
        self, engine: str, situation: str, root: Sequence[str], noise: Sequence[str], start: Seconds, rng: random.Random, *, gap: Seconds, ends: Ends
    ) -> tuple[list[Line], Seconds]:
        """The lines of one life that begins at `start`, and when its root was written; `gap` seconds of silence stand before that."""
        before = self._before(engine, situation, rng)
        at, lines = start, []
        for text in before:
            at += rng.uniform(1, 40)
            lines.append(Line(at, text))
        served = situation.startswith(UP)
        spots = sorted(rng.randint(max(1, len(lines) // 2), len(lines)) for _ in noise) if lines else []
        for spot, text in zip(reversed(spots), noise, strict=False):
            lines.insert(spot, Line(lines[spot - 1].at, text))
        at += gap or rng.uniform(0.2, 9)
        when = at
        lines += [Line(at + 0.001 * number, text) for number, text in enumerate(root)]
        if not ends.cut:
            pace = BEAT if situation == "busy" else STEP
            lines += [Line(at + pace * number + 0.2, text) for number, text in enumerate(self._after(engine, situation, served))]
        if ends.headless and served and len(lines) > 12:
            lines = lines[9:]
        other = Variation(rng)
        return [Line(line.at, other.of(line.text, _clock(line.at))) for line in lines], when

    def _before(self, engine: str, situation: str, rng: random.Random) -> list[str]:
        lines = [self.samples[rule] for rule in _BOOTED[engine]]
        if situation.startswith("boot"):
            return lines
        steps = self.milestones[engine]
        if situation.startswith("load"):
            return lines + steps[:1]
        if situation.startswith("capture"):
            return lines + [s for s in steps if "Capturing" in s or "Capture" in s or s in steps[:2]]
        if situation == "tail":
            return []
        return [*lines, *steps, self.samples[_READY[engine]], *[self.samples[_PROGRESS[engine]]] * rng.randint(2, 6)]

    def _after(self, engine: str, situation: str, served: bool) -> list[str]:
        if situation in ("mild", "busy"):
            return [self.samples[_PROGRESS[engine]]] * (2 if situation == "mild" else 16)
        if situation == "stop":
            return [self.samples[rule] for rule in _STOPPED]
        if situation in ("late", "tail"):
            return []
        return [self.samples[rule] for rule in _DEATHS[engine][0 if served else 1]]


def spoken(text: str, engine: str, situation: str, frames: Sequence[str], rank: int) -> list[str]:
    """A root's sample as it stands in a log: as it is, or as the last line of a traceback of the process that said it."""
    message = tag(text).message
    if situation.endswith("-line") or situation in ("kernel", "stop", "mild", "late", "tail", "busy"):
        return [text]
    prefix = text.removesuffix(message) or PREFIX[engine].format(rank=rank)
    quoted = [part for frame in frames for part in _frame(frame)]
    return [prefix + part for part in ("Traceback (most recent call last):", *quoted, message)]


def as_log(lines: Sequence[Line], host: str = "") -> bytes:
    """The lines as `docker logs -t` shows them; with a `host` as the kernel's log of that host, journalctl's short-iso."""
    if host:
        return "".join(f"{stamp(line.at)[:19]}+0000 {host} kernel: {line.text}\n" for line in lines).encode()
    return "".join(f"{stamp(line.at)} {line.text}\n" for line in sorted(lines, key=lambda line: line.at)).encode()


def _frame(frame: str) -> tuple[str, str]:
    place, _, name = frame.rpartition(" ")
    path, _, number = place.rpartition(":")
    return f'  File "{path}", line {number}, in {name}', "    return self.run(*args)"


def stamp(at: Seconds) -> str:
    """ISO 8601 with microseconds, UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _clock(at: Seconds) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%m-%d %H:%M:%S")
