"""Runs commands in turn and keeps, for each, how long it took and how much memory it held at its peak."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

KIB = 1 if sys.platform == "darwin" else 1024  # what getrusage counts memory in, in bytes


class Run(NamedTuple):
    """One run: wall and processor time in seconds, peak resident memory in bytes, exit code, and the file that holds its output.

    The kernel counts from the fork on, so no peak is told below that of this process: about 15 MB.
    """

    wall: float
    cpu: float
    peak: int
    code: int
    output: Path


def installed() -> str:
    """The `triage` command beside this interpreter; the program ends where there is none."""
    command = Path(sys.executable).with_name("triage")
    return str(command) if command.exists() else sys.exit(f"no triage beside {Path(sys.executable).name}: pip install -e . there first")


def run(command: Sequence[str], output: Path) -> Run:
    """Run a command without stdin, its stdout in `output`, its stderr beside it."""
    with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * KIB, process.returncode, output)


def interleaved(commands: Mapping[str, Sequence[str]], rounds: int, folder: Path) -> dict[str, list[Run]]:
    """Each command once a round, `rounds` times, after one round that only warms the caches."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            done = run(command, folder / f"{name}.out")
            if number:
                runs[name].append(done)
    return runs


def table(runs: Mapping[str, Sequence[Run]], base: str) -> str:
    """Wall time (min, median, max), processor time, peak memory, and the median wall time as a multiple of that of `base`."""
    unit = statistics.median(run.wall for run in runs[base])
    rows = [f"{'':10} {'min s':>8} {'median s':>9} {'max s':>8} {'cpu s':>8} {'peak MB':>8} {'x ' + base:>10}"]
    for name, done in runs.items():
        walls = [run.wall for run in done]
        middle, cpu = statistics.median(walls), statistics.median(run.cpu for run in done)
        peak = max(run.peak for run in done) / 1e6
        rows.append(f"{name:10} {min(walls):8.3f} {middle:9.3f} {max(walls):8.3f} {cpu:8.3f} {peak:8.0f} {middle / unit:10.2f}")
    return "\n".join(rows)
