"""Why an incident did not get a class: which condition that class lacked, in words, with the lines that say so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import msgspec
import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.load import Knowledge
from triage.knowledge.schema import FaultClass, Signature
from triage.model import UNCLASSIFIED, Event, Incident, Verdict
from triage.verdict.causes import STATS_INTERVAL, Judgement, was_survived
from triage.verdict.conditions import unmet
from triage.verdict.context import Context
from triage.verdict.explaining import Candidate, explains
from triage.verdict.forks import FAMILY_OF_CLASS

LINES_TOLD = 6
LOOKED_FOR = 8
ECHOES = ("consequence", "context", "teardown")


class Reason(msgspec.Struct, frozen=True):
    """One condition that the class lacked, and the lines that show it."""

    text: str
    lines: tuple[Event, ...] = ()


def why_not(verdict: Verdict, name: str, knowledge: Knowledge) -> tuple[Reason, ...]:
    """What kept `verdict` from the class `name`. Raises KeyError where the rules know no such class."""
    fault = knowledge.classes[name]
    if verdict.fault_class == name:
        return (Reason("it is of this class", (verdict.root,) if verdict.root else ()),)
    asked = _Asked(verdict, fault, knowledge)
    found = [*asked.of_lines(), *_by_progress(verdict, name), *_forks_against(verdict, fault)]
    return tuple(found) or (Reason(f"another class was found first: {verdict.fault_class}", (verdict.root,) if verdict.root else ()),)


class _Asked:
    """One question: an incident, a class, and what stood around its lines."""

    def __init__(self, verdict: Verdict, fault: FaultClass, knowledge: Knowledge) -> None:
        self.verdict = verdict
        self.incident = verdict.incident
        self.fault = fault
        self.knowledge = knowledge
        self.context = Context(verdict.incident)
        self.candidates = Judgement(knowledge).candidates(self.context)
        self.signatures = {s.id: s for s in fault.signatures if s.role == "root"}

    def of_lines(self) -> Iterator[Reason]:
        """What is to be said of each line that a signature of the class matched; of none, what was looked for."""
        matched = _first_of_each(e for e in self.incident.events if e.role == "root" and e.fault == self.fault.id and e.rule in self.signatures)
        echoed = list(self._on_echoes({e.line for e in matched}))
        if not matched and not echoed:
            yield from self._nothing_matched()
        for event in matched[:LINES_TOLD]:
            text, others = self._of_line(event, self.signatures[event.rule])
            yield Reason(f"{event.rule} matched, but {text}", (event, *others))
        yield from echoed[:LINES_TOLD]

    def _nothing_matched(self) -> Iterator[Reason]:
        if not self.signatures:
            return
        shown = [f"{s.id}: {s.summary}" for s in list(self.signatures.values())[:LOOKED_FOR]]
        more = len(self.signatures) - len(shown)
        yield Reason(f"none of its signatures matched a line of this incident ({'; '.join(shown)}{f'; and {more} more' if more else ''})")
        kernel = [s.id for s in self.signatures.values() if "kernel" in s.sources]
        if kernel and not any(e.origin == "kernel" for e in self.incident.events):
            missing = f"no kernel line belongs to this incident, where {', '.join(kernel[:LOOKED_FOR])} would stand"
            yield Reason(f"{missing}: pass the kernel's log too, where it was not read")

    def _on_echoes(self, told: Collection[tuple[str, int]]) -> Iterator[Reason]:
        """Lines that a signature would match and that a rule knows as an echo: no exception there is a root."""
        for echo in _first_of_each(e for e in self.incident.events if e.role in ECHOES and e.line not in told):
            hit = next((s for s in self.signatures.values() if regex.search(s.pattern, echo.text, timeout=SECONDS_PER_LINE)), None)
            if hit is not None:
                text = f"{hit.id} would match, but {echo.rule} knows the line as {echo.role}: what fails on such a line failed before it"
                yield Reason(text, (echo,))

    def _of_line(self, event: Event, signature: Signature) -> tuple[str, tuple[Event, ...]]:
        """Why a line that matched did not make the class, with other lines that show it; the first reason there is."""
        one = Candidate(event, signature, self.fault.fault)
        condition = unmet(signature.when, event, self.context)
        if condition:
            return condition, ()
        if self.context.is_echo(event):
            return self._echoed(event)
        if was_survived(one, self.context):
            return "the engine went on after it, so it cannot be what ended it", _proof(event, self.context)
        cause = next((c for c in self.candidates if c.event is not event and c.fault and explains(c, one)), None)
        if cause is not None:
            return f"{cause.event.rule} explains it: that is what it follows from, even where its line stands later", (cause.event,)
        return self._of_order(event, signature)

    def _echoed(self, event: Event) -> tuple[str, tuple[Event, ...]]:
        rule = next(e for e in self.incident.events if e.line == event.line and e.role in ECHOES)
        return f"{rule.rule} knows the line as {rule.role}: what fails on such a line failed before it", ()

    def _of_order(self, event: Event, signature: Signature) -> tuple[str, tuple[Event, ...]]:
        root, stop = self.verdict.root, self.context.first_stop()
        if stop is not None and self.verdict.fault_class in ("external-stop", "engine-stall") and stop is not event:
            return self._stopped(event, signature, stop)
        if root is not None and not self.fault.fault and self.verdict.fault:
            return f"it is no fault, and there is one with a root of its own ({self.verdict.fault_class})", (root,)
        if root is None:
            return "nothing died, exited, stopped answering or began anew after it, and by itself it is not deadly", ()
        if event.line == root.line:
            return f"{root.rule} says the same line more exactly", ()
        if self.context.when(event) > self.context.when(root):
            return f"it came after the root ({root.rule}), so it is a consequence", (root,)
        return self._gave_way(signature, root)

    def _stopped(self, event: Event, signature: Signature, stop: Event) -> tuple[str, tuple[Event, ...]]:
        if self.context.when(stop) < self.context.when(event):
            return "somebody had asked the engine to stop before it: what fails while it stops is a consequence", (stop,)
        deadly = "" if signature.fatal else ", and by itself it is not deadly"
        return f"nothing had died when somebody asked the engine to stop{deadly}", (stop,)

    def _gave_way(self, signature: Signature, root: Event) -> tuple[str, tuple[Event, ...]]:
        if signature.symptom:
            return f"it is a symptom, which does not say why, and {root.rule} does", (root,)
        if signature.generic:
            return f"it only says that something was raised, and {root.rule} in the same report says what", (root,)
        return f"{root.rule} was found to be the root", (root,)


def _first_of_each(events: Iterable[Event]) -> list[Event]:
    """The first event of each rule."""
    first: dict[str, Event] = {}
    for event in events:
        first.setdefault(event.rule, event)
    return list(first.values())


def _proof(event: Event, context: Context) -> tuple[Event, ...]:
    """The line that shows that the engine went on: it was ready, or made tokens beyond one interval of its stats."""
    later = [e for e in context.events if context.when(e) > context.when(event) and (e.kind == "ready" or e.makes_tokens)]
    clear = [e for e in later if e.kind == "ready" or not (e.at and event.at) or e.at.earliest > event.at.latest + STATS_INTERVAL]
    return tuple((clear or later)[:1])


def _by_progress(verdict: Verdict, name: str) -> Iterator[Reason]:
    """The classes that are found by what the engine did, not by a text alone."""
    conditions: dict[str, Callable[[Incident, Context], list[str]]] = {
        "saturation": _lacks_for_saturation,
        "slow-start": _lacks_for_slow_start,
        "engine-stall": _lacks_for_stall,
        "external-stop": _lacks_for_stop,
        "collective-hang": _lacks_for_hang,
    }
    if name in conditions:
        yield from (Reason(text) for text in conditions[name](verdict.incident, Context(verdict.incident)))
    if name == UNCLASSIFIED and verdict.root is not None:
        yield Reason(f"a root was found, so it is known what it was: {verdict.fault_class}", (verdict.root,))


def _lacks_for_saturation(incident: Incident, context: Context) -> list[str]:
    outage = incident.outage
    if outage is None:
        return ["nobody outside was kept waiting: no failed probe belongs to it"]
    lacks = [f"the first failed probe was no timeout ({outage.symbols[:20]}): a busy engine keeps its port open"] if outage.first != "t" else []
    lacks += ["the probes did not get better by themselves"] if outage.ended is None else []
    lacks += ["the engine died"] if context.first_death() is not None else []
    return lacks + ([] if any(e.makes_tokens for e in incident.events) else ["no line shows tokens made while the probes failed"])


def _lacks_for_slow_start(_incident: Incident, context: Context) -> list[str]:
    return ["the engine had served before: it was no longer starting"] if context.served() else []


def _lacks_for_stall(_incident: Incident, context: Context) -> list[str]:
    stuck = [e for e in context.events if e.kind == "stall"]
    return [] if stuck else ["the engine never said that requests ran without progress"]


def _lacks_for_stop(_incident: Incident, context: Context) -> list[str]:
    stop, death = context.first_stop(), context.first_death()
    if stop is None:
        return ["no line says that somebody asked the engine to stop"]
    return ["something was dead before somebody asked the engine to stop"] if death and context.when(death) < context.when(stop) else []


def _lacks_for_hang(incident: Incident, _context: Context) -> list[str]:
    if incident.dump is not None:
        return []
    return [f"no flight-recorder dump shows ranks that wait for each other ({incident.dump_state}: {incident.dump_reason})"]


def _forks_against(verdict: Verdict, fault: FaultClass) -> Sequence[Reason]:
    expected = FAMILY_OF_CLASS.get(fault.family)
    against = [a for a in verdict.forks if a.answer not in ("unknown", expected)] if expected else []
    return [Reason(f"the fork {a.fork} says {a.answer} ({a.because}); this class is of family {fault.family}") for a in against]
