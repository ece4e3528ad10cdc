"""Which class an incident gets: root before consequence, stops, recoveries, outages; with small rules made for the test."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.verdict.story import Story, outage
from triage.knowledge.load import Knowledge, load
from triage.knowledge.schema import EngineLines, FaultClass, Signature, When
from triage.model import Place, Verdict
from triage.verdict.judge import Judge


def signature(name: str, **more: Any) -> Signature:
    more.setdefault("role", "root")
    return Signature(id=name, pattern="x", summary="for the test", samples=("x",), near_misses=("y",), **more)


def fault(name: str, family: str, *signatures: Signature, fault: bool = True) -> FaultClass:
    return FaultClass(id=name, family=family, fault=fault, title=name, meaning="", decides="", signatures=signatures)  # type: ignore[arg-type]


KNOWLEDGE = Knowledge(
    version="test",
    forks=load().forks,
    engines={"vllm": EngineLines(engine="vllm", defaults={"execute_model_timeout": 300.0, "nccl_timeout": 600.0})},
    classes={
        c.id: c
        for c in (
            fault("illegal-memory-access", "instant", signature("illegal-memory-access/test", fatal=True, explains=("*",))),
            fault("cublas-fault", "instant", signature("cublas-fault/test", fatal=True)),
            fault("device-assert", "instant", signature("device-assert/test", fatal=True, explains=("*", "cublas-fault/test"))),
            fault("collective-hang", "hang", signature("collective-hang/test", fatal=True)),
            fault("engine-stall", "hang", signature("engine-stall/test")),
            fault("engine-exception", "instant", signature("engine-exception/test", generic=True)),
            fault(
                "start-refused",
                "boot",
                signature("start-refused/test"),
                signature("start-refused/early", generic=True, when=When(before="load")),
                signature("start-refused/import", when=When(frame=r"<module>")),
            ),
            fault("gpu-hardware", "hardware", signature("gpu-hardware/xid", fatal=True, sources=("kernel",), explains=("illegal-memory-access",))),
            fault("native-crash", "instant", signature("native-crash/kernel", fatal=True, sources=("kernel",), explains=("native-crash",))),
            fault(
                "external-stop",
                "none",
                signature("external-stop/test", explains=("external-stop/signal",)),
                signature("external-stop/signal"),
                fault=False,
            ),
            fault("saturation", "none", fault=False),
            fault("slow-start", "none", signature("slow-start/test"), fault=False),
        )
    },
)


def judged(story: Story, *outages: Any) -> list[Verdict]:
    return Judge(KNOWLEDGE).verdicts(story.incidents(*outages))


def classes(story: Story, *outages: Any) -> list[str]:
    return [v.fault_class for v in judged(story, *outages)]


def test_a_day_without_trouble_is_no_incident() -> None:
    assert classes(Story().served().progress().progress()) == []


def test_the_earliest_root_wins_however_loud_the_rest() -> None:
    (verdict,) = judged(Story().served().root("illegal-memory-access", process="Worker_TP3").root("cublas-fault").death())
    assert verdict.fault_class == "illegal-memory-access"
    assert verdict.runner_up == "cublas-fault"
    assert "cublas-fault/test" in [e.rule for e in verdict.consequences]


@pytest.mark.parametrize(
    ("later", "rank", "process", "name"),
    [
        (2, 3, "Worker", "device-assert"),
        (2, 3, "", "device-assert"),
        (2, 4, "", "cublas-fault"),
        (2, None, "EngineCore", "cublas-fault"),  # it may have heard of any of its workers
        (2, None, "", "device-assert"),
        (11, 3, "Worker", "cublas-fault"),
    ],
)
def test_a_call_that_meets_a_sticky_error_seconds_before_it_is_named_is_its_echo(later: int, rank: int | None, process: str, name: str) -> None:
    story = Story().served().root("cublas-fault", at=100, rank=3, process="Worker", pid=7)
    assert classes(story.root("device-assert", at=100 + later, rank=rank, process=process, pid=9 if rank is None else 7).death()) == [name]


def test_what_else_a_generic_rule_sees_in_an_echos_line_goes_with_it() -> None:
    story = Story().served().root("cublas-fault", at=100)
    story.root("engine-exception", place=story.events[-1].place, at=100).root("device-assert", at=103).death()
    assert classes(story) == ["device-assert"]
    assert classes(Story(clock=False).served().root("cublas-fault").root("device-assert").death()) == ["device-assert"]


def test_without_a_clock_the_order_in_the_log_decides() -> None:
    assert classes(Story(clock=False).served().root("cublas-fault").root("illegal-memory-access").death()) == ["cublas-fault"]


def test_a_root_after_which_tokens_were_made_did_not_kill() -> None:
    story = Story().served().root("engine-exception", at=100).progress(at=120).progress(at=130).death(at=200)
    (verdict,) = judged(story)
    assert verdict.fault_class == "unclassified"
    assert verdict.hints


def test_one_stats_line_right_after_the_fault_proves_nothing_for_it_is_an_average() -> None:
    assert classes(Story().served().root("cublas-fault", at=100).progress(at=104).death(at=110)) == ["cublas-fault"]


def test_a_generic_exception_gives_way_to_the_specific_one_of_the_same_line() -> None:
    story = Story().served().root("engine-exception")
    story.root("cublas-fault", place=story.events[-1].place, at=story.now).death()
    assert classes(story) == ["cublas-fault"]


def test_a_generic_exception_gives_way_to_the_specific_one_raised_from_it_but_not_to_a_stranger() -> None:
    chained = Story().served().root("engine-exception", process="Worker", pid=1).root("cublas-fault", process="Worker", pid=1, follows=True).death()
    stranger = Story().served().root("engine-exception", process="Worker", pid=1).root("cublas-fault", process="Worker", pid=2).death()
    assert classes(chained) == ["cublas-fault"]
    assert classes(stranger) == ["engine-exception"]


def test_an_exception_that_a_rule_knows_as_an_echo_is_no_root() -> None:
    story = Story().served().root("engine-exception")
    story.consequence(place=story.events[-1].place).death()
    assert classes(story) == ["unclassified"]


def test_a_stop_before_everything_explains_what_follows() -> None:
    (verdict,) = judged(Story().served().stop().death().root("engine-exception"))
    assert (verdict.fault_class, verdict.fault) == ("external-stop", False)
    assert verdict.root is not None
    assert verdict.root.rule == "vllm/stop-signal"


def test_a_stop_after_a_deadly_fault_is_a_consequence() -> None:
    assert classes(Story().served().root("cublas-fault").stop()) == ["cublas-fault"]


def test_a_request_that_raised_hours_before_an_orderly_stop_killed_nothing() -> None:
    assert classes(Story().served().root("engine-exception", at=100).stop(at=9000).say("exit", "vllm/exit")) == ["external-stop"]


def test_a_stop_after_a_long_timeout_outage_ended_a_stall() -> None:
    story = Story().served().stop(at=1000)
    assert classes(story, outage("tttttttt", 500, 1300)) == ["engine-stall"]


def test_death_without_root_is_unclassified_and_its_family_comes_from_the_forks() -> None:
    (verdict,) = judged(Story().served().death(at=500), outage("rrr", 510, 700))
    assert (verdict.fault_class, verdict.family) == ("unclassified", "instant")


def test_an_outage_alone_claims_its_family_and_no_more() -> None:
    verdicts = Judge(KNOWLEDGE).verdicts(Story().incidents(outage("rr", 100, 300), outage("tttr", 900, 2000)))
    assert [(v.fault_class, v.family) for v in verdicts] == [("unclassified", "instant"), ("unclassified", "hang")]


def test_timeouts_with_tokens_in_the_log_and_no_new_boot_are_saturation() -> None:
    story = Story().served()
    for at in range(10, 400, 10):
        story.progress(at=float(at))
    assert classes(story, outage("tt", 120, 240)) == ["saturation"]


def test_tokens_made_only_after_an_outage_may_be_those_of_another_life_in_a_gap_of_the_log() -> None:
    story = Story().served()
    story.progress(at=100.0)
    for at in range(240 + 620, 240 + 900, 10):
        story.progress(at=float(at))
    assert classes(story, outage("tt", 120, 240)) == ["unclassified"]


def test_tokens_soon_after_an_outage_are_those_of_the_engine_that_did_not_answer() -> None:
    story = Story().served().progress(at=100.0).progress(at=500.0)
    assert classes(story, outage("tt", 120, 240)) == ["saturation"]


def test_refused_probes_while_the_log_shows_tokens_are_not_explained_away() -> None:
    story = Story().served()
    for at in range(10, 400, 10):
        story.progress(at=float(at))
    assert classes(story, outage("rr", 120, 240)) == ["unclassified"]


def test_a_new_boot_after_a_serving_one_without_any_word_of_its_end_is_unclassified() -> None:
    assert classes(Story().served().boot(at=500).say("ready", "vllm/ready")) == ["unclassified"]


def test_a_new_boot_after_a_minute_in_which_nothing_moved_ended_a_stall() -> None:
    story = Story().served().say("stall", "vllm/stall-shm", at=100).say("stall", "vllm/stall-shm", at=160).boot(at=500)
    assert classes(story) == ["engine-stall"]
    assert classes(Story().boot().say("stall", "vllm/stall-shm", at=100).boot(at=500)) == []


def test_a_log_that_just_ends_is_no_death() -> None:
    assert classes(Story().served().progress()) == []
    assert classes(Story().boot()) == []


def test_conditions_on_milestones_and_frames() -> None:
    early = Story().boot().root("start-refused", "start-refused/early").death()
    late = Story().boot().say("milestone", "vllm/milestone-load").root("start-refused", "start-refused/early").death()
    framed = Story().boot().root("start-refused", "start-refused/import", frames=("a.py:1 <module>",)).death()
    unframed = Story().boot().root("start-refused", "start-refused/import", frames=("a.py:1 main",)).death()
    assert [classes(s) for s in (early, late, framed, unframed)] == [["start-refused"], ["unclassified"], ["start-refused"], ["unclassified"]]


def test_a_hang_is_timed_by_the_watchdog_line_and_the_refused_probe_conflicts_with_it() -> None:
    story = Story().served().root("collective-hang", at=700, data={"ran_ms": "600028", "timeout_ms": "600000"})
    story.say("death", "torch/death-watchdog", place=story.events[-1].place, at=700, data={"ran_ms": "600028", "timeout_ms": "600000"})
    (verdict,) = judged(story, outage("rrr", 710, 1000))
    span = verdict.incident.time_to_death
    assert span is not None
    assert span.seconds == pytest.approx(600, abs=1)
    assert verdict.conflicts and "probe says instant" in verdict.conflicts[0]


def test_hardware_explains_the_fault_that_the_process_reported_around_it() -> None:
    story = Story().served().root("illegal-memory-access", at=100).death(at=101)
    event, place = story.events[-2], Place("kern.log", "kern.log", 7, 1)
    later = event.at.shifted(2.0) if event.at else None
    xid = msgspec.structs.replace(event, rule="gpu-hardware/xid", fault="gpu-hardware", at=later, place=place, order=1)
    (incident,) = story.incidents()
    (verdict,) = Judge(KNOWLEDGE).verdicts([msgspec.structs.replace(incident, events=(*incident.events, xid))])
    assert verdict.fault_class == "gpu-hardware"


def test_two_lines_of_one_class_do_not_explain_each_other_away() -> None:
    story = Story(clock=False).root("native-crash", "native-crash/kernel").root("native-crash", "native-crash/kernel")
    assert classes(story) == ["native-crash"]


def test_a_crash_right_below_an_exception_does_not_take_its_place() -> None:
    story = Story().served().root("engine-exception").root("native-crash", "native-crash/kernel").death()
    assert classes(story) == ["engine-exception"]


def test_who_sent_a_signal_is_cited_before_who_received_it() -> None:
    (verdict,) = judged(Story().served().root("external-stop", "external-stop/signal").root("external-stop"))
    assert verdict.root is not None
    assert verdict.root.rule == "external-stop/test"


def test_a_slow_start_is_told_only_while_it_lasts() -> None:
    slow = Story().boot().root("slow-start")
    assert classes(slow) == ["slow-start"]
    assert classes(slow.say("ready", "vllm/ready")) == []


def test_a_slow_start_is_over_when_tokens_are_made_though_no_line_said_ready() -> None:
    assert classes(Story().boot().root("slow-start").progress()) == []


def test_a_boot_that_came_to_a_later_milestone_passed_the_load_though_none_was_printed() -> None:
    late = Story().boot().say("milestone", "vllm/milestone-kv-cache").root("start-refused", "start-refused/early").death()
    assert classes(late) == ["unclassified"]


def test_tokens_counted_after_the_death_were_made_before_it() -> None:
    story = Story(clock=False).served().root("engine-exception").death().progress().progress()
    assert classes(story) == ["engine-exception"]


def test_an_engine_core_that_ended_in_order_before_a_new_boot_did_not_vanish() -> None:
    vanished = Story().served().boot(at=500)
    closed = Story().served().say("signature", "teardown/vllm-closed", role="teardown").boot(at=500)
    assert [classes(s) for s in (vanished, closed)] == [["unclassified"], []]


def test_a_script_that_had_done_all_its_prompts_before_a_new_boot_did_not_vanish() -> None:
    done = Story().boot().say("progress", "vllm/progress-offline", data={"done": "9", "total": "9"}).boot(at=500)
    cut = Story().boot().say("progress", "vllm/progress-offline", data={"done": "4", "total": "9"}).boot(at=500)
    assert [classes(s) for s in (done, cut)] == [[], ["unclassified"]]


def left(story: Story) -> Story:
    story.say("signature", "teardown/leaked-objects", role="teardown", text="resource_tracker: There appear to be 6 leaked shared_memory objects")
    return story.say("end", "log-ends")


def test_a_server_of_which_only_leaked_objects_are_told_ended_and_nothing_says_why() -> None:
    (verdict,) = judged(left(Story().served()))
    assert verdict.fault_class == "unclassified"
    assert verdict.root is not None
    assert verdict.root.rule == "teardown/leaked-objects"


def test_leaked_objects_of_a_script_or_after_a_stop_tell_nothing() -> None:
    script = Story().say("boot", "vllm/boot-engine").say("progress", "vllm/progress-offline", data={"done": "9", "total": "9"})
    assert classes(left(script)) == []
    assert classes(left(Story().served().stop())) == ["external-stop"]


def test_a_bar_at_nought_below_an_exception_is_no_life() -> None:
    story = Story().boot().root("engine-exception")
    story.say("progress", "torch/boot-progress-shards", text="Loading safetensors checkpoint shards:   0% Completed | 0/9").say("end", "log-ends")
    moving = Story().boot().root("engine-exception")
    moving.say("progress", "torch/boot-progress-shards", text="Loading safetensors checkpoint shards:  11% Completed | 1/9").say("end", "log-ends")
    assert [classes(s) for s in (story, moving)] == [["engine-exception"], []]


def test_the_line_that_says_who_sent_a_signal_is_the_root_and_no_other() -> None:
    told = signature("external-stop/signal", generic=True)
    sender = signature("external-stop/scheduler", explains=("external-stop/signal",))
    stops = fault("external-stop", "none", told, signature("external-stop/other"), sender, fault=False)
    judge = Judge(msgspec.structs.replace(KNOWLEDGE, classes={**KNOWLEDGE.classes, "external-stop": stops}))
    story = Story().served().root("external-stop", "external-stop/signal").root("external-stop", "external-stop/other")
    (unsent,) = judge.verdicts(story.incidents())
    (sent,) = judge.verdicts(story.root("external-stop", "external-stop/scheduler").incidents())
    assert [v.root.rule for v in (unsent, sent) if v.root] == ["external-stop/signal", "external-stop/scheduler"]


def test_a_long_silence_before_a_stop_is_a_stall_only_when_no_step_may_take_that_long() -> None:
    def stopped(after: float) -> Story:
        return Story().served().say("stall", "vllm/stall-stats", at=100).stop(at=100 + after)

    assert [classes(stopped(after)) for after in (120, 400)] == [["external-stop"], ["engine-stall"]]
