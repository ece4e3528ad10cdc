"""Real dumps with known culprits, where a checkout has them beside it: NCCL incidents and gloo cases, none of which is part of this tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.parsers.flight_recorder import read_folder
from triage.verdict.dumps import analyse

REAL = Path(__file__).parents[3].parent / "shared" / "dumps"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="no real dumps beside the checkout")

GUILTY = {
    "nccl-lock-gil-1st": {9, 14},
    "nccl-gpu-error-1st": {12, 14},
    "gloo-ok/stuck": set(),
    "gloo-skip/stuck": {1},
    "gloo-skip-continue/stuck": {1},
    "gloo-size/stuck": {1},
    "gloo-dtype/stuck": {1},
    "gloo-type/stuck": {1},
    "gloo-crash/stuck": {1},
    "gloo-ring/stuck": {1},
    "gloo-slow/stuck": {1},
    "gloo-slow/after": {1},
    "gloo-subgroup/stuck": {3},
    "gloo-subgroup/stuck-json": {3},
    "gloo-order/stuck": {1},
}


@pytest.mark.parametrize("case", GUILTY)
def test_exactly_the_guilty_ranks_are_named(case: str) -> None:
    (hang,) = read_folder([str(REAL / case)])
    assert {suspect.rank for suspect in analyse(hang).suspects} == GUILTY[case]
