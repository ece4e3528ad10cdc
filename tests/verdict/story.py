"""Builds incidents for tests of the verdict: a line at a time, with clock or without."""

from __future__ import annotations

from typing import Any

from triage.model import Event, Incident, Instant, Outage, Place
from triage.timeline.boots import boots
from triage.timeline.incidents import join

T0 = 1_760_000_000.0


class Story:
    """The lines of one engine's log. Every call moves the clock one second unless `at` says otherwise."""

    def __init__(self, *, clock: bool = True) -> None:
        self.events: list[Event] = []
        self.clock = clock
        self.now = 0.0

    def say(self, kind: str, rule: str, *, at: float | None = None, text: str = "", **more: Any) -> Story:
        self.now = self.now + 1 if at is None else at
        count = len(self.events) + 1
        place = more.pop("place", Place("vllm.log", "vllm.log", count * 100, count))
        order = next((e.order for e in self.events if e.place == place), count)  # what stands at one place stands in the same line
        self.events.append(
            Event(
                kind=kind,
                rule=rule,
                place=place,
                text=text or rule,
                at=Instant.sharp(T0 + self.now) if self.clock else None,
                order=order,
                **more,
            )
        )
        return self

    def boot(self, at: float | None = None) -> Story:
        return self.say("boot", "vllm/boot-banner", at=at)

    def served(self) -> Story:
        return self.boot().say("ready", "vllm/ready").say("progress", "vllm/progress-stats")

    def root(self, fault: str, rule: str = "", **more: Any) -> Story:
        return self.say("signature", rule or f"{fault}/test", role="root", fault=fault, **more)

    def consequence(self, rule: str = "echoes/test", **more: Any) -> Story:
        return self.say("signature", rule, role="consequence", **more)

    def death(self, rule: str = "vllm/death-engine-dead", **more: Any) -> Story:
        return self.say("death", rule, **more)

    def stop(self, **more: Any) -> Story:
        return self.say("stop", "vllm/stop-signal", **more)

    def progress(self, **more: Any) -> Story:
        return self.say("progress", "vllm/progress-stats", **more)

    def incidents(self, *outages: Outage) -> list[Incident]:
        return join(boots(self.events), outages, [], [])


def outage(symbols: str, began: float, ended: float | None, *, before: float = 60.0) -> Outage:
    """An outage whose last good probe was `before` seconds earlier than its first failing one; seconds after T0."""
    return Outage(
        target="http://a/health",
        symbols=symbols,
        began=Instant.sharp(T0 + began),
        onset=Instant(T0 + began - before, T0 + began, "computed"),
        ended=Instant.sharp(T0 + ended) if ended is not None else None,
    )
