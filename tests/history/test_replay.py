"""Seventeen days as cron would have met them: windows that overlap, rotations, a truncated copy, a run that was killed, and few words."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.lived import LOGS, at, between, count, incidents, remember, whole, write
from triage.cli.main import main
from triage.history.store import open_store

MINUTES = 60.0
LOGS_READ = ("vllm.log", "probe.log", "kernel.log")
ROTATED_AT = (0.35, 0.7)  # of the story
TRUNCATED_AT = 0.55
KILLED_AT = 0.45


class Disk:
    """The logs as they lie on disk at some time of the story: rotated twice, the probe log once copied and truncated."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        _, times = whole("vllm.log")
        self.start, self.end = times[0], max(whole(name)[1][-1] for name in LOGS_READ) + 10 * MINUTES
        self.rotations = [self.start + (self.end - self.start) * part for part in ROTATED_AT]
        self.truncated = self.start + (self.end - self.start) * TRUNCATED_AT

    def window(self, since: float, now: float) -> list[str]:
        """What a run at `now` is given that looks back to `since`: the tail of the live files and, where it reaches back, of their rotations."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for name in LOGS_READ:
            cuts = {"vllm.log": self.rotations, "probe.log": [self.truncated]}.get(name, [])
            edges = [since, *(cut for cut in cuts if since < cut < now), now]
            for age, (low, high) in enumerate(pairwise(edges)):
                back = len(edges) - 2 - age
                lines = between(name, low, high if not back else high - 0.001)
                if lines:
                    write(self.folder / (name if not back else f"{name}.1" if back == 1 else f"{name}.{back}.gz"), lines, when=now)
        for day in sorted((LOGS / "flight-recorder").iterdir()):
            if self._dumped(day) <= now:
                shutil.copytree(day, self.folder / day.name)
        return [str(self.folder)]

    def _dumped(self, day: Path) -> float:
        lines = between("vllm.log", *_day(day.name))
        line = next(line for line in lines if "Watchdog caught collective operation timeout" in line)
        times = whole("vllm.log")
        return times[1][times[0].index(line)] + 5


def _day(name: str) -> tuple[float, float]:
    start = at(f"{name}T00:00:00")
    return start, start + 86400


def moments(disk: Disk, chance: random.Random) -> list[float]:
    """Marks of a cron job that runs every five minutes: some all over the story, and each of an hour around some of the faults."""
    every = [disk.start + 5 * MINUTES * i for i in range(1, int((disk.end - disk.start) / (5 * MINUTES)) + 1)]
    some = [*chance.sample(every, 30), every[-1]]
    deaths = [time for line, time in zip(*whole("vllm.log"), strict=True) if "EngineCore encountered a fatal error" in line]
    near = [m for death in chance.sample(deaths, 3) for m in every if -25 * MINUTES < m - death < 25 * MINUTES]
    return sorted({*some, *near})


@pytest.mark.parametrize("seed", [1, 2])
def test_cron_gives_the_history_of_one_whole_read_and_speaks_only_with_news(seed: int, tmp_path: Path) -> None:
    chance, disk = random.Random(seed), Disk(tmp_path / "logs")
    runs = moments(disk, chance)
    killed = min(runs, key=lambda m: abs(m - disk.start - (disk.end - disk.start) * KILLED_AT))
    told, last, store = [], disk.start, tmp_path / "cron.db"
    for now in runs:
        paths = disk.window(min(last - 10 * MINUTES, now - 15 * MINUTES), now)
        if now == killed:
            told += kill_one(paths, store, chance)
            continue  # and `last` stays: the next run reaches back as far as this one did
        before = rows_of(store)
        result = CliRunner().invoke(main, ["classify", *paths, "--new", "--quiet", "--store", str(store)])
        assert result.exit_code == 0, result.output
        assert bool(result.stdout) == (rows_of(store) != before), "speaks when an incident is new or has another class, and only then"
        assert len(result.stdout.splitlines()) % 3 == 0
        told += titles(result.stdout)
        last = now
    with open_store(store) as cron, open_store(tmp_path / "whole.db") as once:
        remember(once, str(LOGS))
        assert incidents(cron) == incidents(once)
        assert len(incidents(once)) == 17
        assert count(cron, "boots") == count(once, "boots") == 18
        assert count(cron, "outages") == count(once, "outages") == 17
    assert 17 <= len(told) <= 17 + 6


def rows_of(store: Path) -> list[tuple[str, str]]:
    """Which incidents there are, and of what class."""
    if not store.exists():
        return []
    with open_store(store, write=False) as opened:
        return opened.db.execute("SELECT number, class FROM incidents WHERE fault ORDER BY number").fetchall()


def titles(printed: str) -> list[str]:
    """The first lines of the incidents told of."""
    return [line for line in printed.splitlines() if line.startswith("2026-")]


def kill_one(paths: list[str], store: Path, chance: random.Random) -> list[str]:
    """Start a run and kill it somewhere on its way; what it told until then."""
    command = [sys.executable, "-m", "triage", "classify", *paths, "--new", "--quiet", "--store", str(store)]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(chance.uniform(0.05, 0.6))
    os.kill(run.pid, signal.SIGKILL)
    return titles(run.communicate()[0])
