"""A tear-down that dies at any moment loses no evidence, and the next one finishes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.caches.night import GEMM_BOOTS, lay
from tests.caches.trees import hashes
from triage.caches.archive import verified
from triage.caches.manifest import ArchiveError
from triage.caches.removal import aside_of

ROOT = Path(__file__).parents[2]
CHANGES = ("open", "os.rename", "os.remove", "os.link", "os.rmdir", "os.truncate", "os.mkdir")

# One process loads everything once and then forks the tear-downs. What it kills: the n-th change to the disk (an audit hook tells of each
# before it is made), or whatever runs after a random time. It tells the parent after each kill, which looks at what is left.
RUN = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
from triage.cli.main import main
import triage.cli.caches, triage.parsers.sorting, triage.sources.find, triage.report.fitting, triage.timeline.boots
import triage.caches.archive, triage.caches.discover, triage.caches.holds, triage.caches.listing, triage.caches.origins, triage.caches.teardown
import zstandard, tabulate, hyperscan
from triage.knowledge.load import load

original, place, changes, rounds = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3]), int(sys.argv[4])
load()
chance = random.Random(7)

def run(at=None, after=None):
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        seen = 0
        def hook(event, arguments):
            nonlocal seen
            if event in changes and (event != "open" or str(place) in str(arguments)):
                seen += 1
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)
        if at is not None:
            sys.addaudithook(hook)
        code = 9
        try:
            main(["caches", str(place / "night"), "--archive", str(place / "kept.tar.zst"), "--remove", "--yes"], standalone_mode=False)
            code = 0
        except SystemExit as end:
            code = end.code
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    return os.WIFSIGNALED(status), os.WEXITSTATUS(status)

def fresh():
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    shutil.copytree(original, place / "night", copy_function=shutil.copy2)

def tell(**what):
    print(json.dumps(what), flush=True)
    sys.stdin.readline()

fresh()
began = time.perf_counter()
assert run() == (False, 0), run()
longest = time.perf_counter() - began
if rounds:
    for number in range(rounds):
        fresh()
        dead, code = run(after=chance.uniform(0, 1.1 * longest))
        tell(dead=dead, code=code)
        tell(finished=run())
else:
    at, dead = 1, True
    while dead:
        fresh()
        dead, code = run(at=at)
        tell(dead=dead, code=code)
        if dead and at % 3 == 0:
            run(at=at // 2 + 1)  # and killed again while it finishes
        tell(finished=run())
        at += 1
print(json.dumps({"end": True}), flush=True)
"""


def surviving(place: Path, before: dict[str, dict[str, str]]) -> dict[str, int]:
    """Checks that each file is whole on disk or in an archive that can be trusted; how many stand, wait and are gone."""
    archive = place / "kept.tar.zst"
    listed: dict[str, dict[str, str]] = {}
    if archive.exists():
        listed = {kept.path: {entry.path: entry.sha256 for entry in kept.files} for kept in verified(str(archive)).caches}
    states = {"stand": 0, "wait": 0, "gone": 0}
    for path, known in before.items():
        here, aside = hashes(path), hashes(aside_of(path))
        if listed.get(path) == known:
            assert here.items() <= known.items()
            assert aside.items() <= known.items()
            states["stand" if here == known else "wait" if aside else "gone"] += 1
        else:
            assert here == known, f"{path} is not whole, and no archive has it"
            states["stand"] += 1
        assert here in ({}, known), "an engine could meet half a cache"
    return states


def torn_down(tmp_path: Path, *, boots: int, rounds: int) -> list[dict[str, int]]:
    """Runs the killer on the caches of the night's first boots; what was left after each kill. Without `rounds` it kills at each change."""
    original, place = lay(tmp_path / "original", scale=10_000, boots=boots), tmp_path / "place"
    command = [sys.executable, "-c", RUN, str(original), str(place), json.dumps(CHANGES), str(rounds)]
    for log in original.glob("b*/vllm.log"):
        log.unlink()  # what boots said is of no matter here, and takes most of a run's time
    caches = {str(place / "night" / path.relative_to(original)): hashes(str(path)) for path in folders(original)}
    assert len(caches) == 3 * min(boots, GEMM_BOOTS) + 2 * max(0, boots - GEMM_BOOTS)
    states = []
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as killer:
        assert killer.stdin is not None
        assert killer.stdout is not None
        for line in killer.stdout:
            told = json.loads(line)
            if "dead" in told:
                if told["dead"]:
                    states.append(surviving(place, caches))
            elif "finished" in told:
                assert told["finished"] in ([False, 0], [False, 2]), told  # 2: nothing is left to find
                assert surviving(place, caches) == {"stand": 0, "wait": 0, "gone": len(caches)}
                assert not [name for _, inside, _ in os.walk(place) for name in inside if "triage" in name]
            if "end" in told:
                break
            killer.stdin.write("\n")
            killer.stdin.flush()
    return states


def folders(night: Path) -> list[Path]:
    return [*night.glob("b*/cache/vllm/torch_compile_cache/*"), *night.glob("b*/cache/flashinfer/*/90a"), *night.glob("b*/deep_gemm/cache")]


def test_killed_at_each_change_to_the_disk(tmp_path: Path) -> None:
    states = torn_down(tmp_path, boots=1, rounds=0)
    assert len(states) > 30
    assert any(state["stand"] == 3 for state in states)
    assert any(0 < state["gone"] < 3 for state in states)
    assert any(state["wait"] for state in states)


def test_killed_at_any_time(tmp_path: Path) -> None:
    states = torn_down(tmp_path, boots=5, rounds=25)
    assert len(states) > 8


def test_an_unfinished_archive_is_none(tmp_path: Path) -> None:
    (tmp_path / "half.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(ArchiveError):
        verified(str(tmp_path / "half.tar.zst"))
