"""`triage classify` against ripgrep with exactly our patterns, and against reading alone, on one log and in the same rounds.

    python -m benchmarks.scan build/bench/clean.log --rounds 5

ripgrep tells which lines match some pattern; triage also tells which rule, when, in which boot, and what it means.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Run, installed, interleaved, table

RG_LIMITS = ("--no-unicode", "--regex-size-limit=1G", "--dfa-size-limit=1G")  # bytes, as our scanner sees them
SUCCESS = {"triage": {0}, "rg": {0, 1}, "cat": {0}}  # rg says 1 where no line matches


def our_patterns() -> str:
    """The patterns that our scanner runs, one a line."""
    done = subprocess.run([sys.executable, "-m", "triage.knowledge.patterns"], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line]
    return "\n".join(lines) + "\n"


def commands(log: Path, patterns: Path) -> dict[str, list[str]]:
    """What is run: triage as it is installed beside this interpreter, ripgrep where there is one, and cat."""
    found = {"triage": [installed(), "classify", str(log)]}
    if rg := shutil.which("rg"):
        found["rg"] = [rg, *RG_LIMITS, "-c", "-f", str(patterns), str(log)]
    else:
        print("no rg on this machine, so no comparison: apt-get install ripgrep", file=sys.stderr)
    found["cat"] = ["cat", str(log)]
    return found


def refuse_failures(runs: dict[str, list[Run]]) -> None:
    """Stop where a command failed: its time would say nothing."""
    for name, done in runs.items():
        for run in done:
            if run.code not in SUCCESS[name]:
                sys.exit(f"{name} ended with {run.code}: {run.output.with_suffix('.err').read_text(errors='replace')[-500:]}")


def main() -> None:
    """Measure, and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("log", type=Path)
    ask.add_argument("--rounds", type=int, default=5)
    given = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        patterns = Path(folder) / "patterns"
        patterns.write_text(our_patterns())
        runs = interleaved(commands(given.log, patterns), given.rounds, Path(folder))
        refuse_failures(runs)
        print(f"{given.log}: {given.log.stat().st_size / 1e6:.0f} MB, {len(patterns.read_text().splitlines())} patterns, {given.rounds} rounds\n")
        print(table(runs, "rg" if "rg" in runs else "cat"))


if __name__ == "__main__":
    main()
