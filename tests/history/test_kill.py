"""A recording that dies at any moment, or runs twice at once: nothing is lost, doubled or damaged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lived import at, between, incidents, remember, write
from triage.history.store import open_store

KILLS = 200
ROOT = Path(__file__).parents[2]
CRASH = at("2026-11-13T02:50:00"), at("2026-11-13T03:15:00")
HANG = at("2026-11-14T09:40:00"), at("2026-11-14T10:10:00")

# One process reads once and then forks recorders, so that a kill can hit every moment of the recording and of nothing else.
RUN = """
import json, os, random, signal, sqlite3, sys, time
from pathlib import Path
from triage.history.store import one_at_a_time, open_store
from triage.knowledge.load import load
from triage.pipeline import gather
from triage.recording import record

def child(evidence):
    pid = os.fork()
    if pid:
        return pid
    try:
        with one_at_a_time(path, 60), open_store(path) as store:
            record(store, evidence, known)
    finally:
        os._exit(0)

folder, kills, together = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
path, known, chance = folder / "history.db", load(), random.Random(7)
parts = [gather([str(file)], known) for file in sorted(folder.glob("*.log"))]
began = time.perf_counter()
os.waitpid(child(parts[0]), 0)
longest = 1.3 * (time.perf_counter() - began)
for suffix in ("", "-wal", "-shm"):
    Path(f"{path}{suffix}").unlink(missing_ok=True)
sound, dead = set(), 0
for number in range(kills):
    pid = child(chance.choice(parts))
    time.sleep(chance.uniform(0, longest))
    os.kill(pid, signal.SIGKILL)
    hit = os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    dead += hit
    longest *= 1.1 if hit else 0.8  # a busy machine is slow at one time and quick at another
    if path.exists():
        db = sqlite3.connect(path)
        sound |= {row[0] for row in db.execute("PRAGMA integrity_check")}
        db.close()
for _ in range(together):
    for pid in [child(part) for part in parts for _ in range(2)]:
        os.waitpid(pid, 0)
json.dump({"sound": sorted(sound), "dead": dead}, sys.stdout)
"""


def run(folder: Path, kills: int, together: int) -> dict[str, Any]:
    command = [sys.executable, "-c", RUN, str(folder), str(kills), str(together)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def parts(folder: Path) -> None:
    folder.mkdir()
    write(folder / "a.log", between("vllm.log", *CRASH), when=HANG[1])
    write(folder / "b.log", between("vllm.log", *HANG), when=HANG[1])
    write(folder / "c.log", between("probe.log", CRASH[0], HANG[1]), when=HANG[1])


def expected(folder: Path) -> list[tuple[Any, ...]]:
    with open_store(folder / "expected.db") as store:
        for name in ("a.log", "b.log", "c.log"):
            remember(store, str(folder / name))
        return incidents(store)


def test_a_kill_at_any_moment_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    parts(tmp_path / "logs")
    told = run(tmp_path / "logs", KILLS, 1)
    assert told["sound"] == ["ok"]
    assert KILLS / 4 < told["dead"] <= KILLS, "some kills must hit, or this shows nothing"
    with open_store(tmp_path / "logs" / "history.db") as store:
        assert incidents(store) == expected(tmp_path / "logs")
        assert len(incidents(store)) == 2


def test_runs_at_the_same_time_give_the_history_of_one_after_the_other(tmp_path: Path) -> None:
    parts(tmp_path / "logs")
    run(tmp_path / "logs", 0, 3)
    with open_store(tmp_path / "logs" / "history.db") as store:
        assert incidents(store) == expected(tmp_path / "logs")
