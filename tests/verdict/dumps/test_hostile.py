"""Dumps with nonsense in them: there is always an answer, and it always prints."""

from __future__ import annotations

import copy
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.made_dumps import Job, config, entry, job, transfer
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.records import RankDumps
from triage.report import dump as report
from triage.report import dump_details as details
from triage.verdict.dumps import analyse, summarise

JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5), st.lists(st.integers(), max_size=3), st.just({})
)
NUMBERS = st.integers(-3, 2**63 - 1) | st.integers(0, 8)


def answered(made: Job) -> None:
    recordings = []
    for rank, of_rank in made.items():
        try:
            recordings.append(digest(from_containers(of_rank, 1 << 16), rank=rank, file="x"))
        except DumpError:
            continue
    dumps = RankDumps(directory="x", recordings=tuple(recordings))
    found = analyse(dumps)
    orjson.dumps(report.document(dumps, found))
    assert report.text(dumps, found, more=[details.timeline_text(details.timeline(dumps, found, 3), "simple")])
    assert details.stacks_text(details.stacks(found), "github")
    assert summarise(dumps, found).ranks == dumps.ranks


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_fields_with_other_things_in_them(data: st.DataObject) -> None:
    made = copy.deepcopy(job(3, 4, stuck={0, 1}))
    for _ in range(data.draw(st.integers(1, 6))):
        of_rank = made[data.draw(st.sampled_from(sorted(made)))]
        places = [of_rank, *of_rank["entries"], of_rank["pg_config"]["0"], of_rank["pg_status"]["0"]] if shaped(of_rank) else [of_rank]
        place = data.draw(st.sampled_from([p for p in places if isinstance(p, dict) and p]))
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JUNK)
    answered(made)


def shaped(of_rank: Any) -> bool:
    """Whether the parts that are changed next are still there."""
    parts = (of_rank.get("pg_config"), of_rank.get("pg_status"))
    return isinstance(of_rank.get("entries"), list) and all(isinstance(part, dict) and isinstance(part.get("0"), dict) for part in parts)


ENTRIES = st.builds(
    lambda sequence, state, name, group, created, retired: entry(
        sequence, state=state, profiling_name=name, process_group=group, pg_id=int(group[0]), created=created, retired=retired
    ),
    NUMBERS,
    st.sampled_from(["scheduled", "started", "completed", "unheard of"]),
    st.sampled_from(["nccl:all_reduce", "gloo:broadcast", "nccl:send 0->1", "nccl:recv 1<-0", "nccl:all_to_all", "nonsense", ""]),
    st.sampled_from([("0", "default_pg"), ("1", "tp"), ("7", "")]),
    NUMBERS,
    st.booleans(),
)
TRANSFERS = st.builds(transfer, st.sampled_from(["send", "recv"]), st.integers(0, 9), st.integers(0, 9), NUMBERS)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.integers(0, 5), st.lists(ENTRIES | TRANSFERS, max_size=8), max_size=4), st.booleans())
def test_entries_in_any_order_with_any_numbers(entries: dict[int, list[Any]], named: bool) -> None:
    groups = config("0", range(4)) | config("1", [0, 1]) if named else {"": {"name": "", "desc": "", "ranks": "[]"}}
    answered({rank: {"version": "2.10", "pg_config": groups, "entries": of_rank} for rank, of_rank in entries.items()})
