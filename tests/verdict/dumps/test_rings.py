"""Short rings: what has been overwritten while it was under way proves nobody guilty, and a dump of active operations only is no short ring."""

from __future__ import annotations

from typing import Any

import pytest

from tests.made_dumps import Document, Job, config, document, entry, transfer
from triage.model import Suspect
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps, Recording
from triage.verdict.dumps import analyse
from triage.verdict.dumps.rings import FURTHEST_AHEAD, may_wait_unseen, short


def recordings(made: Job) -> tuple[Recording, ...]:
    return tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file="x") for rank, of_rank in made.items())


def suspects(made: Job) -> tuple[Suspect, ...]:
    return analyse(RankDumps(directory="x", recordings=recordings(made))).suspects


def opened(sequence: int, **given: Any) -> Document:
    return entry(sequence, **{"state": "scheduled", "record_id": 100 + sequence} | given)


def of(*entries: Document, version: str = "2.2") -> Document:
    """A dump without positions, unless its version has them."""
    made = document(list(entries), config("0", range(3)), version=version)
    return made if version == "2.10" else made | {"pg_status": {}}


def test_a_ring_in_which_nothing_has_ended_is_short() -> None:
    assert short(recordings({0: of(opened(7), opened(8)), 1: of(opened(7), opened(8))})) == {0, 1}


@pytest.mark.parametrize(
    ("why", "made"),
    [
        ("record numbers are lacking between its entries", {0: of(opened(7), opened(9)), 1: of(opened(7), opened(8))}),
        ("another rank has more entries", {0: of(opened(7)), 1: of(opened(7), opened(8))}),
        ("positions say that nothing before is open", {0: of(opened(7), version="2.10") | {"pg_status": {"0": {"last_completed_collective": 6}}}}),
        ("nothing was overwritten", {0: of(opened(1, record_id=0), opened(2, record_id=1))}),
    ],
)
def test_a_dump_of_active_operations_only_is_not_short(why: str, made: Job) -> None:
    assert short(recordings(made)) == frozenset(), why


def test_a_ring_longer_than_a_host_runs_ahead_is_not_short() -> None:
    assert short(recordings({0: of(*(entry(s, record_id=9 + s) for s in range(1, FURTHEST_AHEAD + 1)))})) == frozenset()


def test_what_a_short_ring_overwrote_is_not_taken_as_finished() -> None:
    """Rank 0's ring begins at 9, rank 1's at 8, and both may be stuck before: that 0 "finished" 8 would make 1 guilty."""
    made = {0: of(opened(9), opened(10)), 1: of(opened(8), opened(9)), 2: of(opened(9), opened(10))}
    assert [s for s in suspects(made) if "stands still" in s.reason] == []


def test_a_partner_that_a_short_ring_forgot_is_never_proven_guilty() -> None:
    made = {
        0: of(transfer("send", 0, 1, 7, record_id=50), transfer("send", 0, 1, 8, record_id=51), version="2.10"),
        1: of(opened(5, record_id=70, p2p_seq_id=6), opened(6, record_id=71, p2p_seq_id=6), version="2.10"),
    }
    assert "proven" not in {s.strength for s in suspects(made)}


def test_whoever_waits_nowhere_in_a_short_ring_is_likely_and_not_proven() -> None:
    groups = config("0", range(3)) | config("1", [0, 1], "other")
    waiting = document([entry(s, record_id=9 + s) for s in (1, 2)] + [opened(3, record_id=12)], groups)
    silent = document([entry(s, record_id=9 + s) for s in (1, 2)], groups)
    made = {rank: made | {"pg_status": {}, "version": "2.2"} for rank, made in ((0, silent), (1, waiting), (2, waiting))}
    assert may_wait_unseen(recordings(made)) == {0, 1, 2}
    (suspect,) = suspects(made)
    assert (suspect.rank, suspect.strength) == (0, "likely")
    assert "its ring is too short to be sure" in suspect.reason


def test_lanes_that_begin_with_an_operation_that_has_ended_show_all_that_is_open() -> None:
    made = {0: of(entry(4), entry(5)), 1: of(entry(4), entry(5), opened(6)), 2: of(entry(4), entry(5), opened(6))}
    assert may_wait_unseen(recordings(made)) == frozenset()
    assert [(s.rank, s.strength) for s in suspects(made)] == [(0, "proven")]
