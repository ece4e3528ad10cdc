"""What cron asks every few minutes: a window of a log against a long history; and a year of minute probes at once.

    python -m benchmarks.cron build/bench --incidents 10000 --rounds 5

The history is recorded anew where it is not there yet, by the tool itself, from a log of that many crashes an hour apart; it takes minutes.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.make_logs import blocks, write_log
from benchmarks.measure import installed, interleaved, table

YEAR_MINUTES = 525_600
OUTAGE_EVERY, OUTAGE_LASTS = 26_000, 6  # minutes
WINDOW_BYTES = 10_000_000
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
CRASH = """\
{at}Z (APIServer pid=1) INFO vLLM API server version 0.11.2
{at}Z (APIServer pid=1) INFO:     Application startup complete.
{died}Z (EngineCore_DP0 pid=301) ERROR RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa)`
{died}Z (EngineCore_DP0 pid=301) ERROR EngineCore encountered a fatal error.
"""


def probes(path: Path) -> Path:
    """A year of one probe a minute, curl's columns; every eighteen days an outage of six minutes."""
    dice = random.Random(1)
    with path.open("w") as file:
        for minute in range(YEAR_MINUTES):
            failed = minute and minute % OUTAGE_EVERY < OUTAGE_LASTS
            answer = "000 7 0.001" if failed else f"200 0 0.{dice.randrange(100, 900)}"
            file.write(f"{BEGIN + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ} http://gpu-a:8000/v1/completions {answer}\n")
    return path


def crashes(path: Path, count: int) -> Path:
    """A log of that many boots, an hour apart, each of which ends in a crash after half an hour."""
    with path.open("w") as file:
        for hour in range(count):
            at = BEGIN + timedelta(hours=hour)
            file.write(CRASH.format(at=f"{at:%Y-%m-%dT%H:%M:%S}", died=f"{at + timedelta(minutes=30):%Y-%m-%dT%H:%M:%S}"))
    return path


def history(folder: Path, incidents: int) -> Path:
    """A history of that many incidents."""
    store = folder / f"history-{incidents}.db"
    if store.exists():
        return store
    log = crashes(folder / f"crashes-{incidents}.log", incidents)
    recorded = subprocess.run([installed(), "classify", str(log), "--record", "--store", str(store)], check=False, capture_output=True, text=True)
    if recorded.returncode:
        sys.exit(f"the history was not recorded: {recorded.stderr}")
    return store


def main() -> None:
    """Make what is missing, measure, print."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--incidents", type=int, default=10_000)
    ask.add_argument("--rounds", type=int, default=5)
    given = ask.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    triage, window, year = installed(), given.folder / "window.log", probes(given.folder / "year.log")
    write_log(window, blocks("clean", WINDOW_BYTES, 1))
    store = history(given.folder, given.incidents)
    cron = f"'{triage}' classify - --new --quiet --record --store '{store}' < '{window}'"
    commands = {
        "pass": [sys.executable, "-c", "pass"],
        "cron run": ["sh", "-c", cron],
        "grep -c": ["grep", "-cE", "Traceback|CUDA error", str(window)],
        "year": [triage, "classify", str(year)],
        "awk": ["awk", "$3 != 200 { failed++ } END { print failed }", str(year)],
    }
    with tempfile.TemporaryDirectory() as scratch:
        runs = interleaved(commands, given.rounds, Path(scratch))
    if failed := [name for name, done in runs.items() if any(run.code for run in done)]:
        sys.exit(f"ended with an error, so its time says nothing: {', '.join(failed)}")
    print(f"a window of 10 MB against {given.incidents:,} incidents; {YEAR_MINUTES:,} probes\n\n{table(runs, 'pass')}")


if __name__ == "__main__":
    main()
