"""The raster in a terminal: as wide as asked, each incident counted once, and time that nobody saw told apart from quiet time."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.report.postmortem.made import START, findings, verdict, weeks
from triage.model import Coverage, Gap
from triage.report.sparks import BARS, sparks

GOLDEN = """\
cublas-fault     ··█·█··············█·█···█······█·············█··█····█·············  9
collective-hang  ·········█····················█·············█······················█  4
triton-fault     ··············█········█···············█·····················█······  4
                 11-12                                                          11-28
one column is 6.0 h, █ is 1"""


def test_outage_weeks() -> None:
    assert sparks(weeks(), 120) == GOLDEN


@given(st.lists(st.floats(-86400, 2 * 86400), min_size=1, max_size=40), st.integers(60, 300))
def test_it_fits_and_counts_each_incident_once(times: list[float], width: int) -> None:
    lines = sparks(findings(*(verdict(n, at=t) for n, t in enumerate(times))), width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].endswith(f"  {len(times):,}")
    assert sum(c in BARS for c in lines[0]) <= len(times)


def test_heights_follow_the_counts() -> None:
    text = sparks(findings(*(verdict(n, at=t) for n, t in enumerate((0, 1, 2, 3, 90000)))), 100)
    bars = "".join(c for c in text.splitlines()[0] if c in BARS)
    assert bars == "█▁"
    assert text.endswith("▁ is 1, █ is 4")


def test_time_that_nobody_saw_is_no_quiet_time() -> None:
    seen = Coverage(start=START - 86400, end=START + 2 * 86400, gaps=(Gap(START + 43200, START + 129600, "x"),))
    text = sparks(findings(verdict(1), coverage=seen), 100)
    assert re.search("·+░+·+", text)
    assert text.endswith("░ nobody looked")


def test_nothing_with_a_date_is_nothing() -> None:
    assert sparks(findings(), 100) == ""
