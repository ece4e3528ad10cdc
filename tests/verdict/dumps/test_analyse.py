"""Who did it: every state of a match, with the culprit on rank 0 and elsewhere, and with dumps that are absent, old, shifted or mixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.made_dumps import STEP, T0, Document, Job, again, config, document, entry, job, old, transfer
from triage.model import Suspect
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps import Findings, analyse, summarise
from triage.verdict.dumps.records import NO_RANK

CULPRITS = [0, 2]


def dumps(made: Job, **given: Any) -> RankDumps:
    recordings = tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file=f"rank_{rank}") for rank, of_rank in made.items())
    return RankDumps(directory="dumps", recordings=recordings, **given)


def found(made: Job, **given: Any) -> Findings:
    return analyse(dumps(made, **given))


def blamed(findings: Findings) -> dict[int, str]:
    return {s.rank: s.strength for s in findings.suspects}


def only(findings: Findings) -> Suspect:
    assert len(findings.suspects) == 1, findings.suspects
    return findings.suspects[0]


def as_it_is(made: Job, _culprit: int) -> Job:
    return made


def one_absent(made: Job, culprit: int) -> Job:
    """The dump of an innocent rank was never written."""
    return {rank: of_rank for rank, of_rank in made.items() if rank != (1 if culprit != 1 else 3)}


def shifted_records(made: Job, _culprit: int) -> Job:
    """Each rank recorded another number of operations of other groups before."""
    return {
        rank: of_rank | {"entries": [e | {"record_id": e["record_id"] + 30 * rank} for e in of_rank["entries"]]} for rank, of_rank in made.items()
    }


def mixed_versions(made: Job, _culprit: int) -> Job:
    return {rank: old(of_rank, ["2.10", "2.9", "2.4", "2.2"][rank % 4]) for rank, of_rank in made.items()}


def first_versions(made: Job, _culprit: int) -> Job:
    return {rank: old(of_rank, "1.4") for rank, of_rank in made.items()}


def only_active(made: Job, _culprit: int) -> Job:
    """Positions of before, but only entries that have not completed."""
    return {rank: of_rank | {"entries": [e for e in of_rank["entries"] if not e["retired"]]} for rank, of_rank in made.items()}


VARIANTS = [as_it_is, one_absent, shifted_records, mixed_versions, only_active]
variants = pytest.mark.parametrize("variant", VARIANTS)
culprits = pytest.mark.parametrize("culprit", CULPRITS)


def with_last(made: Job, rank: int, **changed: Any) -> Job:
    """The job, `rank` doing something else in its last operation."""
    entries = made[rank]["entries"]
    return made | {rank: again(made[rank], [*entries[:-1], entries[-1] | changed])}


# Fully matched


@variants
def test_a_job_that_finished_names_nobody(variant: Callable[[Job, int], Job]) -> None:
    made = {rank: document([entry(s) for s in range(1, 7)], config("0", range(4))) for rank in range(4)}
    findings = found(variant(made, 0))
    assert [s for s in findings.suspects if s.strength != "cannot-tell"] == []
    assert not findings.groups


def test_nothing_waits_means_that_vllm_may_hang_outside() -> None:
    made = {rank: document([entry(1)], config("0", range(2))) for rank in range(2)}
    assert any("outside torch.distributed" in note for note in found(made).notes)


# Missing


@variants
@culprits
def test_a_rank_that_never_entered_is_proven(variant: Callable[[Job, int], Job], culprit: int) -> None:
    made = variant(job(4, stuck={0, 1, 2, 3} - {culprit}), culprit)
    findings = found(made)
    assert blamed(findings) == {culprit: "proven"}
    assert findings.groups[0].missing == (culprit,)
    assert findings.groups[0].sequence == 6
    assert findings.groups[0].waiting == tuple(r for r in made if r != culprit)
    assert "all_reduce, sequence 6" in only(findings).reason


@culprits
def test_first_versions_show_it_too(culprit: int) -> None:
    assert blamed(found(first_versions(job(4, stuck={0, 1, 2, 3} - {culprit}), culprit))) == {culprit: "proven"}


@culprits
def test_a_rank_without_a_dump_is_likely(culprit: int) -> None:
    made = job(4)
    del made[culprit]
    findings = found(made)
    assert blamed(findings) == {culprit: "likely"}
    assert findings.missing == (culprit,)


def test_a_rank_whose_dump_is_broken_cannot_be_judged() -> None:
    made = job(4)
    del made[2]
    suspect = only(found(made, lost=(2,)))
    assert (suspect.rank, suspect.strength) == (2, "cannot-tell")
    assert "needed" in suspect.reason


def test_an_empty_recorder_shows_by_its_positions() -> None:
    made = only_active(job(4, stuck={0, 1, 3}), 2)
    findings = found(made)
    assert findings.empty == (2,)
    assert blamed(findings) == {2: "proven"}


def test_one_dump_of_sixteen_tells_nobody() -> None:
    made = {3: job(16)[3]}
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")
    assert "15" in suspect.reason
    assert "needed: the dumps" in suspect.reason


def test_where_half_of_the_dumps_are_absent_they_were_rather_not_collected() -> None:
    made = {rank: of_rank for rank, of_rank in job(8).items() if rank < 4}
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")
    assert "ranks 4-7 of 8 left no readable dump" in suspect.reason


def unlinked(waiting: set[int], silent: Document) -> Job:
    """Three ranks with two groups of one description; `waiting` are in the second operation of group a, rank 2 has the dump `silent`."""
    groups = config("a", range(3), "same") | config("b", range(3), "same")
    of_a = {"process_group": ("a", "same"), "pg_id": 1}
    made = {rank: document([entry(1, record_id=0, **of_a), stuck(2, **of_a)], groups) for rank in waiting}
    return made | {2: silent | {"pg_config": groups, "pg_status": {"1": {"last_enqueued_collective": 1}, "2": {"last_enqueued_collective": 3}}}}


def test_a_rank_whose_dump_says_nothing_of_the_group_is_not_said_to_have_left_none() -> None:
    suspect = only(found(unlinked({0, 1}, document([], {}))))
    assert (suspect.rank, suspect.strength) == (2, "cannot-tell")
    assert "its dump does not tell how far it came in a (same)" in suspect.reason
    assert "needed: a dump that has finished operations too" in suspect.reason


def test_a_recorder_that_goes_back_to_the_first_operation_holds_all_that_its_rank_did() -> None:
    other = [entry(s, record_id=s - 1, process_group=("b", "same"), pg_id=2) for s in range(1, 4)]
    made = unlinked({0, 1}, document(other, {}))
    for rank in (0, 1):
        made[rank] = again(made[rank], [*other, stuck(1, record_id=3, process_group=("a", "same"), pg_id=1)])
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (2, "proven")
    assert suspect.evidence == ("a (same): ranks 0, 1 in sequence 1, rank 2 in none",)


def test_a_ring_that_wrapped_past_the_fault_blames_nobody() -> None:
    made = {rank: old(of_rank, "2.2") for rank, of_rank in job(3).items()}
    other = [entry(s, process_group=("1", "other"), pg_id=1, record_id=900 + s, created=T0 + (100 + s) * STEP) for s in range(1, 9)]
    made[2] = old(document(other, config("0", range(3)) | config("1", [2, 3], "other")), "2.2")
    assert "proven" not in blamed(found(made)).values()


# Type, size, dtype


MISMATCHES = [
    ("operation", {"profiling_name": "nccl:broadcast"}),
    ("size", {"input_sizes": [[32]], "output_sizes": [[32]]}),
    ("dtype", {"input_dtypes": ["Double"], "output_dtypes": ["Double"]}),
]


@pytest.mark.parametrize("variant", [as_it_is, one_absent, shifted_records, only_active])
@culprits
@pytest.mark.parametrize(("kind", "changed"), MISMATCHES)
def test_the_minority_of_a_mismatch_is_proven(variant: Callable[[Job, int], Job], culprit: int, kind: str, changed: dict[str, Any]) -> None:
    findings = found(variant(with_last(job(4), culprit, **changed), culprit))
    assert blamed(findings) == {culprit: "proven"}
    assert findings.groups[0].missing == (culprit,)


@culprits
@pytest.mark.parametrize(("kind", "changed"), MISMATCHES[:2])
def test_versions_without_dtypes_agree_with_all(culprit: int, kind: str, changed: dict[str, Any]) -> None:
    assert blamed(found(mixed_versions(with_last(job(4), culprit, **changed), culprit))) == {culprit: "proven"}


def test_old_versions_without_dtypes_are_no_mismatch() -> None:
    assert blamed(found(mixed_versions(job(4, stuck={0, 1, 3}), 2))) == {2: "proven"}


def test_the_abort_of_a_peer_does_not_hide_a_mismatch() -> None:
    made = with_last(job(4), 1, **MISMATCHES[2][1])
    del made[0]
    findings = found(made)
    assert blamed(findings) == {1: "proven"}
    assert any("rank 0 left no readable dump" in note for note in findings.notes)


@culprits
def test_a_rank_that_skipped_and_went_on_is_named_at_the_first_difference(culprit: int) -> None:
    made = job(4)
    skipped = [*made[culprit]["entries"][:-1], entry(6, profiling_name="nccl:broadcast"), entry(7, profiling_name="nccl:barrier", state="scheduled")]
    made[culprit] = again(made[culprit], skipped)
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (culprit, "proven")
    assert "sequence 6" in suspect.reason


def test_two_against_two_is_no_majority() -> None:
    made = with_last(with_last(job(4), 0, **MISMATCHES[1][1]), 1, **MISMATCHES[1][1])
    assert blamed(found(made)) == dict.fromkeys(range(4), "cannot-tell")


def test_another_shape_of_as_many_elements_is_no_mismatch() -> None:
    made = with_last(job(4, stuck={0, 1, 3}), 1, input_sizes=[[8, 8]], output_sizes=[[8, 8]])
    assert blamed(found(made)) == {2: "proven"}


def test_sizes_that_differ_and_went_through_are_no_fault() -> None:
    made = job(4, stuck={0, 1, 3})
    made[1] = again(made[1], [made[1]["entries"][0] | {"input_sizes": [[9]]}, *made[1]["entries"][1:]])
    assert blamed(found(made)) == {2: "proven"}


@culprits
def test_sizes_that_do_not_fit_each_other_are_proven(culprit: int) -> None:
    made = job(4, profiling_name="nccl:_all_gather_base", output_sizes=[[256]])
    made = with_last(made, culprit, output_sizes=[[250]])
    assert blamed(found(made)) == {culprit: "proven"}


@pytest.mark.parametrize(("name", "differs"), [("gather", "output_sizes"), ("scatter", "input_sizes")])
def test_root_operations_have_sizes_of_their_own(name: str, differs: str) -> None:
    made = with_last(job(4, profiling_name=f"nccl:{name}"), 0, **{differs: [[64]] * 4})
    assert {s.strength for s in found(made).suspects} == {"cannot-tell"}


@pytest.mark.parametrize(("expected", "word"), [(64, "inside it"), (65, "split sizes")])
def test_an_all_to_all_is_judged_by_totals(expected: int, word: str) -> None:
    made = job(4, profiling_name="nccl:all_to_all")
    for rank, (given, taken) in enumerate([(10, 20), (20, 10), (16, 16), (18, expected - 46)]):
        made = with_last(made, rank, input_sizes=[[given]], output_sizes=[[taken]])
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")
    assert word in suspect.reason


def test_an_all_to_all_without_one_dump_stays_undecided() -> None:
    made = job(4, profiling_name="nccl:all_to_all")
    for rank in range(4):
        made = with_last(made, rank, input_sizes=[[rank]], output_sizes=[[rank + 1]])
    del made[3]
    assert blamed(found(made)) == {3: "likely"}


# State


@culprits
def test_a_rank_that_has_not_finished_what_all_others_have(culprit: int) -> None:
    made = {rank: document([entry(s) for s in range(1, 9)], config("0", range(4))) for rank in range(4)}
    entries = [entry(s, state="completed" if s < 6 else "scheduled") for s in range(1, 9)]
    made[culprit] = document(entries, config("0", range(4)))
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (culprit, "proven")
    assert "GPU" in suspect.reason


@culprits
def test_a_broadcast_that_others_finished_is_weaker(culprit: int) -> None:
    made = {rank: document([entry(1, profiling_name="nccl:broadcast")], config("0", range(4))) for rank in range(4)}
    made[culprit] = document([entry(1, profiling_name="nccl:broadcast", state="scheduled")], config("0", range(4)))
    assert blamed(found(made)) == {culprit: "likely"}


@culprits
def test_a_rank_whose_device_has_not_started(culprit: int) -> None:
    made = job(4)
    for rank in {0, 1, 2, 3} - {culprit}:
        made = with_last(made, rank, state="started")
    assert blamed(found(made)) == {culprit: "likely"}


def test_all_entered_and_none_finished_is_inside_the_operation() -> None:
    suspect = only(found(job(4)))
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")
    assert "NCCL" in suspect.reason


# Lateness


@culprits
@pytest.mark.parametrize("ahead", [0, 5 * 10**12, -(10**12)])
def test_a_late_rank_is_named_whatever_its_clock_says(culprit: int, ahead: int) -> None:
    by = 400 * 10**9
    made = {rank: document([entry(s) for s in range(1, 10)], config("0", range(4))) for rank in range(4)}
    late = [entry(s, created=T0 + s * STEP + ahead + (by if s >= 9 else 0)) for s in range(1, 10)]
    made[culprit] = document(late, config("0", range(4)))
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (culprit, "likely")
    assert "400 s after" in suspect.reason


def test_a_clock_that_is_off_is_not_late() -> None:
    made = {rank: document([entry(s, created=T0 + s * STEP + rank * 10**12) for s in range(1, 10)], config("0", range(3))) for rank in range(3)}
    assert not found(made).suspects


# Gloo: `scheduled` for ever, retired when it ended however it ended, members nowhere


def gloo(made: Job, ranks: str = "[]") -> Job:
    return {
        rank: of_rank
        | {
            "pg_config": {"": {"name": "", "desc": "", "ranks": ranks}},
            "entries": [e | {"profiling_name": e["profiling_name"].replace("nccl", "gloo"), "state": "scheduled"} for e in of_rank["entries"]],
        }
        for rank, of_rank in made.items()
    }


def without_completion(made: Job) -> Job:
    """As after the exception: everything retired."""
    return {
        rank: again(of_rank, [e | {"retired": True, "time_discovered_completed_ns": None} for e in of_rank["entries"]])
        for rank, of_rank in made.items()
    }


@culprits
def test_gloo_shows_who_never_entered(culprit: int) -> None:
    assert blamed(found(gloo(job(4, stuck={0, 1, 2, 3} - {culprit})))) == {culprit: "proven"}


@culprits
def test_gloo_after_the_exception_still_shows_who_never_entered(culprit: int) -> None:
    assert blamed(found(gloo(without_completion(job(4, stuck={0, 1, 2, 3} - {culprit}))))) == {culprit: "likely"}


def test_gloo_peers_that_failed_do_not_make_the_last_one_guilty() -> None:
    made = gloo(job(4))
    for rank in (1, 2):
        made[rank] = again(made[rank], [e | {"retired": True} for e in made[rank]["entries"]])
    assert {s.strength for s in found(made).suspects} == {"cannot-tell"}


def numbered(groups: list[tuple[int, str, list[Document]]]) -> Document:
    entries = [e | {"pg_id": number, "process_group": (name, f"group {name}" if number else "default_pg")} for number, name, es in groups for e in es]
    return gloo({0: document(entries, {})})[0]


def stuck(sequence: int, **given: Any) -> Document:
    return entry(sequence, state="scheduled", retired=False, time_discovered_completed_ns=None, **given)


def test_the_victim_of_a_victim_is_not_blamed() -> None:
    done, later = [entry(1)], entry(2, state="scheduled", created=T0 + 90 * STEP)
    made = {
        0: numbered([(0, "0", [*done, later]), (1, "1", [entry(1), entry(2)])]),
        1: numbered([(0, "0", [*done, later]), (1, "1", [entry(1), entry(2)])]),
        2: numbered([(0, "0", done), (1, "2", [entry(1), stuck(2)])]),
        3: numbered([(0, "0", done), (1, "2", [entry(1)])]),
    }
    findings = found(made)
    assert blamed(findings) == {3: "proven"}
    assert findings.groups[0].name == "2 (group 2)"
    del made[3]
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (3, "cannot-tell")
    assert blamed(found(made, world=4)) == {3: "likely"}


def test_groups_entered_in_another_order() -> None:
    made = {rank: numbered([(0, "0", [entry(1)]), (1, "1", [stuck(1)])]) for rank in (0, 2, 3)}
    made[1] = numbered([(0, "0", [entry(1)]), (2, "2", [stuck(1)])])
    suspect = only(found(dict(sorted(made.items()))))
    assert (suspect.rank, suspect.strength) == (1, "likely")
    assert "each waits for the other" in suspect.reason


def in_another_order(*also: Document) -> Job:
    """Ranks 0 and 2 wait in group 1, rank 1 in group 2 (and in `also`), each for the other; rank 3 shares only groups 0 and 3."""
    groups = config("0", range(4)) | config("1", range(3)) | config("2", range(3))
    with_3 = groups | config("3", [1, 3])
    made = {rank: document([entry(1), stuck(1, process_group=("1", "group 1"), pg_id=1)], groups) for rank in (0, 2)}
    made[1] = document([entry(1), stuck(1, process_group=("2", "group 2"), pg_id=2), *also], with_3)
    made[3] = document([entry(1), *also], {name: with_3[name] for name in ("0", "3")})
    for rank in (0, 1, 2):
        made[rank]["pg_status"]["2" if rank != 1 else "1"] = {f"last_{w}_collective": -1 for w in ("enqueued", "started", "completed")}
    return made


def test_another_order_shows_without_the_dump_of_a_rank_outside_of_it() -> None:
    made = in_another_order()
    assert blamed(found(made)) == {1: "likely"}
    del made[3]
    assert blamed(found(made)) == {1: "likely"}


def test_a_circle_is_none_where_a_rank_without_a_dump_may_hold_up_one_of_it() -> None:
    made = in_another_order(stuck(1, process_group=("3", "group 3"), pg_id=3))
    assert blamed(found(made)) == {1: "likely"}
    del made[3]
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (3, "cannot-tell")
    assert "ranks 0-2 seem to wait for each other; needed: the dump of rank 3" in suspect.reason


def in_groups(rank: int, waits_in: str, of: dict[str, list[int]]) -> Document:
    """A rank of a job whose groups are `of`: it has used each of its groups once, and waits in one of them."""
    own = {name: ranks for name, ranks in of.items() if rank in ranks}
    place = {name: {"pg_id": number, "process_group": (name, f"group {name}")} for number, name in enumerate(own)}
    done = [entry(1, record_id=number, **place[name]) for number, name in enumerate(own)]
    groups = {name: made for of_name, ranks in own.items() for name, made in config(of_name, ranks, f"group {of_name}").items()}
    return document([*done, stuck(2, record_id=len(done), **place[waits_in])], groups)


def test_of_a_circle_through_many_ranks_only_who_went_on_without_the_others_is_named() -> None:
    of = {"0": [0, 1, 2, 3, 4], "1": [0, 1, 2], "2": [0, 3], "3": [1, 4]}
    made = {rank: in_groups(rank, waits_in, of) for rank, waits_in in enumerate(["1", "1", "0", "2", "3"])}
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (2, "likely")
    assert len(suspect.evidence) == 2


def test_of_several_circles_through_the_same_ranks_nobody_is_named() -> None:
    of = {name: [0, 1, 2] for name in "123"}
    suspect = only(found({rank: in_groups(rank, str(rank + 1), of) for rank in range(3)}))
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")
    assert "ranks 0-2 wait for each other in several circles; needed" in suspect.reason


def test_two_ranks_that_wait_for_each_other_cannot_be_told_apart() -> None:
    groups = config("0", [0, 1]) | config("1", [0, 1]) | config("2", [0, 1])
    made = {
        rank: document([entry(1), stuck(1, process_group=(str(rank + 1), f"group {rank + 1}"), pg_id=rank + 1)], groups) for rank in range(2)
    }
    for rank in range(2):
        made[rank]["pg_status"][str(2 - rank)] = {f"last_{w}_collective": -1 for w in ("enqueued", "started", "completed")}
    assert blamed(found(made)) == {0: "cannot-tell", 1: "cannot-tell"}


# Groups


def test_disjoint_groups_of_one_name_are_two() -> None:
    made: Job = {}
    for rank in range(4):
        mine = [0, 1] if rank < 2 else [2, 3]
        last = [stuck(5, process_group=("7", "tp"), pg_id=1)] if rank != 3 else []
        entries = [entry(s, process_group=("7", "tp"), pg_id=1, sizes=[[8 + mine[0]]]) for s in range(1, 5)] + last
        made[rank] = document(entries, config("7", mine, "tp"))
    findings = found(made)
    assert blamed(findings)[3] == "likely"
    assert 2 not in blamed(findings)
    assert {(g.members, g.missing) for g in findings.groups} == {((0, 1), ()), ((2, 3), (3,))}


def test_a_rank_without_entries_is_placed_by_the_order_of_its_groups() -> None:
    groups = config("0", range(3)) | config("5", range(3), "tp")
    done = [entry(1), *(entry(s, process_group=("5", "tp"), pg_id=4) for s in (1, 2))]
    made = {rank: document([*done, stuck(3, process_group=("5", "tp"), pg_id=4)], groups) for rank in range(2)}
    made[2] = document(done, groups) | {"entries": []}
    assert blamed(found(made)) == {2: "proven"}


def test_a_group_that_a_rank_never_used_is_one_it_never_entered() -> None:
    groups = config("0", range(3)) | config("5", range(3), "tp")
    made = {rank: document([entry(1), stuck(1, process_group=("5", "tp"), pg_id=4)], groups) for rank in range(2)}
    made[2] = document([entry(1)], config("0", range(3)))
    assert blamed(found(made)) == {2: "proven"}


# Coalesced groups: several entries of one number


def coalesced(sizes: list[int]) -> Document:
    """Gathers of some sizes in one launch, and the entry that torch closes it with."""
    gathers = [stuck(4, profiling_name="nccl:_all_gather_base", sizes=[[size]], output_sizes=[[4 * size]]) for size in sizes]
    closing = stuck(4, profiling_name="nccl:coalesced", sizes=[], input_dtypes=[], output_dtypes=[])
    return document([*(entry(s) for s in range(1, 4)), *gathers, closing], config("0", range(4)))


@culprits
@pytest.mark.parametrize("other", [[8, 8, 8], [8], [8, 16]])
def test_a_coalesced_group_that_others_have_differently(culprit: int, other: list[int]) -> None:
    made = {rank: coalesced(other if rank == culprit else [8, 8]) for rank in range(4)}
    findings = found(made)
    assert blamed(findings) == {culprit: "proven"}
    assert "instead of 8+8 to 32+32 Float" in only(findings).reason


# Sends and receives


def pipeline(ranks: int, opened: dict[int, list[Document]]) -> Job:
    return {rank: document([entry(1), *opened.get(rank, [])], config("0", range(ranks))) for rank in range(ranks)}


def test_a_receive_without_its_send() -> None:
    findings = found(pipeline(3, {0: [], 1: [transfer("recv", 1, 0, 1)], 2: [transfer("recv", 2, 1, 1)]}))
    assert blamed(findings) == {0: "likely"}
    assert "did not come to recv 1<-0" in only(findings).reason


def test_a_send_without_its_receive() -> None:
    assert blamed(found(pipeline(2, {0: [transfer("send", 0, 1, 1)]}))) == {1: "likely"}


def test_a_pair_that_is_there_on_both_sides_blames_neither() -> None:
    findings = found(pipeline(2, {0: [transfer("send", 0, 1, 1)], 1: [transfer("recv", 1, 0, 1)]}))
    suspect = only(findings)
    assert (suspect.rank, suspect.strength) == (NO_RANK, "cannot-tell")


def test_a_pair_of_other_sizes_is_one_of_the_two() -> None:
    findings = found(pipeline(2, {0: [transfer("send", 0, 1, 1, sizes=[[9]])], 1: [transfer("recv", 1, 0, 1)]}))
    assert blamed(findings) == {0: "cannot-tell", 1: "cannot-tell"}
    assert "sends 9 elements" in findings.suspects[0].reason


def test_a_ring_that_begins_after_a_send_does_not_prove_that_its_receive_is_lacking() -> None:
    groups = config("0", [0, 1])
    later = [entry(s, record_id=500 + s, created=T0 + (50 + s) * STEP) for s in range(1, 9)]
    made = {0: document([transfer("send", 0, 1, 3)], groups), 1: document(later, groups)}
    assert {s.strength for s in found(made).suspects} == {"cannot-tell"}
    made[1] = document([e | {"time_created_ns": T0} for e in later], groups)
    suspect = only(found(made))
    assert (suspect.rank, suspect.strength) == (1, "likely")
    assert "as far as its short ring tells" in suspect.reason


def test_a_stuck_transfer_has_size_and_timeout() -> None:
    made = pipeline(2, {0: [transfer("send", 0, 1, 1)]})
    (group,) = found(made).groups
    assert (group.operation, group.size, group.timeout_ms) == ("send 0->1", "64 Float", 600_000)


def test_a_send_to_a_rank_without_a_dump() -> None:
    made = pipeline(3, {0: [transfer("send", 0, 1, 1)]})
    del made[1]
    assert blamed(found(made)) == {1: "likely"}


# The noun that incidents carry


def test_a_summary_has_onset_timeout_and_the_operation() -> None:
    summary = summarise(dumps(job(4, stuck={0, 1, 3})))
    assert summary.onset is not None
    assert summary.onset.earliest == summary.onset.latest == (T0 + 6 * STEP) / 1e9
    assert (summary.timeout, summary.operation, summary.group, summary.sequence) == (600.0, "all_reduce", "0 (default_pg)", 6)
    assert (summary.waiting, summary.ranks, summary.version) == ((0, 1, 3), (0, 1, 2, 3), "2.10")
    assert [s.rank for s in summary.suspects] == [2]


def test_no_dumps_summarise_to_nothing() -> None:
    summary = summarise(RankDumps(directory="x"))
    assert (summary.ranks, summary.suspects, summary.onset) == ((), (), None)


def test_findings_survive_the_way_to_json() -> None:
    msgspec.json.encode(found(job(4, stuck={0, 1, 3})))
