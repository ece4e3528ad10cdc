"""The counts of a class are the same words in every run."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.verdict.story import T0
from triage.model import Findings, Incident, Instant, Outage, Verdict
from triage.report.counts import rows


def verdict(symbol: str) -> Verdict:
    at = Instant.sharp(T0)
    outage = Outage(target="", symbols=f".{symbol}.", began=at, onset=at)
    return Verdict(incident=Incident(id=symbol, engine="vllm", onset=at, outage=outage), fault_class="cublas-fault", family="gpu", fault=True)


@pytest.mark.parametrize("symbols", [*permutations("rtef")][::5])
def test_first_probes_of_which_there_are_as_many_come_in_one_order(symbols: tuple[str, ...]) -> None:
    told = next(row for row in rows(Findings(rules="", verdicts=tuple(map(verdict, symbols)))) if row.fault_class == "cublas-fault")
    assert told.first_probe == "1 5xx, 1 failed, 1 refused, 1 timeout"
