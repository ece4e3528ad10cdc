"""What a postmortem gathers: figures that agree with the table, limits that are named, and no class lost."""

from __future__ import annotations

import msgspec

from tests.report.postmortem.made import DAY, START, findings, known, many, say, verdict, weeks
from triage.model import Coverage, Findings, Gap, Problem
from triage.report.postmortem.gather import gather
from triage.report.postmortem.given import Mitigation
from triage.report.postmortem.parts import Postmortem


def parts(found: Findings, **given: object) -> Postmortem:
    return gather(found, known(), say(), now=START, **given)  # type: ignore[arg-type]


def test_the_figures_of_outage_weeks() -> None:
    of = parts(weeks())
    assert dict(of.figures) | {"engine-hours up": "", "minutes down": ""} == {
        "incidents": "17", "minutes down": "", "longest outage": "18 min", "outages by probe": "17", "engine-hours up": "", "boots": "18",
        "time covered": "100%", "window": "17.0 d",
    }  # fmt: skip
    down = sum((c.down_low or 0) for c in of.cards) / 60
    assert dict(of.figures)["minutes down"] == f"{down:,.0f}"
    assert [(lane.fault_class, lane.count) for lane in of.lanes] == [
        ("cublas-fault", 9), ("collective-hang", 4), ("triton-fault", 4), ("unclassified", 0),
    ]  # fmt: skip


def test_a_card_has_what_explain_has() -> None:
    (card,) = [c for c in parts(weeks()).cards if c.fault_class == "collective-hang" and c.when.startswith("2026-11-14")]
    facts = dict(card.facts)
    assert facts["died after"] == "600 s (since onset); timeout in force 600 s"
    assert facts["on"] == "rank 3"
    assert facts["dump"].startswith("present: 8 ranks")
    assert [fork for fork, answer in card.forks if answer.startswith("hang")] == ["time-to-death", "dump", "probe"]
    assert any(name == "the dumps point at" and text.startswith("rank 3 (proven)") for name, text in card.notes)


def test_what_limits_the_answer_is_said() -> None:
    blind = findings(
        verdict(1), msgspec.structs.replace(verdict(2), fault_class="unclassified", root=None),
        coverage=Coverage(start=START, end=START + 86400, gaps=(Gap(START + 7200, START + 9000, "probe.log"),)),
        problems=(Problem("engine.log.3.gz", "is cut off"),), assumptions=("the year is that of the file",),
    )  # fmt: skip
    told = "\n".join(parts(blind).limits)
    for words in ("no coverage", "engine.log.3.gz: is cut off", "clock: the year is that of the file", "1 incident unclassified"):
        assert words in told


def test_incidents_without_an_end_or_a_date_are_named() -> None:
    of = verdict(1)
    bare = msgspec.structs.replace(of.incident, onset=None, dead=None, recovered=None, outage=None, time_to_death=None)
    told = "\n".join(parts(findings(msgspec.structs.replace(of, incident=bare))).limits)
    assert "1 incident without a seen end: not in the minutes down" in told
    assert "1 incident without a date" in told


def test_a_class_in_two_families_is_two_lanes_with_names_of_their_own() -> None:
    other = msgspec.structs.replace(verdict(2), family="hang")
    of = parts(findings(verdict(1), other))
    assert {lane.name for lane in of.lanes if lane.count} == {"cublas-fault (instant)", "cublas-fault (hang)"}
    assert of.sentence == "2 incidents: 2 cublas-fault."


def test_what_is_no_fault_is_told_apart() -> None:
    stop = msgspec.structs.replace(verdict(2), fault_class="external-stop", family="none", fault=False)
    of = parts(findings(verdict(1), stop))
    assert of.sentence == "1 incident: 1 cublas-fault. 1 other event was no fault."
    assert dict(of.figures)["incidents"] == "1"


def test_a_share_of_time_never_reads_as_all_where_it_is_not() -> None:
    nearly = findings(coverage=Coverage(start=START, end=START + 1e6, gaps=(Gap(START, START + 1000, "x"),)))
    assert dict(parts(nearly).figures)["time covered"] == "99.90%"


def test_the_timeline_has_changes_and_mitigations_between_the_incidents() -> None:
    measure = Mitigation(name="m", fault_class="cublas-fault", status="refuted", claimed=START + 1, refuted=START + 9e4)
    found = findings(verdict(1, config={"x": "1"}), verdict(2, config={"x": "2"}))
    lines = [line.what for line in parts(found, mitigations=(measure,)).timeline]
    assert lines == [
        "mitigation m (cublas-fault): claimed", "cublas-fault, died after 90 s; down 10 min", "configuration E2: x: 1 → 2",
        "cublas-fault, died after 90 s; down 10 min", "mitigation m (cublas-fault): refuted",
    ]  # fmt: skip


def test_a_long_timeline_is_told_by_the_day_or_the_month() -> None:
    assert all(len(line.when) == len("2026-11") for line in parts(many(400)).timeline)
    assert sum(int(n) for line in parts(many(400)).timeline for n in line.what.replace(",", "").split() if n.isdigit()) == 400


def test_hosts_have_one_pseudonym_each_and_what_was_taken_out_is_counted() -> None:
    of = parts(findings(verdict(1, host="gpu-a", text="gpu-a died"), verdict(2, host="gpu-b", text="gpu-b and gpu-a died")))
    assert [c.evidence[0].text for c in of.cards] == ["HOST1 died", "HOST2 and HOST1 died"]
    assert int(dict(of.redacted)["host"]) >= 3


def test_a_class_that_was_seen_in_two_years_is_seen_with_the_years() -> None:
    found = findings(verdict(1), verdict(2, at=100 * DAY), coverage=Coverage(start=START - DAY, end=START + 101 * DAY))
    lane = gather(found, known(), say(), now=START).lanes[0]
    assert lane.seen == "2026-11-12 .. 2027-02-20"
