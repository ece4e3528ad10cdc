"""Two sets of rules on one evidence: verdicts are paired by incident, else by engine and time."""

from __future__ import annotations

from triage.model import Event, Findings, Incident, Instant, Place, Verdict
from triage.verdict.changes import changed, compared


def verdict(name: str, fault: str = "cublas-fault", at: float = 1000.0, line: int = 1, source: str = "a.log") -> Verdict:
    root = Event(kind="signature", rule=f"{fault}/x", place=Place(source, source, line), order=line, text="x", at=Instant.sharp(at), fault=fault)
    incident = Incident(id=name, engine="vllm", source=source, onset=Instant.sharp(at))
    return Verdict(incident=incident, fault_class=fault, family="instant", fault=True, root=root)


def findings(*verdicts: Verdict) -> Findings:
    return Findings(rules="r", verdicts=verdicts)


def told(old: Findings, new: Findings) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(c.old.fault_class if c.old else "-", c.new.fault_class if c.new else "-", c.what) for c in changed(compared(old, new))]


def test_the_same_verdict_is_no_change() -> None:
    assert told(findings(verdict("1")), findings(verdict("1"))) == []


def test_another_class_is_one() -> None:
    assert told(findings(verdict("1")), findings(verdict("1", "triton-fault"))) == [("cublas-fault", "triton-fault", ("class",))]


def test_another_line_as_the_root_is_one_too() -> None:
    assert told(findings(verdict("1")), findings(verdict("1", line=9))) == [("cublas-fault", "cublas-fault", ("root",))]


def test_an_incident_with_another_id_is_paired_by_its_engine_and_time() -> None:
    assert told(findings(verdict("1")), findings(verdict("2", "triton-fault", at=1300.0))) == [("cublas-fault", "triton-fault", ("class",))]


def test_what_is_too_far_away_or_of_another_log_is_not_paired() -> None:
    far, other = verdict("2", at=9000.0), verdict("2", source="b.log")
    for new in (far, other):
        assert told(findings(verdict("1")), findings(new)) == [("-", "cublas-fault", ("class",)), ("cublas-fault", "-", ("class",))]


def test_the_id_goes_before_the_time() -> None:
    old, new = findings(verdict("1"), verdict("2", at=1100.0)), findings(verdict("2", at=1100.0), verdict("1"))
    assert told(old, new) == []


def test_every_incident_comes_once() -> None:
    pairs = compared(findings(verdict("1"), verdict("2", at=5000.0)), findings(verdict("1"), verdict("3", at=90000.0)))
    assert [(c.old and c.old.incident.id, c.new and c.new.incident.id) for c in pairs] == [("1", "1"), (None, "3"), ("2", None)]
