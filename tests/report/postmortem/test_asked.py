"""A report of a part: coverage is cut to the time that was asked for, outages and hints to the classes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.report.postmortem.made import START, findings, verdict, weeks
from triage.model import Coverage, Findings, Gap
from triage.report.postmortem.asked import left_out, of_classes, of_history, of_part, of_time

times = st.none() | st.floats(START - 2000, START + 2000)


@given(times, times)
def test_coverage_never_reaches_out_of_the_time_that_was_asked_for(since: float | None, until: float | None) -> None:
    gaps = (Gap(START - 500, START - 300, "log"), Gap(START + 100, START + 900, "log"))
    seen = of_time(Findings(rules="", coverage=Coverage(start=START - 1000, end=START + 1000, gaps=gaps)), since, until).coverage
    if seen.start is None or seen.end is None:
        assert seen == Coverage()
        return
    assert START - 1000 <= seen.start < seen.end <= START + 1000
    assert since is None or seen.start >= since
    assert until is None or seen.end <= until
    assert all(seen.start <= gap.start < gap.end <= seen.end for gap in seen.gaps)
    assert seen.ratio is not None and 0 <= seen.ratio <= 1


def test_all_that_was_asked_for_stays_as_it_is() -> None:
    assert of_time(weeks(), None, None) is weeks()
    assert of_classes(weeks(), ()) is weeks()
    assert list(left_out(weeks(), ())) == []


def test_of_some_classes_their_outages_and_hints_stay() -> None:
    few = of_classes(weeks(), ("collective-hang",))
    assert [len(few.verdicts), len(few.outages), few.hints, few.probes] == [4, 4, (), 0]
    assert of_classes(weeks(), ("cublas-fault",)).hints == weeks().hints


def test_mitigations_of_a_part_of_the_time_say_so() -> None:
    assert list(of_part(True, None, None)) == list(of_part(False, START, None)) == []
    assert "this time alone" in next(of_part(True, None, START))


def test_what_is_left_out_is_counted() -> None:
    assert list(left_out(findings(verdict(1), verdict(2, fault_class="host-oom")), ("host-oom",))) == [
        "only host-oom was asked for: 1 incident of other classes is not in here"
    ]
    assert len(list(of_history(0, 0))) == 1
    assert list(of_history(2, 1))[1:] == [
        "2 incidents that people dismissed are not counted",
        "1 incident has the class that people gave, not the one that was judged",
    ]
