"""Where one life of an engine ends and the next begins."""

from __future__ import annotations

import msgspec

from triage.model import Boot, Event, Instant, Place
from triage.timeline.boots import boots

T0 = 1_000_000.0


class Story:
    """Builds the events of one stream a line at a time."""

    def __init__(self, stream: str = "") -> None:
        self.stream = stream
        self.events: list[Event] = []

    def say(self, kind: str, rule: str = "", *, pid: int | None = None, process: str = "APIServer", file: str = "vllm.log", **data: str) -> Story:
        count = len(self.events) + 1
        self.events.append(
            Event(
                kind=kind,
                rule=rule or f"vllm/{kind}",
                place=Place("vllm.log", file, count * 100, count),
                text=kind,
                at=Instant.sharp(T0 + count),
                stream=self.stream,
                process=process,
                pid=pid,
                data=data,
                order=count,
            )
        )
        return self

    def boots(self) -> list[Boot]:
        return boots(self.events)


def test_several_banner_lines_are_one_boot() -> None:
    story = Story().say("boot", "vllm/boot-banner", version="0.11.2").say("boot", "vllm/boot-args").say("boot", "vllm/boot-engine").say("ready")
    (boot,) = story.boots()
    assert (boot.version, boot.ended_by, boot.engine) == ("0.11.2", "log ends", "vllm")


def test_a_banner_after_ready_or_after_a_death_is_a_new_boot() -> None:
    story = Story().say("boot").say("ready").say("death").say("exit").say("boot").say("ready").say("boot")
    assert [b.ended_by for b in story.boots()] == ["death: vllm/death", "next boot (banner)", "log ends"]


def test_a_second_web_server_beside_the_first_is_no_new_boot() -> None:
    story = Story().say("boot").say("ready").say("boot", "torch/boot-uvicorn", process="").say("ready")
    assert len(story.boots()) == 1
    assert len(story.say("exit").say("boot", "torch/boot-uvicorn", process="").boots()) == 2


def test_a_banner_before_ready_with_another_pid_is_a_new_boot() -> None:
    assert len(Story().say("boot", pid=10).say("boot", "vllm/boot-engine", pid=11, process="EngineCore").boots()) == 1
    assert [b.boundary for b in Story().say("boot", pid=10).say("boot", pid=11).boots()] == ["banner", "pid change"]


def test_the_same_banner_again_after_weights_were_loaded_is_a_new_boot() -> None:
    assert len(Story().say("boot", pid=1).say("boot", pid=1).boots()) == 1
    assert len(Story().say("boot", pid=1).say("milestone", "vllm/milestone-weights").say("boot", pid=1).boots()) == 2


def test_a_gap_in_time_alone_never_cuts() -> None:
    story = Story().say("boot").say("ready").say("progress")
    late = Instant.sharp(T0 + 90 * 86400)
    story.events.append(Event(kind="progress", rule="vllm/progress", place=Place("vllm.log", "vllm.log", 9999, 99), text="", at=late, order=99))
    assert len(story.boots()) == 1


def test_a_log_that_begins_in_the_middle_is_a_boot_of_its_own() -> None:
    first, second = Story().say("progress").say("boot").say("ready").boots()
    assert (first.boundary, first.start, second.boundary) == ("log begins", None, "banner")


def test_journald_invocations_and_container_files_cut_whatever_the_text_says() -> None:
    assert [b.boundary for b in Story().say("progress", invocation="a").say("progress", invocation="b").boots()] == ["log begins", "invocation id"]
    assert [b.boundary for b in Story().say("ready", file="c/0.log").say("ready", file="c/1.log").boots()] == ["log begins", "container file"]


def test_what_an_entrypoint_echoes_after_a_death_belongs_to_the_next_boot() -> None:
    first, second = Story().say("boot").say("death").say("config", NCCL_DEBUG="INFO").say("boot").boots()
    assert "NCCL_DEBUG" not in first.config
    assert second.config["NCCL_DEBUG"] == "INFO"


def test_interleaved_streams_are_cut_each_for_itself() -> None:
    one, two = Story("pod-a").say("boot").say("ready"), Story("pod-b").say("boot").say("death").say("boot")
    mixed = [e for pair in zip(one.events, two.events, strict=False) for e in pair] + two.events[2:]
    assert sorted((b.stream, b.ended_by) for b in boots(mixed)) == [("pod-a", "log ends"), ("pod-b", "death: vllm/death"), ("pod-b", "log ends")]


def test_the_end_of_a_log_alone_is_no_life() -> None:
    end = Event(kind="end", rule="log-ends", place=Place("x", "x.log", 9), text="", order=9)
    assert boots([end]) == []


class Errors(Story):
    """A log of errors alone: the same crash again and again, and never a banner."""

    def crash(self, at: float, *, end: str = "vllm/death-fatal", pid: int = 10) -> Errors:
        start = len(self.events)
        self.say("signature", "cublas-fault/status", process="Worker_TP0").say("death", end, process="EngineCore", pid=pid, last="yes")
        self.say("death", "vllm/death-engine-dead").say("signature", "native-crash/abort", process="Worker_TP0")
        for after, index in zip((0.0, 1.0, 2.0, 25.0), range(start, start + 4), strict=True):
            self.events[index] = msgspec.structs.replace(self.events[index], at=Instant.sharp(T0 + at + after))
        return self


def test_last_words_that_a_process_said_before_are_those_of_another_life() -> None:
    lives = Errors().crash(0).crash(300).crash(9000).boots()
    assert [b.boundary for b in lives] == ["log begins", "last words again", "last words again"]
    assert [[e.rule.split("/")[1] for e in b.events] for b in lives] == [["status", "death-fatal", "death-engine-dead", "abort"]] * 3


def test_the_same_last_words_within_the_time_of_one_death_are_those_of_one_life() -> None:
    story = Story()
    for _ in range(2):
        story.say("death", "vllm/death-fatal", process="EngineCore", last="yes")
    assert len(story.boots()) == 1


def test_last_words_of_another_process_are_of_another_life_however_soon_they_come() -> None:
    story = Errors().crash(0).crash(20, pid=20).crash(40, pid=20)
    for index, after in ((3, 3), (7, 23), (11, 43)):
        story.events[index] = msgspec.structs.replace(story.events[index], at=Instant.sharp(T0 + after))
    assert [[e.at.earliest - T0 for e in b.events if e.at] for b in story.boots()] == [[0, 1, 2, 3], [20, 21, 22, 23, 40, 41, 42, 43]]


def test_two_ranks_that_die_minutes_apart_are_one_life() -> None:
    story = Errors().crash(0)
    later = Story().say("death", "vllm/death-fatal", process="EngineCore_DP1", last="yes").events[0]
    story.events.append(msgspec.structs.replace(later, at=Instant.sharp(T0 + 400), order=99))
    assert len(story.boots()) == 1


def test_what_a_dead_engine_tells_each_request_begins_no_life() -> None:
    story = Errors().crash(0)
    for minute in range(1, 30):
        story.say("death", "vllm/death-engine-dead")
        story.events[-1] = msgspec.structs.replace(story.events[-1], at=Instant.sharp(T0 + 60 * minute))
    assert len(story.boots()) == 1
