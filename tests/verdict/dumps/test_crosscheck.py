"""The watchdog's lines in the log held against the dumps of the same hang: the same, not the same, or not to be told."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from tests.made_dumps import Job, config, document, entry, job, transfer
from tests.verdict.story import Story
from triage.model import Incident
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps import summarise
from triage.verdict.dumps.crosscheck import Agreement, crosscheck


def hang(made: Job, marks: Iterable[tuple[int | None, int]], *, group: str | None = "0", operation: str = "ALLREDUCE") -> Incident:
    """An incident whose log has the watchdog's two lines for each (rank, sequence), and these dumps."""
    story = Story().served()
    for rank, sequence in marks:
        story.death("torch/death-watchdog-timeout", rank=rank, data={"seq": str(sequence), "op": operation})
        told = {"seq": str(sequence), "enqueued": str(sequence + 9), "completed": str(sequence - 1)}
        story.death("torch/death-watchdog-status", rank=rank, data=told | ({"pg": "7", "pg_name": group} if group else {}))
    recordings = tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file="x") for rank, of_rank in made.items())
    (incident,) = story.incidents()
    return msgspec.structs.replace(incident, dump=summarise(RankDumps(directory="dumps", recordings=recordings)))


def only(found: tuple[Agreement, ...]) -> Agreement:
    assert len(found) == 1
    return found[0]


def test_both_name_group_and_sequence() -> None:
    found = only(crosscheck(hang(job(4, stuck={0, 1, 3}), [(0, 6), (1, 6), (3, 6)])))
    assert found.agrees
    assert found.same == (0, 1, 3)
    said = "rank 2 has entered 5 at most (without a line in the log)"
    assert found.text == f"log: sequence 6 of group 0 (ALLREDUCE) on ranks 0, 1, 3; dumps: the same; {said}"


def test_a_rank_that_waits_without_a_line_is_told() -> None:
    found = only(crosscheck(hang(job(4, stuck={0, 1, 3}), [(0, 6), (1, 6)])))
    assert "; rank 3 is there too (without a line in the log)" in found.text


@pytest.mark.parametrize(
    ("sequence", "said"), [(5, "ranks 0, 1 have finished 5"), (9, "ranks 0, 1 have entered 6 at most"), (3, "ranks 0, 1 have finished 5")]
)
def test_dumps_of_another_hang_are_told_apart(sequence: int, said: str) -> None:
    found = only(crosscheck(hang(job(2), [(0, sequence), (1, sequence)])))
    assert found.agrees is False
    assert [rank for rank, _ in found.others] == [0, 1]
    assert found.text.endswith(f"; dumps: {said}")


def test_one_rank_that_differs_is_named() -> None:
    made = job(3)
    made[2] = document([entry(s) for s in range(1, 7)], config("0", range(3)))
    found = only(crosscheck(hang(made, [(0, 6), (1, 6), (2, 6)])))
    assert found.agrees is False
    assert found.text.endswith("dumps: the same for ranks 0, 1; rank 2 has finished 6")


def test_what_the_host_enqueued_since_is_no_difference() -> None:
    made = {rank: document([entry(s, state="completed" if s < 6 else "scheduled") for s in range(1, 40)], config("0", range(2))) for rank in range(2)}
    assert only(crosscheck(hang(made, [(0, 6), (1, 6)]))).agrees


def test_a_rank_that_waits_before_the_operation_is_no_agreement() -> None:
    made = {rank: document([entry(s, state="completed" if s < 4 else "scheduled") for s in range(1, 9)], config("0", range(2))) for rank in range(2)}
    assert only(crosscheck(hang(made, [(0, 6), (1, 6)]))).text.endswith("dumps: ranks 0, 1 wait in 4, before it")


def test_two_numbers_are_two_agreements() -> None:
    made = job(3) | {2: job(3, 5)[2]}
    first, later = crosscheck(hang(made, [(0, 6), (1, 6), (2, 5)]))
    assert (first.mark.sequence, first.agrees, later.mark.sequence, later.agrees) == (5, True, 6, True)
    assert "without a line" not in first.text + later.text


def test_a_group_that_no_dump_knows_cannot_be_compared() -> None:
    found = only(crosscheck(hang(job(2), [(0, 6)], group="8f3a")))
    assert found.agrees is None
    assert found.text.endswith("dumps: none tells of group 8f3a")


def test_a_line_without_a_group_finds_it_by_the_number() -> None:
    found = only(crosscheck(hang(job(2), [(0, 6), (1, 6)], group=None)))
    assert found.agrees
    assert found.text == "log: sequence 6 (ALLREDUCE) on ranks 0, 1; dumps: the same in group 0"


def test_a_number_that_fits_two_groups_cannot_be_told() -> None:
    groups = config("0", range(2)) | config("1", range(2))
    last = {"state": "scheduled"}
    both = [entry(1, **last), entry(1, pg_id=1, process_group=("1", "group 1"), **last)]
    found = only(crosscheck(hang({rank: document(both, groups) for rank in range(2)}, [(0, 1)], group=None)))
    assert found.agrees is None
    assert found.text.endswith("the number fits groups 0, 1")


def test_old_lines_that_name_no_rank_are_compared_as_a_whole() -> None:
    found = only(crosscheck(hang(job(4, stuck={0, 1}), [(None, 6)])))
    assert found.agrees
    assert found.text == "log: sequence 6 of group 0 (ALLREDUCE); dumps: the same for ranks 0, 1"
    assert only(crosscheck(hang(job(2), [(None, 4)]))).agrees is False


def test_a_rank_without_a_dump_is_told() -> None:
    made = job(3)
    del made[1]
    found = only(crosscheck(hang(made, [(0, 6), (1, 6)])))
    assert found.agrees
    assert "; none tells where rank 1 stands" in found.text


def test_groups_that_share_a_name_are_told_apart_by_their_ranks() -> None:
    def member(pair: list[int], last: int) -> dict[str, Any]:
        return document([*(entry(s) for s in range(1, last)), entry(last, state="scheduled")], config("0", pair, "tp"))

    made = {0: member([0, 1], 6), 1: member([0, 1], 6), 2: member([2, 3], 9), 3: member([2, 3], 9)}
    assert only(crosscheck(hang(made, [(0, 6), (1, 6)]))).agrees
    other = only(crosscheck(hang(made, [(2, 6)])))
    assert other.agrees is False
    assert other.text.endswith("dumps: rank 2 has finished 8; rank 3 has finished 8 (without a line in the log)")


@pytest.mark.parametrize(("number", "agrees"), [(3, True), (2, False)])
def test_sends_and_receives_have_numbers_of_their_own(number: int, agrees: bool) -> None:
    done = [entry(s) for s in range(1, 9)]
    made = {
        0: document([*done, transfer("send", 0, 1, 3, collective_seq_id=8)], config("0", range(2))),
        1: document([*done, transfer("recv", 1, 0, 3, collective_seq_id=8)], config("0", range(2))),
    }
    assert only(crosscheck(hang(made, [(0, number), (1, number)], operation="SEND"))).agrees is agrees


def test_nothing_is_compared_where_one_of_them_is_lacking() -> None:
    incident = hang(job(2), [(0, 6)])
    assert crosscheck(msgspec.structs.replace(incident, dump=None)) == ()
    assert crosscheck(msgspec.structs.replace(incident, events=())) == ()
    assert incident.dump
    without = msgspec.structs.replace(incident.dump, stands=())
    assert crosscheck(msgspec.structs.replace(incident, dump=without)) == ()
