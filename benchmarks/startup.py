"""How long `triage --help` takes as a multiple of an interpreter that does nothing, in the same rounds.

    python -m benchmarks.startup --rounds 21
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import installed, interleaved, table


def main() -> None:
    """Measure, and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--rounds", type=int, default=21)
    given = ask.parse_args()
    triage = installed()
    commands = {"pass": [sys.executable, "-c", "pass"], "--help": [triage, "--help"], "--version": [triage, "--version"]}
    with tempfile.TemporaryDirectory() as folder:
        runs = interleaved(commands, given.rounds, Path(folder))
    if any(run.code for done in runs.values() for run in done):
        sys.exit("a command failed, so its time says nothing: run `triage --help` by hand")
    print(table(runs, "pass"))


if __name__ == "__main__":
    main()
