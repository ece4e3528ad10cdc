"""What the ranks of a hang recorded, written anew for a bundle: one JSON file a rank with every text redacted."""

from __future__ import annotations

from functools import cache

from triage.model import Dump, Verdict
from triage.parsers.flight_recorder import RankDumps, read_folder
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.rewriting import as_json
from triage.report.bundle.told import Teller
from triage.verdict.dumps import summarise

LARGEST = 48 << 20  # bytes of all dumps of one incident


def rewritten(verdict: Verdict, tell: Teller, notes: list[str], rank_from: str | None) -> dict[str, bytes]:
    """`dump/rank_N.json` for each rank whose dump can still be read; a word in `notes` for what cannot, or is too much."""
    of = verdict.incident
    dump = of.dump or of.idle_dump
    if dump is None:
        return {}
    same = next((group for group in _groups(dump, rank_from) if _is_of(dump, group)), None)
    if same is None:
        notes.append(f"{of.id}: the dumps are not here: they could not be read once more, incident.json has what they said")
        return {}
    shown = cache(tell.path)
    made: dict[str, bytes] = {}
    for recording in same.recordings:
        try:
            content = as_json(recording.file, shown)
        except (DumpError, OSError) as error:
            notes.append(f"{of.id}: the dump of rank {recording.rank} is not here: {tell.path(str(error))}")
            continue
        if sum(map(len, made.values())) + len(content) > LARGEST:
            notes.append(f"{of.id}: the dump of rank {recording.rank} is not here: all of them are more than {LARGEST >> 20} MiB")
            continue
        made[f"dump/rank_{recording.rank}.json"] = content
    return made


def _groups(dump: Dump, rank_from: str | None) -> tuple[RankDumps, ...]:
    return read_folder([dump.directory], rank_from=rank_from) if dump.directory else ()


def _is_of(dump: Dump, group: RankDumps) -> bool:
    if not group.recordings or group.ranks != dump.ranks:
        return False
    found = summarise(group)
    return (found.onset, found.operation, found.sequence) == (dump.onset, dump.operation, dump.sequence)
