"""Asks the first questions of rules/forks.toml: how long it took to die, whether a dump exists, what the first probe saw."""

from __future__ import annotations

from collections.abc import Iterable

from triage.knowledge.schema import Fork, ForkCase, Forks
from triage.model import ForkAnswer, Incident

PROBE_WORDS = {"r": "refused", "t": "a timeout", "e": "a server error", "f": "a failure of no known kind"}
FAMILY_OF_CLASS = {"hang": "hang", "instant": "instant", "memory": "instant", "hardware": "instant"}


def ask(forks: Forks, incident: Incident) -> tuple[ForkAnswer, ...]:
    """Every fork's answer for one incident, with the fact it rests on."""
    return tuple(_answer(fork, incident) for fork in forks.forks)


def agreement(answers: Iterable[ForkAnswer]) -> str:
    """The family that all forks with an answer agree on, or nothing where they disagree or none can tell."""
    told = {a.answer for a in answers if a.answer != "unknown"}
    return told.pop() if len(told) == 1 else ""


def conflicts(answers: Iterable[ForkAnswer], family: str, cited: str) -> tuple[str, ...]:
    """Where a fork says another family than the class does: said, never averaged."""
    expected = FAMILY_OF_CLASS.get(family)
    if expected is None:
        return ()
    return tuple(f"{a.fork} says {a.answer} ({a.because}), but {cited} says {expected}" for a in answers if a.answer not in ("unknown", expected))


def _answer(fork: Fork, incident: Incident) -> ForkAnswer:
    if fork.fact == "time_to_death" and incident.time_to_death is None:
        return ForkAnswer(fork.id, "unknown", "onset or death is not known, so neither is the time between them")
    case = next((c for c in fork.cases if _fits(c, fork, incident)), None)
    if case is None:
        return ForkAnswer(fork.id, "unknown", "no case of this fork fits")
    return ForkAnswer(fork.id, case.answer, case.because.format(**_facts(incident)))


def _fits(case: ForkCase, fork: Fork, incident: Incident) -> bool:
    if fork.fact == "dump":
        idle = incident.dump_state == "present" and incident.dump is None
        return not case.equals or ("idle" if idle else incident.dump_state) in case.equals
    if fork.fact == "probe":
        return not case.equals or (incident.outage is not None and incident.outage.first in case.equals)
    return _fits_time(case, incident)


def _fits_time(case: ForkCase, incident: Incident) -> bool:
    """Whether the whole interval of the time to death lies in the case: half of it decides nothing."""
    span = incident.time_to_death
    if span is None:
        return False
    if case.of_timeout is not None:
        low, high = case.of_timeout
        return incident.timeout is not None and low * incident.timeout <= span.high and span.low <= high * incident.timeout and span.low > 1.0
    if case.below is not None and span.high >= case.below:
        return False
    return case.at_least is None or span.low >= case.at_least


def _facts(incident: Incident) -> dict[str, str]:
    span = incident.time_to_death
    return {
        "seconds": _spoken(span.low, span.high) if span else "?",
        "timeout": f"{incident.timeout:g} s" if incident.timeout else "none known",
        "dump": incident.dump_reason or incident.dump_state,
        "probe": PROBE_WORDS.get(incident.outage.first, "unclear") if incident.outage else "missing",
    }


def _spoken(low: float, high: float) -> str:
    return f"{(low + high) / 2:.0f} s" if high - low <= 2 else f"{low:.0f}-{high:.0f} s"
