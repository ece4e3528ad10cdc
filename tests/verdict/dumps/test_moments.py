"""Dumps of different moments: what others have finished since shows which are older, and these accuse nobody."""

from __future__ import annotations

from tests.made_dumps import STEP, T0, Document, Job, config, document, entry
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps import Findings, analyse

WAIT = 400 * 10**9


def found(made: Job) -> Findings:
    recordings = tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file="x") for rank, of_rank in made.items())
    return analyse(RankDumps(directory="x", recordings=recordings))


def of(last: int, *, inside: int = 0, **given: int) -> Document:
    """All operations up to `last` finished and `inside` more entered; from `late` on they came `by` later."""
    late, by, shift = given.get("late", 1 << 30), given.get("by", WAIT), given.get("shift", 0)
    rows = [
        entry(s, state="completed" if s <= last else "scheduled", created=T0 + shift + s * STEP + (by if s >= late else 0))
        for s in range(1, last + inside + 1)
    ]
    return document(rows, config("0", range(4)))


def named(made: Job) -> list[tuple[int, str]]:
    return [(s.rank, s.strength) for s in found(made).suspects]


def test_whoever_dumped_before_the_last_one_came_has_no_dead_device() -> None:
    """Rank 1 came late to 10; rank 0 had dumped by then, the others went on to 20."""
    made = {0: of(9, inside=1), 1: of(20, late=10), 2: of(20, late=11), 3: of(20, late=11)}
    assert named(made) == [(1, "likely")]
    assert any("those of rank 0" in note and "older" in note for note in found(made).notes)


def test_a_device_that_stands_still_is_still_proven() -> None:
    made = {rank: of(9, inside=3) if rank == 0 else of(11, inside=1) for rank in range(4)}
    assert named(made) == [(0, "proven")]


def test_whoever_had_not_entered_what_others_have_finished_is_not_the_one_they_wait_for() -> None:
    made = {0: of(9), **{rank: of(12, inside=1) for rank in (1, 2, 3)}}
    (suspect,) = found(made).suspects
    assert suspect.strength == "cannot-tell"
    assert "what rank 0 left is older" in suspect.reason
    assert "needed: dumps of all ranks that were taken at one moment" in suspect.reason


def test_that_no_rank_waits_in_the_later_dumps_is_said() -> None:
    made = {0: of(9, inside=1), 1: of(9), **{rank: of(12) for rank in (2, 3)}}
    (suspect,) = found(made).suspects
    assert (suspect.strength, "no rank waits in these" in suspect.reason) == ("cannot-tell", True)


def test_a_dump_that_an_earlier_hang_left_does_not_make_the_later_ones_old() -> None:
    """The job of rank 2's dump went further; what it did last, it did an hour before the others began."""
    made = {rank: of(19, inside=1) for rank in (0, 1, 3)} | {2: of(29, inside=1, shift=-3600 * 10**9)}
    (suspect,) = found(made).suspects
    assert suspect.strength == "cannot-tell"
    assert "ranks 0, 1, 3 wait in all_reduce, sequence 20" in suspect.reason
    assert "what rank 2 left is older" in suspect.reason
