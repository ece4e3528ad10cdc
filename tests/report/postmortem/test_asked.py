"""A report of a part: outages and hints are cut to the classes that were asked for, and it is said."""

from __future__ import annotations

from tests.report.postmortem.made import START, findings, verdict, weeks
from triage.report.postmortem.asked import left_out, of_classes, of_history, of_part


def test_all_that_was_asked_for_stays_as_it_is() -> None:
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
