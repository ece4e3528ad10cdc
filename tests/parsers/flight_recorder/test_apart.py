"""An old dump among new ones: taken as of a hang of its own, unless its rank was only idle."""

from __future__ import annotations

from pathlib import Path

from tests.made_dumps import T0, Document, Job, config, document, entry, job, lay
from triage.parsers.flight_recorder import read_folder
from triage.verdict.dumps import analyse

DAY = 24 * 3600 * 10**9


def earlier(made: Document, by: int) -> Document:
    return made | {"entries": [e | {"time_created_ns": e["time_created_ns"] - by} for e in made["entries"]]}


def new_and_old(by: int) -> Job:
    return job(4, last=60, stuck={0, 1, 3}) | {2: earlier(job(4, last=30)[2], by)}


def test_a_dump_of_two_days_before_is_of_another_hang(tmp_path: Path) -> None:
    new, old = read_folder([str(lay(tmp_path / "dumps", new_and_old(2 * DAY)))])
    assert (new.ranks, old.ranks) == ((0, 1, 3), (2,))
    (problem,) = new.unreadable
    assert problem.file.endswith("rank_2")
    assert "taken as of an earlier hang" in problem.what
    assert not problem.lost
    assert [(s.rank, s.strength) for s in analyse(new).suspects] == [(2, "likely")]


def test_a_clock_that_is_an_hour_off_does_not_part_dumps(tmp_path: Path) -> None:
    (hang,) = read_folder([str(lay(tmp_path / "dumps", new_and_old(DAY // 24)))])
    assert hang.ranks == (0, 1, 2, 3)


def test_a_rank_that_was_idle_for_days_is_of_this_hang(tmp_path: Path) -> None:
    """All ranks did the first eight operations at one time, then nothing came for two days."""
    asleep = [entry(s) for s in range(1, 9)]
    awake = [*asleep, entry(9, state="scheduled", created=T0 + 2 * DAY)]
    made = {rank: document(asleep if rank == 2 else awake, config("0", range(4))) for rank in range(4)}
    (hang,) = read_folder([str(lay(tmp_path / "dumps", made))])
    assert [(s.rank, s.strength) for s in analyse(hang).suspects] == [(2, "proven")]


def test_a_rank_without_entries_belongs_to_the_latest(tmp_path: Path) -> None:
    made = new_and_old(2 * DAY) | {1: document([], config("0", range(4)))}
    new, _ = read_folder([str(lay(tmp_path / "dumps", made))])
    assert new.ranks == (0, 1, 3)
