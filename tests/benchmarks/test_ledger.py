"""The simulation of the ledger: few changes that did nothing are called supported, and one that works is soon."""

from __future__ import annotations

import pytest

from benchmarks.ledger import clustered, poisson, trial
from triage.ledger.entry import Claim

LEDGERS = 300


@pytest.mark.parametrize(("counts", "most"), [(poisson, 0.05), (clustered(2.0), 0.08)], ids=["poisson", "clustered"])
def test_an_unchanged_rate_is_seldom_called_supported(counts: object, most: float) -> None:
    wrong, _ = trial(LEDGERS, 17, counts, Claim(), 1.0, 7)  # type: ignore[arg-type]
    assert 0 < wrong <= most


def test_a_true_elimination_at_one_a_day_takes_about_four_days() -> None:
    right, median = trial(LEDGERS, 17, poisson, Claim(), 0.0, 8)
    assert right > 0.99
    assert 3 <= median <= 4.5


def test_a_tenth_that_is_left_refutes_no_reduction_to_a_tenth() -> None:
    right, _ = trial(100, 17, poisson, Claim("reduces", 0.1), 0.1, 9)
    assert right > 0.9
