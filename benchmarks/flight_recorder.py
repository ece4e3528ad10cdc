"""`triage dump` on made-up dumps of many ranks, and torch's own analyzer on the same folder where a Python with torch is named.

    python -m benchmarks.flight_recorder build/bench/dumps-512 --ranks 512 --entries 2000
    python -m benchmarks.flight_recorder build/bench/dumps-8 --ranks 8 --entries 20000 --torch ~/torch-venv/bin/python

One rank in the middle never enters the last operations, so both have something to find. Every entry has a stack of twelve frames.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import installed, interleaved, table
from tests.made_dumps import T0, config, document, entry, torch_pickle

GROUPS = {"0": "default_pg", "1": "tensor", "2": "expert"}
CALL_SITES = 40
DEPTH = 12
BEHIND = 3  # operations of each group that the culprit lacks
KINDS = 8  # ranks of one kind have the same bytes: making a dump takes longer than reading it


def stack(site: int) -> list[dict[str, Any]]:
    """The frames of one call site, innermost first."""
    return [{"name": f"layer_{depth}", "filename": f"/srv/app/model/part_{depth}.py", "line": 10 * site + depth} for depth in range(DEPTH)]


def dump_bytes(ranks: int, entries: int, kind: int, *, behind: int = 0) -> bytes:
    """A rank's dump as torch writes it: operations of three groups in turn, the last of each unfinished; `behind` of them not there."""
    stacks = [stack(site) for site in range(CALL_SITES)]
    last = entries // len(GROUPS)
    made = []
    for index in range(last * len(GROUPS)):
        number, sequence = index % len(GROUPS), index // len(GROUPS) + 1
        if sequence > last - behind:
            continue
        name = str(number)
        state = "scheduled" if sequence > last - BEHIND else "completed"
        created = T0 + index * 1_000_000 + kind * 1000
        place = {"record_id": index, "pg_id": number, "process_group": (name, GROUPS[name]), "frames": stacks[index % CALL_SITES]}
        made.append(entry(sequence, state=state, created=created, sizes=[[1024, 8 + index % 7]], **place))
    groups: dict[str, Any] = {}
    for name, desc in GROUPS.items():
        groups |= config(name, range(ranks), desc)
    return torch_pickle(document(made, groups))


def lay(folder: Path, ranks: int, entries: int) -> None:
    """Write the dumps of all ranks, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    kinds = [dump_bytes(ranks, entries, kind) for kind in range(KINDS)]
    for rank in range(ranks):
        data = dump_bytes(ranks, entries, rank, behind=BEHIND) if rank == ranks // 2 else kinds[rank % KINDS]
        (folder / f"comm_lib_trace_rank_{rank}").write_bytes(data)


def main() -> None:
    """Make the dumps, measure, and print the table."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path, help="where the dumps go; what is there is deleted")
    ask.add_argument("--ranks", type=int, default=512)
    ask.add_argument("--entries", type=int, default=2000)
    ask.add_argument("--rounds", type=int, default=1)
    ask.add_argument("--torch", help="a Python with torch >= 2.9, to run its analyzer beside ours")
    given = ask.parse_args()
    lay(given.folder, given.ranks, given.entries)
    commands = {"triage": [installed(), "dump", str(given.folder)]}
    if given.torch:
        commands["torch"] = [given.torch, "-m", "torch.distributed.flight_recorder.fr_trace", str(given.folder), "-p", "comm_lib_trace_rank_"]
    else:
        print("no --torch PYTHON, so no comparison", file=sys.stderr)
    size = sum(file.stat().st_size for file in given.folder.iterdir())
    with tempfile.TemporaryDirectory() as folder:
        runs = interleaved(commands, given.rounds, Path(folder))
        print(f"{given.ranks} ranks x {given.entries} entries, {size / 1e6:.0f} MB, {given.rounds} rounds\n")
        print(table(runs, "triage"))
        for name, done in runs.items():
            said = done[0].output.read_text(errors="replace") or done[0].output.with_suffix(".err").read_text(errors="replace")
            print(f"\n{name} (exit {done[0].code}): " + " ".join(said.split())[:300])


if __name__ == "__main__":
    main()
