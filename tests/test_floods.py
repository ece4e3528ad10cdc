"""A flood is read in windows as it is read whole: nothing is lost in it or behind it, and no log becomes two."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.lived import at, count, incidents, remember, write
from tests.lives import Life
from triage.history.store import open_store
from triage.history.thinning import MOST_OF_A_RULE

BLOCKED = "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging."
REFUSED = "ValueError: Expected input batch_size (4) to match target batch_size (8)."
STUCK = "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives."
DIED = "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle )`"
STATS = (
    "Engine 000: Avg prompt throughput: 81.0 tokens/s, Avg generation throughput: 40.2 tokens/s, Running: 3 reqs, Waiting: 0 reqs,"
    " GPU KV cache usage: 2.3%, Prefix cache hit rate: 0.0%"
)
MINUTE = 60.0


def flooded(text: str, minutes: int, every: int, last: str = DIED) -> list[str]:
    """A life that says something every so many seconds and then dies of `last`, and the beginning of the next one."""
    life = Life(1.0).serves(7)
    for number in range(minutes * 60 // every):
        life.worker(number % 8, "ERROR", "multiproc_executor.py:815", f"{text} req-{number}", later=every)
        if not number % 20:
            life.say("APIServer", 1, "INFO", "loggers.py:123", STATS, later=0)
    life.raises(3, last).dies()
    return [*life.lines, *Life(life.clock / 3600, pid=900).serves(30).lines]


def times(lines: list[str]) -> list[float]:
    found, last = [], at("2026-11-20T01:00:00")
    for line in lines:
        stamp = re.search(r"11-20 \d\d:\d\d:\d\d", line)
        last = at(f"2026-{stamp[0]}") if stamp else last
        found.append(last)
    return found


def docker(lines: list[str]) -> list[str]:
    stamps = [f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}" for second in times(lines)]
    return [f"{stamp}.{number % 1000:03}000000Z {line}" for number, (stamp, line) in enumerate(zip(stamps, lines, strict=True))]


@pytest.mark.parametrize(("text", "minutes", "every"), [(BLOCKED, 30, 1), (REFUSED, 50, 4), (STUCK, 30, 1)])
def test_a_flood_read_in_windows_gives_what_one_whole_read_gives(text: str, minutes: int, every: int, tmp_path: Path) -> None:
    lines = docker(flooded(text, minutes, every))
    when = times(lines)
    with open_store(tmp_path / "cron.db") as cron, open_store(tmp_path / "whole.db") as whole:
        now = when[0]
        while now < when[-1]:
            now += 5 * MINUTE
            window = [line for line, t in zip(lines, when, strict=True) if now - 15 * MINUTE <= t <= now]
            remember(cron, write(tmp_path / "window.log", window, when=now), source="vllm")
        remember(whole, write(tmp_path / "vllm.log", lines, when=when[-1]), source="vllm")
        assert incidents(cron) == incidents(whole)
        assert len(incidents(cron)) == 1
        assert (count(cron, "sources"), count(cron, "boots")) == (1, 2)


def test_a_life_that_said_the_same_thousands_of_times_before_it_died_of_it_is_named(tmp_path: Path) -> None:
    lines = docker(flooded(REFUSED, 400, 10, last=REFUSED))
    with open_store(tmp_path / "history.db") as store:
        remember(store, write(tmp_path / "vllm.log", lines, when=times(lines)[-1]), source="vllm")
        (row,) = incidents(store)
        assert row[1] == "engine-exception"
        assert 0 < max(n for (n,) in store.db.execute("SELECT count(*) FROM events GROUP BY rule")) <= 2 * MOST_OF_A_RULE
