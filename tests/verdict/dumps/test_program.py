"""On programs in which one rank did something else: "proven" is never said of an innocent rank, "likely" hardly ever."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.made_dumps import Job
from tests.verdict.dumps.made_program import FAULTS, MadeProgram
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.document import from_containers
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps import analyse

SEEDS = 200
KINDS: dict[str, dict[str, Any]] = {
    "whole": {},
    "active": {"only_active": True},
    "short ring": {"ring": 3},
    "shortest ring": {"ring": 1},
    "old": {"version": "2.2"},
    "old, short ring": {"version": "2.2", "ring": 5},
    "first": {"version": "1.4"},
}


def said(made: Job) -> dict[str, set[int]]:
    """The ranks of each strength."""
    recordings = tuple(digest(from_containers(of_rank, 1 << 20), rank=rank, file="x") for rank, of_rank in made.items())
    suspects = analyse(RankDumps(directory="x", recordings=recordings)).suspects
    return {strength: {s.rank for s in suspects if s.strength == strength} for strength in ("proven", "likely", "cannot-tell")}


def spoiled(seed: int, fault: str, *, gloo: bool = False) -> tuple[MadeProgram, int] | None:
    program = MadeProgram(seed, gloo=gloo)
    guilty = program.random.randrange(program.world)
    if not program.spoil(guilty, fault):
        return None
    program.run()
    return None if program.finished else (program, guilty)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(FAULTS), st.sampled_from(list(KINDS)), st.booleans())
def test_proven_is_never_said_of_an_innocent_rank(seed: int, fault: str, kind: str, gloo: bool) -> None:
    if (found := spoiled(seed, fault, gloo=gloo)) is not None:
        program, guilty = found
        assert said(program.dumps(**KINDS[kind]))["proven"] <= {guilty}


@pytest.mark.parametrize("kind", KINDS)
def test_likely_is_hardly_ever_said_of_an_innocent_rank(kind: str) -> None:
    count: Counter[str] = Counter()
    for seed in range(SEEDS):
        if (found := spoiled(seed, FAULTS[seed % len(FAULTS)])) is not None:
            program, guilty = found
            told = said(program.dumps(**KINDS[kind]))
            named = told["proven"] | told["likely"]
            count["wrong" if named - {guilty} else "right" if named else "not told"] += 1
    assert count["wrong"] <= (0.06 if "ring" in kind else 0.02) * count.total()
    assert count["right"] >= 0.4 * count.total()


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
@example(1, False)
def test_a_program_that_ends_names_nobody(seed: int, gloo: bool) -> None:
    program = MadeProgram(seed, gloo=gloo)
    program.run()
    if program.finished:
        assert said(program.dumps())["proven"] | said(program.dumps())["likely"] == set()
