"""Standings and ladders, as records with the fields that are read, become what a postmortem shows."""

from __future__ import annotations

from types import SimpleNamespace as Record

from tests.report.postmortem.made import START
from triage.report.postmortem.given import Mitigation, Rung
from triage.report.postmortem.records import mitigations, trial


def standing(**parts: object) -> Record:
    words = {"claimed": Record(since=START + 60)}
    cost = Record(text="decode 39.4 -> 29.9 tok/s")
    entry = Record(name="piecewise", fault_class="collective-hang", claim="eliminates", cost=cost, note="by its title")
    mitigation = Record(entry=entry, registered=START, said=words.get)
    given = {"mitigation": mitigation, "status": "refuted", "reason": "it came again", "accrual": Record(effective=START + 600),
             "refuted_by": Record(at=START + 9000, id="3fa2b1c0")}  # fmt: skip
    return Record(**(given | parts))


def test_a_standing_is_shown_with_its_times_and_what_refuted_it() -> None:
    assert mitigations([standing()]) == (
        Mitigation(name="piecewise", fault_class="collective-hang", status="refuted", claim="eliminates", cost="decode 39.4 -> 29.9 tok/s",
                   note="it came again; by its title", claimed=START + 60, since=START + 600, refuted=START + 9000, refuted_by="3fa2b1c0"),
    )  # fmt: skip


def test_one_that_no_boot_carries_has_no_time_in_effect() -> None:
    (shown,) = mitigations([standing(status="void", refuted_by=None, accrual=Record(effective=None))])
    assert (shown.since, shown.refuted, shown.refuted_by) == (None, None, "")


def test_what_was_in_effect_when_the_evidence_begins_was_so_since_nobody_knows_when() -> None:
    assert [m.since for m in mitigations([standing()], asked=START + 600)] == [None]
    assert [m.since for m in mitigations([standing()], asked=START + 599)] == [START + 600]


def test_a_ladder_tells_runs_that_lived_and_runs_that_did_not() -> None:
    rungs = [Record(build="0.31", setting="gpu_memory_utilization", value=0.94, margin=174.0, survived=3, ran=3),
             Record(build="0.31", setting="gpu_memory_utilization", value=0.95, margin=-48.0, survived=1, ran=5)]  # fmt: skip
    assert trial("t", Record(item="burst", rungs=rungs)).rungs == (
        Rung(build="0.31", setting="0.94", margin_mib=174.0, passed=3), Rung(build="0.31", setting="0.95", margin_mib=-48.0, passed=1, failed=4),
    )  # fmt: skip
    assert trial("t").rungs == ()
