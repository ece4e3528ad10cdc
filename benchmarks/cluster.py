"""`triage classify` on many logs, in one process and by a Ray cluster of this machine, in the same rounds; the answers must be the same bytes.

    python -m benchmarks.cluster build/bench/many --files 200 --size 2.5 --rounds 3

A cluster of one's own starts for each run, which takes seconds: the row `ray start` is a run on nothing but one small log.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import installed, interleaved, table


def make(folder: Path, files: int, size: float) -> None:
    """Write one log and cut it, at the ends of lines, into so many of `size` MB; those that are there already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    if len(list(folder.glob("*.log"))) == files:
        return
    whole = folder / "whole"
    subprocess.run([sys.executable, "-m", "benchmarks.make_logs", str(whole), "--size", str(files * size)], check=True, stdout=subprocess.DEVNULL)
    with whole.open("rb") as source:
        for number in range(files):
            (folder / f"host{number:03}.log").write_bytes(source.read(int(size * 1e6)) + source.readline())
    whole.unlink()


def main() -> None:
    """Make the logs, measure, compare the answers, and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--files", type=int, default=200)
    ask.add_argument("--size", type=float, default=2.5, help="MB of each")
    ask.add_argument("--rounds", type=int, default=3)
    given = ask.parse_args()
    make(given.folder, given.files, given.size)
    classify = [installed(), "classify", "--format", "json"]
    first = str(min(given.folder.glob("*.log")))
    commands = {"here": [*classify, str(given.folder)], "ray": [*classify, str(given.folder), "--backend", "ray"],
                "ray start": [*classify, first, "--backend", "ray"]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        runs = interleaved(commands, given.rounds, Path(folder))
        same = runs["here"][-1].output.read_bytes() == runs["ray"][-1].output.read_bytes()
        total = sum(log.stat().st_size for log in given.folder.glob("*.log")) / 1e6
        print(f"{given.files} logs, {total:.0f} MB, {given.rounds} rounds, {os.cpu_count()} processors")
        print(f"the answers are {'the same' if same else 'NOT THE SAME'}\n")
        print(table(runs, "here"))


if __name__ == "__main__":
    main()
