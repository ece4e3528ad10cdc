"""What stood around an event in its incident: order, phase, milestones, echoes, and proof that the engine went on."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from triage.expressions import compiled_later
from triage.model import Event, Incident, Instant, Phase, Seconds
from triage.verdict.later import NEVER, Later, is_later
from triage.verdict.phases import Course, milestone

CHAIN_BYTES = 1 << 16
REFUSALS = 3
LIVED_ON: Seconds = 15.0  # a stats line covers the ten seconds before it
LAST_BYTES = 1 << 16  # the rest of a report: the same traceback from other ranks, leaked objects, the shell's word
CLOSED_LINES = ("vllm-closed",)
LEFT_BEHIND = ("leaked-objects",)
ENTRY = compiled_later(r"multiprocessing/process\.py:\d+ _bootstrap$| <program>$")  # where a process begins
ENGINE_FILE = compiled_later(r"(?:^|/)(?:vllm|sglang|tensorrt_llm)/")
SERVER_LINES = ("/boot-banner", "/boot-logo", "/boot-args", "/ready", "/progress-stats", "/progress-decode")


class Context:
    """Questions about one incident's events; answers are computed once."""

    def __init__(self, incident: Incident) -> None:
        self.incident = incident
        self.events = incident.events
        self._clock = _monotone(self.events, incident.source)

    def when(self, event: Event) -> tuple[Seconds, int]:
        """A key that sorts events: within one source by their order, whatever its clock did; other sources are fitted in by time."""
        if event.place.source == self.incident.source:
            return self._clock.get(event.order, 0.0), event.order
        return (event.at.earliest if event.at else 0.0), event.order

    @cached_property
    def _course(self) -> Course | None:
        return Course(self.incident.boot) if self.incident.boot else None

    def phase(self, event: Event) -> Phase:
        return self._course.phase(event) if self._course else "unknown"

    def reached(self, event: Event) -> frozenset[str]:
        return self._course.reached(event) if self._course else frozenset()

    @cached_property
    def _echo_lines(self) -> set[tuple[str, int]]:
        """Lines that a rule knows as a consequence, context or teardown: no exception there is a root."""
        return {e.line for e in self.events if e.role in ("consequence", "context", "teardown")}

    def is_echo(self, event: Event) -> bool:
        return event.line in self._echo_lines

    def first_stop(self) -> Event | None:
        """The first line that says that somebody asked the engine to stop."""
        stops = [e for e in self.events if e.kind == "stop" or (e.role == "root" and e.fault == "external-stop")]
        return min(stops, key=self.when, default=None)

    def first_death(self) -> Event | None:
        """The first death mark after which no tokens were made: what goes on working was not dead, whatever a line said."""
        return self._first_death

    @cached_property
    def _first_death(self) -> Event | None:
        marks = sorted((e for e in self.events if e.kind == "death"), key=self.when)
        return next((e for e in marks if not self._lived_on(e)), None)

    def _lived_on(self, mark: Event) -> bool:
        return mark.at is not None and self._tokens.latest(mark) > mark.at.latest + LIVED_ON

    @cached_property
    def _tokens(self) -> Later:
        return Later(e for e in self.events if e.makes_tokens)

    @cached_property
    def _tokens_alive(self) -> Later:
        """What is counted after the engine's death was made before it: statistics are averages, bars are drawn once more when they close."""
        return Later(e for e in self.events if e.makes_tokens and not self._is_after_death(e))

    @cached_property
    def _ready_alive(self) -> Later:
        return Later(e for e in self.events if e.kind == "ready" and not self._is_after_death(e))

    @cached_property
    def _milestones(self) -> dict[tuple[str, int | None], Later]:
        """The steps of each process's boot."""
        steps: dict[tuple[str, int | None], list[Event]] = {}
        for event in self.events:
            if milestone(event):
                steps.setdefault((event.process, event.pid), []).append(event)
        return {who: Later(found) for who, found in steps.items()}

    def _is_after_death(self, event: Event) -> bool:
        return self._first_death is not None and is_later(event, self._first_death)

    def next_sign_of_life(self, stop: Event | None) -> Instant | None:
        """When something new began after the engine's last words: the stop that was asked for, or the next boot."""
        if stop is not None:
            return stop.at
        return self.incident.next_boot.start if self.incident.next_boot else None

    def refused_health(self) -> bool:
        """Whether an engine that had served answered its health checks with 503 at the end, again and again."""
        refused = [e for e in self.events if e.rule.endswith("stall-health-503")]
        last = refused[-1] if len(refused) >= REFUSALS else None
        return last is not None and self.phase(last) == "serving" and not self.ready_after(last) and not self.progress_after(last, 0.0)

    def served(self) -> bool:
        """Whether any line shows that the engine was up: READY, or tokens made."""
        return any(e.serves for e in self.events)

    def exited(self) -> bool:
        return any(e.kind == "exit" for e in self.events)

    def closed(self) -> bool:
        """Whether the engine's core said that it ended in order."""
        return any(e.rule.endswith(CLOSED_LINES) for e in self.events)

    def left_behind(self) -> Event | None:
        """The last word of a server that ended without any of its own: what the interpreter found left of it."""
        found = next((e for e in reversed(self.events) if e.rule.endswith(LEFT_BEHIND)), None)
        if found is None or self.first_stop() or self.first_death() or self.exited() or self.closed() or self.finished():
            return None
        served = any(e.rule.endswith(SERVER_LINES) for e in self.events)
        return found if served and self.last_words(found) else None

    def finished(self) -> bool:
        """Whether the engine worked for a script, and had done all that was asked of it when last heard of."""
        counted = [e.data for e in self.events if e.makes_tokens]
        return bool(counted) and "total" in counted[-1] and counted[-1].get("done") == counted[-1]["total"]

    def last_words(self, event: Event) -> bool:
        """Whether the log ends with this event: no more than the rest of its report, and nothing that lives on, stands below it.

        A progress bar at nought shows no life: an unwinding process draws it once more.
        """
        end = next((e for e in self.events if e.kind == "end"), None)
        if end is None or end.place.file != event.place.file or end.order - self._last_trouble(event) > LAST_BYTES:
            return False
        lives_on = [e for e in self.events if e.kind in ("boot", "milestone", "ready", "progress") and " 0%" not in e.text]
        return not any(is_later(e, event) for e in lives_on)

    def met_trouble(self) -> bool:
        """Whether something failed, though no line says what: a consequence of it was logged, or the step that it came in."""
        return any(e.role == "consequence" or e.kind == "step" for e in self.events)

    def left_with(self, event: Event) -> bool:
        """Whether an exception of this fault, this one or a later one, came up to where its process began: nobody caught it."""
        return any(e.role == "root" and e.fault == event.fault and not is_later(event, e) and _uncaught(e) for e in self.events)

    def _last_trouble(self, event: Event) -> int:
        """The order of the last line of what one trouble makes processes say, each soon after the one before."""
        last = event.order
        for other in sorted((e for e in self.events if e.role in ("root", "consequence")), key=lambda e: e.order):
            if last < other.order <= last + LAST_BYTES:
                last = other.order
        return last

    def ready_after(self, event: Event) -> bool:
        return self._ready_alive.follow(event)

    def served_after(self, event: Event) -> bool:
        """Whether any line after the event shows an engine that is up."""
        return any(e.serves and is_later(e, event) for e in self.events)

    def milestone_after(self, event: Event) -> bool:
        """Whether the same process came further in its boot after the event."""
        steps = self._milestones.get((event.process, event.pid))
        return steps is not None and steps.follow(event)

    def progress_after(self, event: Event, interval: Seconds) -> bool:
        """Whether tokens were made after the event: by clock beyond one stats interval, without a clock at least twice."""
        latest = self._tokens_alive.latest(event) if event.at else NEVER
        if event.at and latest > NEVER:
            return latest > event.at.latest + interval
        return self._tokens_alive.in_source(event) >= 2

    def same_chain(self, first: Event, later: Event) -> bool:
        """Whether `later` was raised while `first` was handled: one speaker, chained tracebacks, no other in between."""
        if not later.follows or (first.process, first.pid) != (later.process, later.pid):
            return False
        if later.order - first.order > CHAIN_BYTES:
            return False
        between = [e for e in self.events if e.role == "root" and first.order < e.order < later.order and e.process == first.process]
        return all(e.follows or e.line == first.line for e in between)


def _uncaught(event: Event) -> bool:
    """Whether the traceback that ends here begins where a process of the engine begins."""
    return bool(event.frames) and bool(ENTRY.search(event.frames[0])) and any(ENGINE_FILE.search(frame) for frame in event.frames)


def _monotone(events: Iterable[Event], source: str) -> dict[int, Seconds]:
    """For each event of one source, the latest time read up to it: a clock that never runs backwards."""
    clock: dict[int, Seconds] = {}
    latest = 0.0
    for event in sorted((e for e in events if e.place.source == source), key=lambda e: e.order):
        latest = max(latest, event.at.earliest if event.at else latest)
        clock[event.order] = latest
    return clock
