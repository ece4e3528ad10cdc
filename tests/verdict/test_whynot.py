"""Why an incident is not of a class: each condition that a class can lack, with small rules made for the test and with whole logs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from tests.lives import Life, log
from tests.verdict.story import Story, outage
from tests.verdict.test_judge import KNOWLEDGE, judged, signature
from triage.cli.main import main
from triage.knowledge.schema import When
from triage.model import Outage, Place, Verdict
from triage.verdict.judge import Judge
from triage.verdict.whynot import Reason, why_not

WEEKS = Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks" / "logs"


def reasons(story: Story, name: str, *outages: Outage) -> list[Reason]:
    (verdict,) = judged(story, *outages)
    return list(why_not(verdict, name, KNOWLEDGE))


def said(story: Story, name: str, *outages: Outage) -> str:
    return "; ".join(reason.text for reason in reasons(story, name, *outages))


def test_a_class_of_which_no_signature_matched_tells_what_was_looked_for() -> None:
    told = said(Story().served().root("cublas-fault").death(), "illegal-memory-access")
    assert "none of its signatures matched a line of this incident (illegal-memory-access/test: for the test)" in told


def test_a_class_that_stands_in_kernel_logs_asks_for_one() -> None:
    assert "pass the kernel's log too" in said(Story().served().root("cublas-fault").death(), "gpu-hardware")


def test_what_came_after_the_root_is_a_consequence_and_both_lines_are_shown() -> None:
    (reason, *_) = reasons(Story().served().root("illegal-memory-access").root("cublas-fault").death(), "cublas-fault")
    assert "it came after the root (illegal-memory-access/test)" in reason.text
    assert [line.rule for line in reason.lines] == ["cublas-fault/test", "illegal-memory-access/test"]


@pytest.mark.parametrize(
    ("story", "rule", "words"),
    [
        (Story().boot().say("milestone", "vllm/milestone-load").root("start-refused", "start-refused/early").death(), "early", "milestone load"),
        (Story().boot().root("start-refused", "start-refused/import", frames=("a.py:1 main",)).death(), "import", "none of the 1 above it is"),
        (Story().boot().root("start-refused", "start-refused/import").death(), "import", "no traceback stands above it"),
    ],
)
def test_a_condition_on_milestone_or_frame_that_failed(story: Story, rule: str, words: str) -> None:
    told = said(story, "start-refused")
    assert f"start-refused/{rule} matched, but it counts only" in told
    assert words in told


@pytest.mark.parametrize(
    ("when", "words"),
    [
        (When(phases=("boot",)), "only in phase boot, and this line stands in phase serving"),
        (When(after="capture"), "only after the milestone capture"),
        (When(no_frame="main"), "does not count with a frame like 'main'"),
    ],
)
def test_the_other_conditions(when: When, words: str) -> None:
    asked = msgspec.structs.replace(KNOWLEDGE.classes["cublas-fault"], signatures=(signature("cublas-fault/test", fatal=True, when=when),))
    knowledge = msgspec.structs.replace(KNOWLEDGE, classes={**KNOWLEDGE.classes, "cublas-fault": asked})
    story = Story().served().root("cublas-fault", frames=("a.py:1 main",)).death()
    (verdict,) = Judge(knowledge).verdicts(story.incidents())
    assert verdict.fault_class == "unclassified"
    assert words in "; ".join(reason.text for reason in why_not(verdict, "cublas-fault", knowledge))


def test_an_exception_on_the_line_of_an_echo() -> None:
    story = Story().served().root("engine-exception")
    story.consequence(place=story.events[-1].place).death()
    assert "echoes/test knows the line as consequence" in said(story, "engine-exception")


def test_a_line_that_the_reader_passed_over_because_it_is_an_echo() -> None:
    story = Story().served().consequence(text="x marks the spot").death()
    (reason, *_) = reasons(story, "cublas-fault")
    assert "cublas-fault/test would match, but echoes/test knows the line as consequence" in reason.text


def test_what_the_engine_went_on_after_shows_the_line_that_proves_it() -> None:
    story = Story().served().root("engine-exception", at=100).progress(at=104).progress(at=120).progress(at=130).death(at=200)
    (reason, *_) = reasons(story, "engine-exception")
    assert "the engine went on after it" in reason.text
    assert [line.kind for line in reason.lines] == ["signature", "progress"]
    raised, proof = (line.at.earliest if line.at else 0.0 for line in reason.lines)
    assert proof - raised == 20.0  # the one four seconds after it is an average that proves nothing


def test_what_another_log_explains_though_it_stands_later() -> None:
    story = Story().served().root("illegal-memory-access", at=100).death(at=101)
    event, place = story.events[-2], Place("kern.log", "kern.log", 7, 1)
    later = event.at.shifted(2.0) if event.at else None
    xid = msgspec.structs.replace(event, rule="gpu-hardware/xid", fault="gpu-hardware", at=later, place=place, order=1)
    (incident,) = story.incidents()
    (verdict,) = Judge(KNOWLEDGE).verdicts([msgspec.structs.replace(incident, events=(*incident.events, xid))])
    assert verdict.fault_class == "gpu-hardware"
    (reason, *_) = why_not(verdict, "illegal-memory-access", KNOWLEDGE)
    assert "gpu-hardware/xid explains it" in reason.text


def test_a_generic_signature_gave_way_to_a_specific_one() -> None:
    chained = Story().served().root("engine-exception", process="Worker", pid=1).root("cublas-fault", process="Worker", pid=1, follows=True).death()
    assert "only says that something was raised" in said(chained, "engine-exception")


def test_the_same_line_says_it_more_exactly() -> None:
    story = Story().served().root("engine-exception")
    story.root("cublas-fault", place=story.events[-1].place, at=story.now).death()
    assert "cublas-fault/test says the same line more exactly" in said(story, "engine-exception")


def test_a_stop_came_first() -> None:
    assert "asked the engine to stop before it" in said(Story().served().stop().death().root("engine-exception"), "engine-exception")
    orderly = Story().served().root("engine-exception", at=100).stop(at=900).say("exit", "vllm/exit")
    assert "nothing had died when somebody asked the engine to stop" in said(orderly, "engine-exception")


def test_what_is_no_fault_gives_way_to_a_fault() -> None:
    told = said(Story().boot().root("slow-start").root("cublas-fault").death(), "slow-start")
    assert "it is no fault, and there is one with a root of its own (cublas-fault)" in told


def test_the_forks_answer_against_it() -> None:
    told = said(Story().served().root("cublas-fault", at=100).death(at=101), "collective-hang")
    assert "the fork time-to-death says instant" in told
    assert "this class is of family hang" in told


def test_a_hang_without_a_dump_says_what_is_known_of_the_dump() -> None:
    assert "no flight-recorder dump shows ranks that wait for each other" in said(Story().served().death(), "collective-hang")


@pytest.mark.parametrize(
    ("name", "failed", "words"),
    [
        ("saturation", (), "nobody outside was kept waiting"),
        ("saturation", (outage("rr", 10, 300),), "the first failed probe was no timeout (rr)"),
        ("slow-start", (), "it was no longer starting"),
        ("engine-stall", (), "never said that requests ran without progress"),
        ("external-stop", (), "no line says that somebody asked the engine to stop"),
    ],
)
def test_classes_that_are_found_by_what_the_engine_did(name: str, failed: tuple[Outage, ...], words: str) -> None:
    assert words in said(Story().served().root("cublas-fault").death(), name, *failed)


def test_of_its_own_class_the_root_is_shown() -> None:
    (reason,) = reasons(Story().served().root("cublas-fault").death(), "cublas-fault")
    assert reason.text == "it is of this class"
    assert [line.rule for line in reason.lines] == ["cublas-fault/test"]


def test_unclassified_is_what_has_no_root() -> None:
    knowledge = msgspec.structs.replace(KNOWLEDGE, classes={**KNOWLEDGE.classes, "unclassified": KNOWLEDGE.classes["saturation"]})
    (verdict,) = judged(Story().served().root("cublas-fault").death())
    assert "a root was found" in "; ".join(r.text for r in why_not(verdict, "unclassified", knowledge))


def test_a_class_that_the_rules_do_not_know() -> None:
    (verdict,) = judged(Story().served().root("cublas-fault").death())
    with pytest.raises(KeyError):
        why_not(verdict, "tea-spill", KNOWLEDGE)


# ------------------------------------------------------------------------------------------------- on the command line


def asked(verdict: str, name: str, *paths: str) -> str:
    return CliRunner().invoke(main, ["explain", verdict, "--why-not", name, *paths]).stdout


def test_the_command_shows_reasons_with_file_and_line(tmp_path: Path) -> None:
    life = Life(3).serves().raises(1, "RuntimeError: CUDA error: an illegal memory access was encountered")
    life.raises(2, "RuntimeError: CUDA error: CUBLAS_STATUS_INTERNAL_ERROR when calling `cublasGemmEx(handle)`").dies()
    path = log(tmp_path, life)
    shown = asked("all", "cublas-fault", path)
    number = next(n for n, line in enumerate(Path(path).read_text().splitlines(), 1) if "CUBLAS_STATUS" in line)
    assert "illegal-memory-access; why not cublas-fault:" in shown
    assert "it came after the root" in shown
    assert f"{path}:{number}" in shown


def test_each_class_has_an_answer_for_each_incident_of_seventeen_days() -> None:
    import triage
    from triage.knowledge.load import load

    knowledge = load()
    verdicts: tuple[Verdict, ...] = triage.classify([str(WEEKS)]).verdicts
    assert len(verdicts) == 17
    assert all(why_not(verdict, name, knowledge) for verdict in verdicts for name in knowledge.classes)


def test_a_class_that_is_none_is_refused_with_those_there_are() -> None:
    result = CliRunner().invoke(main, ["explain", "all", "--why-not", "tea-spill", str(WEEKS)])
    assert result.exit_code == 2
    assert "cublas-fault" in result.stderr
