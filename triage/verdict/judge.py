"""Names each incident: timing, forks, root; then the class, what agrees, what speaks against it, and what evidence is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from triage.knowledge.load import Knowledge
from triage.model import UNCLASSIFIED, Dump, Event, Family, ForkAnswer, Incident, Place, Span, Verdict
from triage.verdict import forks, instants
from triage.verdict.causes import Causes, Judgement
from triage.verdict.context import Context
from triage.verdict.facts import facts
from triage.verdict.health import health_hints
from triage.verdict.loops import folded
from triage.verdict.naming import fault_class, is_fault
from triage.verdict.recorder import dump_state

ALIVE = ("slow-start", "saturation", "client-error")  # classes in which the engine is not dead
Confidence = Literal["strong", "fair", "weak"]


class Judge:
    """Judges incidents by one set of rules. `since` names the start that the time to death is measured from."""

    def __init__(self, knowledge: Knowledge, *, since: str = "onset", dumps_were_read: bool = False) -> None:
        self.knowledge = knowledge
        self.since = since
        self.dumps_were_read = dumps_were_read
        self._causes = Judgement(knowledge)

    def verdicts(self, incidents: Iterable[Incident]) -> list[Verdict]:
        """One verdict for each incident that is one; boots in which nothing happened are left out."""
        judged = (self.judge(incident) for incident in incidents)
        return folded([verdict for verdict in judged if verdict is not None])

    def judge(self, incident: Incident) -> Verdict | None:
        """The verdict on one incident, or None where its evidence shows nothing that went wrong or was stopped."""
        context = Context(incident)
        causes, mild = self._causes.causes(context), self._causes.harmless(context)
        fault = fault_class(context, causes, mild)
        if fault is None:
            return None
        if causes.root is None or causes.root.fault != fault:
            causes = _citing(fault, causes, mild, context)
        return self._verdict(self._timed(context, causes, fault), causes, fault)

    def _timed(self, context: Context, causes: Causes, fault: str) -> Incident:
        incident = context.incident
        state, reason = dump_state(incident, place_was_read=self.dumps_were_read)
        timeout = instants.timeout_in_force(incident, self.knowledge)
        began, began_from = instants.onset(context, causes)
        dead, dead_from = instants.dead(incident, began) if fault not in ALIVE else (None, "")
        fields = {"dump_state": state, "dump_reason": reason, "timeout": timeout, "onset": began, "onset_from": began_from}
        fields |= {"dead": dead, "dead_from": dead_from, "recovered": instants.recovered(incident)}
        timed = msgspec.structs.replace(incident, **fields)
        span: Span | None = instants.time_to_death(timed, self.since)
        phase = context.phase(causes.root) if causes.root else timed.phase
        return msgspec.structs.replace(timed, time_to_death=span, phase=phase)

    def _verdict(self, incident: Incident, causes: Causes, fault: str) -> Verdict:
        answers = forks.ask(self.knowledge.forks, incident)
        known = self.knowledge.classes.get(fault)
        family: Family = known.family if known and fault != UNCLASSIFIED else _family_by_forks(forks.agreement(answers))
        against = forks.conflicts(answers, family, f"the text ({fault})") if fault != UNCLASSIFIED else _disagreement(answers)
        return Verdict(
            incident=incident,
            fault_class=fault,
            family=family,
            fault=is_fault(fault, self.knowledge),
            forks=answers,
            root=causes.root,
            consequences=causes.consequences,
            runner_up=causes.runner_up.fault if causes.runner_up else "",
            runner_up_lost=causes.lost,
            conflicts=against,
            hints=(*_recovered(causes), *health_hints(incident, hung=family == "hang")),
            missing=_missing(incident),
            confidence=_confidence(causes, answers, against),
            facts=facts(incident, causes.root, family),
        )


def _citing(fault: str, causes: Causes, mild: Causes, context: Context) -> Causes:
    """The causes with a root of the class that was decided on: a stop, the dump, something mild, or none."""
    bare = msgspec.structs.replace(causes, root=None, signature=None, consequences=(), runner_up=None, lost="")
    if mild.root is not None and mild.root.fault == fault:
        return mild
    if fault == "external-stop" and causes.stop is not None:
        return msgspec.structs.replace(bare, root=causes.stop)
    if fault == "collective-hang" and context.incident.dump is not None:
        return msgspec.structs.replace(bare, root=_dump_event(context.incident.dump))
    return msgspec.structs.replace(bare, root=context.left_behind()) if fault == UNCLASSIFIED else bare


def _dump_event(dump: Dump) -> Event:
    waiting = f"ranks {', '.join(map(str, dump.waiting))} wait" if dump.waiting else f"dumps of ranks {', '.join(map(str, dump.ranks))}"
    sequence = f", sequence {dump.sequence}" if dump.sequence is not None else ""
    text = f"flight recorder: {waiting} in {dump.operation or 'a collective'}{sequence}"
    place = Place(dump.directory, dump.directory, 0)
    return Event(kind="dump", rule="collective-hang/dump", place=place, text=text, at=dump.onset, role="root", fault="collective-hang")


def _family_by_forks(agreed: str) -> Family:
    return "hang" if agreed == "hang" else "instant" if agreed == "instant" else "-"


def _disagreement(answers: Sequence[ForkAnswer]) -> tuple[str, ...]:
    told = [a for a in answers if a.answer != "unknown"]
    if len({a.answer for a in told}) <= 1:
        return ()
    return ("the forks disagree: " + "; ".join(f"{a.fork} says {a.answer}" for a in told),)


def _recovered(causes: Causes) -> tuple[str, ...]:
    return tuple(f"recovered from, so not the cause: {e.text[:160]}" for e in causes.recovered[:3])


def _missing(incident: Incident) -> tuple[str, ...]:
    """What evidence would have helped, and how to have it next time."""
    out = []
    if incident.dump_state == "not armed":
        out.append("no flight-recorder dump could exist: set TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 before the next boot")
    if incident.dump_state == "not collected":
        out.append(f"flight-recorder dumps: {incident.dump_reason}; keep the folder of TORCH_FR_DUMP_TEMP_FILE on a volume and pass it too")
    if incident.boot is None:
        out.append("the engine's own log of that time: pass it too (docker logs -t NAME 2>&1)")
    if incident.outage is None:
        out.append("a probe log: none covers this incident, so nobody outside the engine saw it fail")
    return tuple(out)


def _confidence(causes: Causes, answers: Sequence[ForkAnswer], against: Sequence[str]) -> Confidence:
    if against or causes.root is None:
        return "weak"
    if causes.signature is not None and causes.signature.generic:
        return "fair"
    return "strong" if any(a.answer != "unknown" for a in answers) else "fair"
