"""On jobs that were really run into a fault: nobody innocent is named, and a guilty rank is named whenever its dumps can show it."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.made_dumps import Job
from tests.verdict.dumps.made_job import MadeJob
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps import analyse

SHAPES = [{"tensor": 2, "width": 2, "stages": 2}, {"tensor": 2, "width": 1, "stages": 4}, {"tensor": 4, "width": 2, "stages": 1}]
Where = Literal["host", "device"]


def named(made: Job) -> set[int]:
    recordings = tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file="x") for rank, of_rank in made.items())
    return {s.rank for s in analyse(RankDumps(directory="x", recordings=recordings)).suspects if s.strength != "cannot-tell"}


def hashed(made: Job) -> Job:
    """Groups with names that are no numbers, so that numbering tells nothing."""

    def new(name: str) -> str:
        return f"{(int(name) * 7919) % 104729:x}h"

    return {
        rank: of_rank
        | {
            "pg_config": {new(n): c | {"name": new(n)} for n, c in of_rank["pg_config"].items()},
            "entries": [e | {"process_group": (new(e["process_group"][0]), e["process_group"][1])} for e in of_rank["entries"]],
        }
        for rank, of_rank in made.items()
    }


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SHAPES), st.sampled_from(["host", "device"]), st.integers(1, 2), st.booleans(), st.booleans())
def test_only_guilty_ranks_are_named(seed: int, shape: dict[str, int], where: Where, count: int, only_active: bool, odd_names: bool) -> None:
    job = MadeJob(seed, **shape)
    guilty = set(job.random.sample(range(job.world), count))
    job.run(guilty, where)
    if not job.finished:
        made = job.dumps(only_active=only_active)
        assert named(hashed(made) if odd_names else made) <= guilty


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SHAPES), st.booleans())
def test_a_held_host_is_always_named(seed: int, shape: dict[str, int], only_active: bool) -> None:
    job = MadeJob(seed, **shape)
    guilty = {job.random.randrange(job.world)}
    job.run(guilty, "host")
    if not job.finished:
        assert named(job.dumps(only_active=only_active)) == guilty


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(SHAPES), st.sampled_from(["host", "device"]), st.booleans())
@example(34, SHAPES[1], "device", False)
def test_without_one_dump_only_its_rank_comes_into_question(seed: int, shape: dict[str, int], where: Where, only_active: bool) -> None:
    job = MadeJob(seed, **shape)
    guilty = {job.random.randrange(job.world)}
    job.run(guilty, where)
    if not job.finished:
        made = job.dumps(only_active=only_active)
        gone = job.random.randrange(job.world)
        del made[gone]
        assert named(made) <= guilty | {gone}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("where", ["host", "device"])
def test_most_faults_are_named(shape: dict[str, int], where: Any) -> None:
    found = []
    for seed in range(20):
        job = MadeJob(seed, **shape)
        guilty = {job.random.randrange(job.world)}
        job.run(guilty, where)
        if not job.finished:
            found.append(named(job.dumps(only_active=True)) == guilty)
    assert sum(found) >= 0.7 * len(found) > 0


def test_a_job_that_ends_well_names_nobody() -> None:
    job = MadeJob(1)
    job.run(set(), "host")
    assert job.finished
    assert named(job.dumps(only_active=False)) == set()
