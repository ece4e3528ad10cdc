"""Documents and digests: every version, both forms, and what is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.made_dumps import T0, as_json, config, document, entry, job, old, python_pickle, torch_pickle, transfer
from triage.parsers.flight_recorder import document as documents
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.machine import DumpError, load
from triage.parsers.flight_recorder.records import COMPLETED, RETIRED, SCHEDULED, TIMED_OUT, Recording, Status


def recorded(made: Any, *, cut: bool = False) -> Recording:
    return digest(documents.from_containers(made, 10_000), rank=0, file="x", cut=cut)


@pytest.mark.parametrize("write", [torch_pickle, *(python_pickle(p) for p in (2, 3, 4, 5))])
def test_every_pickle_gives_the_same_recording(write: Callable[[Any], bytes]) -> None:
    made = job()[1]
    assert recorded(load(write(made)).value) == recorded(made)


def test_json_gives_the_same_lanes() -> None:
    made = job()[1]
    found = digest(documents.from_json(as_json(made)), rank=0, file="x")
    assert found.status == recorded(made).status
    assert [lane.sequences for lane in found.lanes] == [lane.sequences for lane in recorded(made).lanes]
    assert [lane.progress for lane in found.lanes] == [lane.progress for lane in recorded(made).lanes]
    assert found.lanes[0].front is not None
    assert not found.lanes[0].front.frames


@pytest.mark.parametrize("version", ["1.1", "1.4", "2.1", "2.2", "2.3", "2.4", "2.7", "2.9", "2.10", "2.99"])
def test_every_version_is_read(version: str) -> None:
    found = recorded(old(job()[0], version))
    assert found.version == tuple(map(int, version.split(".")))
    assert list(found.lanes[0].numbers()) == [1, 2, 3, 4, 5, 6]
    assert list(found.lanes[0].progress) == [COMPLETED] * 5 + [SCHEDULED]
    assert found.library == "2.27.3"


def test_the_first_format_is_a_list_of_entries() -> None:
    entries = old(job()[0], "1.1")["entries"]
    assert list(recorded(entries).lanes[0].numbers()) == [1, 2, 3, 4, 5, 6]
    assert digest(documents.from_json(json.dumps(entries).encode()), rank=0, file="x").entries == 6


def test_version_parts_are_numbers() -> None:
    assert recorded({"version": "2.10", "pg_config": {}}).version > recorded({"version": "2.9", "pg_config": {}}).version


def test_no_entries_key_is_no_entries() -> None:
    made = job()[0]
    del made["entries"]
    assert recorded(made).entries == 0
    assert recorded(made).status == {0: Status(6, -1, 5)}


@pytest.mark.parametrize("top", [None, 3, "text", {}, {"weights": []}])
def test_other_pickles_are_no_dumps(top: Any) -> None:
    with pytest.raises(DumpError):
        recorded(top)


@pytest.mark.parametrize("data", [b"{", b"[1", b'{"entries": 3}', b"[" * 100_000, b'{"a":' * 100_000])
def test_broken_json_is_refused(data: bytes) -> None:
    with pytest.raises(DumpError, match="no JSON dump"):
        digest(documents.from_json(data), rank=0, file="x")


@pytest.mark.parametrize("data", [b"{}", b'{"status":"ok"}', b'{"version":"0.11.0"}', b'{"object":"list","data":[]}'])
def test_other_json_is_no_dump(data: bytes) -> None:
    with pytest.raises(DumpError, match="no flight-recorder dump"):
        documents.from_json(data)


def test_json_of_too_many_values_is_refused() -> None:
    with pytest.raises(DumpError, match="values"):
        documents.from_json(b"[" + b"1," * 3_000_000 + b"1]")


def test_an_entry_that_is_none_is_named_and_the_others_are_read() -> None:
    made = job()[0]
    made["entries"][2] = {"collective_seq_id": "three"}
    made["entries"][3] = 7
    found = recorded(made)
    assert list(found.lanes[0].numbers()) == [1, 2, 5, 6]
    assert "2 of 6 entries" in found.problems[0].what


def test_the_entry_a_cut_went_through_is_left_out() -> None:
    data = torch_pickle(job()[0])
    loaded = load(data[: int(len(data) * 0.8)])
    found = recorded(loaded.value, cut=loaded.cut)
    assert found.cut
    assert found.status[0] == Status(6, -1, 5)
    assert all(progress == COMPLETED for progress in found.lanes[0].progress)
    assert "ends early" in found.problems[0].what


def test_shared_lists_do_not_expand() -> None:
    inner = [1] * 2000
    made = document([entry(s, input_sizes=[inner] * 2000) for s in range(1, 50)], config("0", range(2)))
    with pytest.raises(DumpError, match="expand"):
        digest(documents.from_containers(made, 5000), rank=0, file="x")


@pytest.mark.parametrize(
    ("given", "progress"),
    [
        ({"state": "completed"}, COMPLETED),
        ({"state": "scheduled"}, SCHEDULED),
        ({"state": "scheduled", "retired": True}, TIMED_OUT),
        ({"state": "scheduled", "retired": True, "profiling_name": "gloo:all_reduce"}, RETIRED),
        ({"state": "scheduled", "retired": True, "profiling_name": "nccl2:all_reduce"}, RETIRED),
    ],
)
def test_how_far_an_operation_came(given: dict[str, Any], progress: int) -> None:
    assert list(recorded(document([entry(1, **given)], config("0", range(2)))).lanes[0].progress) == [progress]


def test_a_recorder_that_never_tells_completion_is_not_believed_to_time_out() -> None:
    found = recorded(document([entry(s, state="scheduled", retired=True) for s in range(1, 9)], config("0", range(2))))
    assert set(found.lanes[0].progress) == {RETIRED}
    assert not found.timed


def test_a_coalesced_group_is_one_operation_with_the_state_of_its_end() -> None:
    inner = [entry(1, state="scheduled", profiling_name="nccl:_all_gather_base", op_id=i) for i in range(3)]
    found = recorded(document([*inner, entry(1, profiling_name="nccl:ALLGATHER_coalesced", op_id=4)], config("0", range(2))))
    assert list(found.lanes[0].progress) == [COMPLETED]
    assert found.lanes[0].front is None


def test_transfers_of_a_closed_batch_are_not_open() -> None:
    batch = [transfer("send", 0, 1, 1), transfer("recv", 0, 1, 1), entry(0, profiling_name="nccl:coalesced", p2p_seq_id=1, is_p2p=True)]
    found = recorded(document([*batch, transfer("send", 0, 1, 2)], config("0", range(2))))
    assert [(t.kind, t.source, t.target, t.sequence) for t in found.transfers] == [("send", 0, 1, 2)]


def test_members_are_read_from_their_text() -> None:
    found = recorded({"version": "2.9", "pg_config": config("7", [3, 1, 2]) | {"x": 4, "y": {"name": 1}}, "entries": []})
    assert found.config["7"].ranks == (1, 2, 3)
    assert list(found.config) == ["7"]


def test_positions_that_are_none_are_left_out() -> None:
    status = {"0": {"last_enqueued_collective": "5"}, "one": {}, "2": 3, "3": {"last_enqueued_collective": 10**30}}
    assert recorded({"version": "2.9", "pg_status": status, "entries": []}).status == {0: Status(5, -1, -1), 3: Status(-1, -1, -1)}


def test_numbers_beyond_64_bits_are_no_entry() -> None:
    assert recorded({"pg_config": {}, "entries": [entry(1, collective_seq_id=2**63)]}).entries == 0


def test_oldest_and_wrapped_tell_where_the_ring_begins() -> None:
    found = recorded(document([entry(s, record_id=s + 40) for s in (41, 42)], config("0", range(2))))
    assert (found.wrapped, found.oldest) == (True, T0 + 41 * 10_000_000)


def test_more_groups_than_a_job_can_have_are_refused() -> None:
    entries = [entry(1, process_group=(str(n), ""), pg_id=n) for n in range(5000)]
    with pytest.raises(DumpError, match="groups"):
        recorded({"pg_config": {}, "entries": entries})


def test_members_of_all_groups_together_are_bounded() -> None:
    everyone = str(list(range(10_000)))
    groups = {str(n): {"name": str(n), "desc": "", "ranks": everyone} for n in range(300)}
    with pytest.raises(DumpError, match="members"):
        recorded({"pg_config": groups, "entries": []})


def test_entries_that_are_none_cost_no_other_where_many_are_read_at_once() -> None:
    made = document([entry(s) for s in range(1, 601)], config("0", range(2)))
    made["entries"][300] = {"collective_seq_id": "three hundred and one"}
    rows = list(documents.read_rows(documents.from_containers(made, 1 << 20), limited=True))
    assert [row.collective_seq_id if row else None for row in rows] == [None if s == 301 else s for s in range(1, 601)]
