"""Every situation that speed matters in, beside what an operator would run instead, in the same rounds: one command, one table.

    python -m benchmarks.speed build/bench --size 500 --rounds 5
    python -m benchmarks.speed build/bench --only crash-loop --only gz

ripgrep runs exactly our patterns; it tells which lines match some of them. `grep` looks for eight words, as one would by hand.
"""

from __future__ import annotations

import argparse
import gzip
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import zstandard

from benchmarks.cron import crashes
from benchmarks.make_logs import blocks, write_log
from benchmarks.measure import Run, installed, interleaved
from benchmarks.scan import RG_LIMITS, our_patterns

WORDS = "CUDA error|NCCL|Traceback|EngineDeadError|out of memory|Watchdog|Killed|fatal error"
SUCCESS = {0, 1}  # rg and grep say 1 where no line matches
FILES, FILE_BYTES = 200, 2_500_000
TINY, TINY_BYTES = 10_000, 6_500
BAD_DAY = 60_000_000  # of the kinds of log that are hard on it


class Situation(NamedTuple):
    """What is read, and the commands by name; the first is ours, the second the one it is held against."""

    name: str
    size: int
    commands: Mapping[str, Sequence[str]]


class Bench:
    """Makes what is read, once, in a folder; `big` is how many bytes the big log has."""

    def __init__(self, folder: Path, big: int, patterns: Path) -> None:
        self.folder = folder
        self.big = big
        self.patterns = patterns
        self.triage = installed()
        self.rg = shutil.which("rg")

    def log(self, kind: str, size: int) -> Path:
        """A log of one kind, made where it is not there yet."""
        path = self.folder / f"{kind}-{size // 1_000_000}.log"
        if not path.exists():
            write_log(path, blocks(kind, size, 1))
        return path

    def ours(self, *more: str | Path) -> list[str]:
        return [self.triage, "classify", *map(str, more)]

    def theirs(self, *more: str | Path, count: bool = True) -> list[str]:
        return [str(self.rg), *RG_LIMITS, "-c" if count else "-n", "-f", str(self.patterns), *map(str, more)]

    def held_against_rg(self, name: str, path: Path, *, count: bool = True) -> Situation:
        return Situation(name, path.stat().st_size, {"triage": self.ours(path), "rg": self.theirs(path, count=count)})

    def scan_alone(self, path: Path) -> dict[str, list[str]]:
        """What any program in Python would take with our scanner, whatever it does with the hits."""
        return {"scan alone": [sys.executable, "-m", "benchmarks.floor", str(path)]}

    def bad_day(self, kind: str, size: int) -> Situation:
        """A log in which every second line is a hit; rg prints the lines."""
        path = self.log(kind, size)
        return Situation(kind, path.stat().st_size, {"triage": self.ours(path), "rg": self.theirs(path, count=False), **self.scan_alone(path)})


def clean(bench: Bench) -> Situation:
    """A mostly clean log; also on one processor, with grep by hand, and with cat, which is the least that reading costs."""
    path = bench.log("clean", bench.big)
    commands = {"triage": bench.ours(path), "rg": bench.theirs(path)}
    if shutil.which("taskset"):
        commands["triage, 1 cpu"] = ["taskset", "-c", "0", *bench.ours(path)]
    commands["grep -cE"] = ["env", "LC_ALL=C", "grep", "-cE", WORDS, str(path)]
    commands["cat"] = ["cat", str(path)]
    return Situation("clean", path.stat().st_size, commands)


def crash_loop(bench: Bench) -> Situation:
    """A crash every four hundred lines."""
    return bench.bad_day("crash-loop", BAD_DAY)


def flood(bench: Bench) -> Situation:
    """A fault on every second line."""
    return bench.bad_day("flood", BAD_DAY // 2)


def incidents(bench: Bench) -> Situation:
    """Two thousand short lives that end in a crash."""
    path = bench.folder / "crashes-2000.log"
    if not path.exists():
        crashes(path, 2000)
    return bench.held_against_rg("2,000 crashes", path, count=False)


def nccl_info(bench: Bench) -> Situation:
    """Every second line an NCCL INFO line."""
    return bench.held_against_rg("nccl-info", bench.log("nccl-info", BAD_DAY))


def ansi(bench: Bench) -> Situation:
    """Colours between the words of every line."""
    return bench.held_against_rg("ansi", bench.log("ansi", BAD_DAY))


def one_line(bench: Bench) -> Situation:
    """One line of 300 MB."""
    path = bench.folder / "one-line-300.log"
    if not path.exists():
        with path.open("wb") as file:
            file.writelines(b"x=1 " * 250_000 for _ in range(300))  # a megabyte at a time: the peaks that are told begin with ours
            file.write(b"\n")
    return bench.held_against_rg("one line", path)


def boots(bench: Bench) -> Situation:
    """Five thousand boots, and nothing else."""
    path = bench.folder / "boots-5000.log"
    if not path.exists():
        banner = "(APIServer pid=1) INFO 11-{:02} {:02}:{:02}:00 [api_server.py:1977] vLLM API server version 0.11.2\n"
        path.write_text("".join(banner.format(1 + minute // 1440, minute // 60 % 24, minute % 60) for minute in range(0, 25_000, 5)))
    return bench.held_against_rg("5,000 boots", path)


def many(bench: Bench) -> Situation:
    """Two hundred logs, read by one process and by as many as there are processors; and what the second processor gives ripgrep."""
    folder = bench.folder / "many"
    if not folder.exists():
        _cut(bench.log("clean", FILES * FILE_BYTES), folder, FILES, FILE_BYTES)
    alone = {"triage -j 1": bench.ours(folder, "-j", "1"), "rg": bench.theirs(folder), "rg -j 1": bench.theirs("-j", "1", folder)}
    return Situation("200 files", FILES * FILE_BYTES, {"triage": bench.ours(folder), **alone})


def tiny(bench: Bench) -> Situation:
    """Ten thousand small logs."""
    folder = bench.folder / "tiny"
    if not folder.exists():
        _cut(bench.log("clean", TINY * TINY_BYTES + 2_000_000), folder, TINY, TINY_BYTES)
    commands = {"triage": bench.ours(folder), "rg": bench.theirs(folder), **bench.scan_alone(folder)}
    return Situation("10,000 files", TINY * TINY_BYTES, commands)


def _cut(log: Path, folder: Path, count: int, size: int) -> None:
    """The log in so many parts of about that many bytes of whole lines."""
    folder.mkdir()
    with log.open("rb") as whole:
        for number in range(count):
            (folder / f"engine-{number:05}.log").write_bytes(whole.read(size) + whole.readline())


def packed(bench: Bench, suffix: str, unpack: str) -> Situation:
    """A compressed log against the pipe that one would write."""
    plain = bench.log("clean", 100_000_000)
    path = plain.with_name(f"{plain.name}.{suffix}")
    if not path.exists():
        with plain.open("rb") as log, (gzip.open(path, "wb", 6) if suffix == "gz" else zstandard.open(path, "wb")) as file:
            shutil.copyfileobj(log, file)
    piped = f"{unpack} '{path}' | {' '.join(bench.theirs())}"
    return Situation(suffix, plain.stat().st_size, {"triage": bench.ours(path), f"{unpack} | rg": ["sh", "-c", piped]})


def gz(bench: Bench) -> Situation:
    """A log that gzip has compressed."""
    return packed(bench, "gz", "zcat")


def zst(bench: Bench) -> Situation:
    """A log that zstd has compressed."""
    return packed(bench, "zst", "zstdcat")


def start(bench: Bench) -> Situation:
    """A small log, and how long an interpreter takes that does nothing."""
    path = bench.folder / "small.log"
    with bench.log("clean", BAD_DAY).open("rb") as whole:
        path.write_bytes(b"".join(whole.readline() for _ in range(300)))
    libraries = "import click, regex, msgspec, hyperscan, tabulate"
    commands = {"classify": bench.ours(path), "pass": [sys.executable, "-c", "pass"], "--help": [bench.triage, "--help"]}
    return Situation("start-up", path.stat().st_size, {**commands, "libraries": [sys.executable, "-c", libraries]})


SITUATIONS: dict[str, Callable[[Bench], Situation]] = {
    "clean": clean, "crash-loop": crash_loop, "flood": flood, "incidents": incidents, "nccl-info": nccl_info, "ansi": ansi, "one-line": one_line,
    "boots": boots,
    "many": many, "tiny": tiny, "gz": gz, "zst": zst, "start": start,
}  # fmt: skip


def rows(situation: Situation, runs: Mapping[str, Sequence[Run]]) -> list[str]:
    """One line a command; the factor is its median against the second command's, which is what ours is held against."""
    unit = statistics.median(run.wall for run in runs[list(situation.commands)[1]])
    lines = []
    for name, done in runs.items():
        wall, cpu = statistics.median(run.wall for run in done), statistics.median(run.cpu for run in done)
        peak = max(run.peak for run in done) / 1e6
        failed = "" if all(run.code in SUCCESS for run in done) else f"  ended with {sorted({run.code for run in done})}"
        lines.append(f"{situation.name:13} {name:14} {situation.size / 1e6:7.0f} {wall:9.3f} {cpu:8.3f} {peak:8.0f} {wall / unit:7.2f}{failed}")
    return lines


def main() -> None:
    """Make what is missing, measure, print."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--size", type=float, default=500, help="MB of the big log")
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--only", action="append", choices=list(SITUATIONS), help="one situation; may be given several times")
    given = ask.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if shutil.which("rg") is None:
        sys.exit("no rg on this machine to be held against: apt-get install ripgrep")
    with tempfile.TemporaryDirectory() as scratch:
        patterns = Path(scratch) / "patterns"
        patterns.write_text(our_patterns())
        bench = Bench(given.folder, int(given.size * 1e6), patterns)
        print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}, "
              f"{len(patterns.read_text().splitlines())} patterns, medians of {given.rounds} rounds\n")  # fmt: skip
        print(f"{'':13} {'':14} {'MB':>7} {'wall s':>9} {'cpu s':>8} {'peak MB':>8} {'factor':>7}")
        for name in given.only or SITUATIONS:
            situation = SITUATIONS[name](bench)
            print("\n".join(rows(situation, interleaved(situation.commands, given.rounds, Path(scratch)))), flush=True)


if __name__ == "__main__":
    main()
