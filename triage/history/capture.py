"""Keeps with a boot what the engine really booted with, beyond what its log says: its environment and how its container was started."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from triage.history.secrets import is_secret
from triage.model import Seconds

PREFIXES = (
    "VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TLLM_", "NCCL_", "TORCH", "PYTORCH_", "CUDA_", "CUBLAS", "NVIDIA_", "TRITON_", "FLASHINFER_",
    "OMP_", "RAY_", "GLOO_", "HF_HUB_OFFLINE", "LD_PRELOAD",
)  # fmt: skip
LONGEST = 2000
NEAR: Seconds = 3600.0


def environ(text: bytes) -> dict[str, str]:
    """What /proc/PID/environ (or a list of NAME=value lines) says of the engine and its libraries; nothing that may be a secret."""
    lines = text.replace(b"\0", b"\n").decode("utf-8", "replace").splitlines()
    return _kept(line.partition("=")[::2] for line in lines if "=" in line)


def inspected(document: bytes) -> dict[str, str]:
    """What `docker inspect` says: environment, arguments, image, state. Raises ValueError where it is no such document."""
    told = msgspec.json.decode(document)
    one = told[0] if isinstance(told, list) and told else told
    if not isinstance(one, dict) or "State" not in one:
        raise ValueError("no output of docker inspect")
    config, state = one.get("Config") or {}, one.get("State") or {}
    kept = _kept(str(entry).partition("=")[::2] for entry in config.get("Env") or ())
    command = " ".join(_masked([*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())]))
    facts = {"image": config.get("Image"), "image id": one.get("Image"), "command": command, "restarts": one.get("RestartCount")}
    facts |= {name: state.get(name) for name in ("StartedAt", "FinishedAt", "ExitCode", "OOMKilled")}
    return kept | {name: str(value)[:LONGEST] for name, value in facts.items() if value not in (None, "")}


def capture(db: sqlite3.Connection, source: int | None, facts: Mapping[str, str], started: Seconds | None = None) -> str:
    """Add facts to the latest boot (of a source; that began near `started`), and return its id; nothing where there is none."""
    row = db.execute(
        "SELECT number, id, captured FROM boots WHERE (? IS NULL OR source = ?) AND (? IS NULL OR abs(coalesce(start, sorted_at) - ?) <= ?)"
        " ORDER BY sorted_at DESC LIMIT 1",
        (source, source, started, started, NEAR),
    ).fetchone()
    if row is None:
        return ""
    merged = {**msgspec.json.decode(row[2]), **facts}
    db.execute("UPDATE boots SET captured = ? WHERE number = ?", (msgspec.json.encode(merged).decode(), row[0]))
    return str(row[1])


def _kept(pairs: Iterable[Any]) -> dict[str, str]:
    return {name: value[:LONGEST] for name, value in pairs if name.startswith(PREFIXES) and not is_secret(name)}


def _masked(words: Iterable[object]) -> list[str]:
    """The words of a command line, what follows an option with a secret's name left out."""
    masked: list[str] = []
    hide = False
    for word in map(str, words):
        name, equals, _ = word.partition("=")
        secret = is_secret(name) and word.startswith("-")
        masked.append("***" if hide else f"{name}=***" if secret and equals else word)
        hide = secret and not equals
    return masked
