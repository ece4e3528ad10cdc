"""Root before consequence: of all that was said in an incident, finds the first fault that nothing before it explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from triage.knowledge.load import Knowledge
from triage.knowledge.schema import Signature
from triage.model import Event, Seconds
from triage.verdict.conditions import holds
from triage.verdict.context import Context
from triage.verdict.explaining import Candidate, unexplained

STATS_INTERVAL: Seconds = 10.0
MILD = ("slow-start", "saturation", "client-error")  # classes that nothing follows from
REPORT_BYTES = 2048  # an announcement and its `what():` are a few lines apart


class Causes(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: the root and its signature, what follows from it, who came second and why it lost."""

    root: Event | None = None
    signature: Signature | None = None
    consequences: tuple[Event, ...] = ()
    runner_up: Event | None = None
    lost: str = ""
    recovered: tuple[Event, ...] = ()
    stop: Event | None = None


class Judgement:
    """Finds causes with one set of rules. `signatures` are looked up by the id that an event carries."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.signatures = {s.id: s for c in knowledge.classes.values() for s in c.signatures} | {s.id: s for s in knowledge.echoes}

    def causes(self, context: Context) -> Causes:
        """The root of an incident, if its events show one. `recovered` are roots after which the engine went on."""
        able = [c for c in self.candidates(context) if c.fault and not context.is_echo(c.event)]
        survived, standing = _parted(able, lambda c: was_survived(c, context))
        recovered = tuple(c.event for c in survived)
        stop = context.first_stop()
        standing = unexplained(sorted(standing, key=lambda c: context.when(c.event)))
        chosen = _first(standing, context)
        if chosen is None:
            return Causes(recovered=recovered, stop=stop)
        second = next((c for c in standing if c.event.fault != chosen.event.fault), None)
        return Causes(
            root=chosen.event,
            signature=chosen.signature,
            consequences=_after(chosen.event, context),
            runner_up=second.event if second else None,
            lost=_why_lost(chosen, second, context) if second else "",
            recovered=recovered,
            stop=stop,
        )

    def harmless(self, context: Context) -> Causes:
        """The first line that tells of something which is no fault (a stop, a slow start, a client's mistake)."""
        found = [c for c in self.candidates(context) if not c.fault]
        found.sort(key=lambda c: context.when(c.event))
        if not found:
            return Causes(stop=context.first_stop())
        first = _most_telling(found)
        return Causes(
            root=first.event,
            signature=first.signature,
            consequences=_after(first.event, context),
            stop=context.first_stop(),
        )

    def candidates(self, context: Context) -> list[Candidate]:
        """The lines of an incident that may be its root, as far as each signature's own conditions go."""
        found = []
        for event in context.events:
            signature = self.signatures.get(event.rule) if event.role == "root" else None
            if signature and holds(signature.when, event, context):
                found.append(Candidate(event, signature, self.knowledge.classes[event.fault].fault))
        return found


def _parted(candidates: Iterable[Candidate], question: Callable[[Candidate], bool]) -> tuple[list[Candidate], list[Candidate]]:
    """Those of which it holds, and the others."""
    parts: tuple[list[Candidate], list[Candidate]] = ([], [])
    for candidate in candidates:
        parts[not question(candidate)].append(candidate)
    return parts


def was_survived(candidate: Candidate, context: Context) -> bool:
    """Whether the engine demonstrably went on after the event, so that it cannot be what killed it.

    A stats line is an average over the interval before it, so one within that interval proves nothing.
    """
    event = candidate.event
    if context.ready_after(event):
        return True
    if candidate.signature.generic and context.milestone_after(event):
        return True
    return context.progress_after(event, STATS_INTERVAL)


def _first(candidates: Sequence[Candidate], context: Context) -> Candidate | None:
    """The earliest candidate; a symptom gives way to an exact one, a generic one to a specific one of the same report."""
    if not candidates:
        return None
    first = candidates[0]
    if first.signature.symptom:
        death = context.first_death()
        exact = (c for c in candidates if not c.signature.symptom and (death is None or context.when(c.event) <= context.when(death)))
        first = next(exact, first)
    if not first.signature.generic:
        return first
    specific = (c for c in candidates if not c.signature.generic and _same_report(first.event, c.event, context))
    return next(specific, first)


def _most_telling(mild: Sequence[Candidate]) -> Candidate:
    """The first of what is no fault; where it only says that a signal came, the line that says by its rule who sent it."""
    first = mild[0]
    return next((c for c in mild if first.event.rule in c.signature.explains), first)


def _same_report(first: Event, other: Event, context: Context) -> bool:
    """Whether two lines tell of one thing: one line, one chain of exceptions, or an announcement and its `what():` below it.

    A crash below an exception is no part of it: the exception said why, and the process fell over what it had left behind.
    """
    if other.line == first.line or context.same_chain(first, other):
        return True
    if (first.fault, other.fault) == ("engine-exception", "native-crash"):
        return False
    same_speaker = (other.process, other.pid, other.place.file) == (first.process, first.pid, first.place.file)
    return same_speaker and 0 < other.order - first.order <= REPORT_BYTES


def _after(root: Event, context: Context) -> tuple[Event, ...]:
    """What followed from the root: the first line of each rule that tells something, and of each line the rule that tells most."""
    telling = {"consequence": 0, "death": 1, "root": 2, "exit": 3, "teardown": 4}
    later = [e for e in context.events if context.when(e) > context.when(root) and e.fault not in MILD]
    ranked = [(telling[kind], e) for e in later if (kind := e.role or e.kind) in telling]
    best: dict[tuple[str, int], Event] = {}
    for _, event in sorted(ranked, key=lambda r: (r[0], context.when(r[1]))):
        if event.line != root.line:
            best.setdefault(event.line, event)
    by_rule: dict[str, Event] = {}
    for event in sorted(best.values(), key=context.when):
        by_rule.setdefault(event.rule, event)
    return tuple(by_rule.values())


def _why_lost(chosen: Candidate, second: Candidate, context: Context) -> str:
    if chosen.event.line == second.event.line:
        return "the same line says it more exactly"
    if second.signature.generic and not chosen.signature.generic and context.when(second.event) < context.when(chosen.event):
        return "it only says that something was raised; the same chain of exceptions names what"
    return "it came after the root"
