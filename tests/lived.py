"""A slice of outage-weeks as an operator may meet it: through docker, journald, Kubernetes or a file, in windows, rotated, cut."""

from __future__ import annotations

import bisect
import contextlib
import gzip
import json
import os
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from triage.history.store import Store
from triage.knowledge.load import load
from triage.pipeline import gather
from triage.recording import record

LOGS = Path(__file__).parent.parent / "fixtures" / "outage-weeks" / "logs"
KNOWN = load()
COMPARED = (
    "id, class, family, phase, onset, dead, recovered, low, high, dump_state, first_probe, root, json_extract(document, '$.attempts'),"
    " json_extract(document, '$.incident.outage.symbols')"
)


@cache
def whole(name: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """All lines of a rotated log of the story, and the time of each (that of the line before for one without)."""
    numbers = sorted((int(p.name.removeprefix(f"{name}.").removesuffix(".gz")) for p in LOGS.glob(f"{name}.*")), reverse=True)
    files = [LOGS / f"{name}.{n}.gz" if (LOGS / f"{name}.{n}.gz").exists() else LOGS / f"{name}.{n}" for n in numbers]
    texts = [gzip.decompress(f.read_bytes()) if f.suffix == ".gz" else f.read_bytes() for f in (*files, LOGS / name)]
    lines = tuple(b"".join(texts).decode().split("\n")[:-1])
    times, last = [], 0.0
    for line in lines:
        with contextlib.suppress(ValueError):
            last = datetime.fromisoformat(line[:19] + "+00:00").timestamp()
        times.append(last)
    return lines, tuple(times)


def between(name: str, start: float, end: float) -> list[str]:
    """The lines of a log from `start` to `end` (seconds since the epoch)."""
    lines, times = whole(name)
    return list(lines[bisect.bisect_left(times, start) : bisect.bisect_right(times, end)])


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def write(path: Path, lines: list[str], *, when: float | None = None) -> str:
    """Write a log (gzipped where the name says so), last touched `when`; its path."""
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    if when is not None:
        os.utime(path, (when, when))
    return str(path)


def json_file(lines: list[str]) -> list[str]:
    return [json.dumps({"log": text + "\n", "stream": "stderr", "time": stamp}) for stamp, text in map(_parted, lines)]


def journal(lines: list[str]) -> list[str]:
    """As journald has it: stamped 0.7 ms later, with host, unit and invocation."""
    sender = {"_HOSTNAME": "gpu-a", "_SYSTEMD_UNIT": "vllm.service", "_SYSTEMD_INVOCATION_ID": "5f1c", "_PID": "77", "_TRANSPORT": "stdout"}
    made = []
    for stamp, text in map(_parted, lines):
        micros = int(at(stamp[:19])) * 1_000_000 + int(stamp[20:26]) + 700
        made.append(json.dumps({"__REALTIME_TIMESTAMP": str(micros), "MESSAGE": text, **sender}))
    return made


def kubernetes(lines: list[str]) -> list[str]:
    return [f"{stamp} stderr F {text}" for stamp, text in map(_parted, lines)]


def bare(lines: list[str]) -> list[str]:
    return [text for _, text in map(_parted, lines)]


def compose(lines: list[str]) -> list[str]:
    return [f"vllm-1  | {line}" for line in lines]


def _parted(line: str) -> tuple[str, str]:
    stamp, _, text = line.partition(" ")
    return stamp, text


def remember(store: Store, *paths: str, source: str = "") -> list[tuple[str, str]]:
    """Record what the paths hold; for each incident that is new or changed its class: the class before and now."""
    return [(c.before, c.now) for c in record(store, gather(list(paths), KNOWN), KNOWN, source=source)]


def incidents(store: Store) -> list[tuple[Any, ...]]:
    """All that two histories must agree in, incident by incident."""
    return store.db.execute(f"SELECT {COMPARED} FROM incidents ORDER BY sorted_at").fetchall()


def count(store: Store, table: str) -> int:
    return int(store.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
