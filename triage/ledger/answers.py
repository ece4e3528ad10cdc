"""What is asked of a mitigation before it is switched on, and what an answer is made of."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.knowledge.load import Knowledge
from triage.ledger.booted import LIBRARIES, Booted, booted
from triage.ledger.entry import Entry
from triage.ledger.presence import Presence, presence
from triage.model import Boot, Event, Findings, Instant, Seconds, Verdict

MECHANISM = "Can the mechanism produce this symptom on the configuration that was booted?"
GATE = "Which side of the gate is the faulting frame on, and would the change move it?"
COST = "What does it cost?"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One of three answers, the sentences for it (the first says the most), and the lines that it rests on.

    `about`: the words of those lines that it is about.
    """

    question: str
    verdict: Presence
    says: tuple[str, ...]
    lines: tuple[Event, ...] = ()
    about: tuple[str, ...] = ()


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One incident of the class, and the configuration of the boot it ended (None where no boot is known)."""

    verdict: Verdict
    boot: Booted | None
    changed: Presence  # whether that boot had the change

    @property
    def at(self) -> Seconds | None:
        found = onset(self.verdict)
        return found.earliest if found else None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A mitigation with the evidence: all boots in order of time, and the incidents of its class, those first that had no change."""

    entry: Entry
    boots: tuple[Booted, ...]
    faults: tuple[Fault, ...]

    @property
    def without(self) -> tuple[Fault, ...]:
        """The incidents in boots that did not have the change, or are not known to have had it."""
        return tuple(fault for fault in self.faults if fault.changed != "holds")

    @property
    def engine(self) -> str:
        return next((one.boot.engine for one in self.boots if one.boot.engine), "vllm")


def case_of(entry: Entry, findings: Findings, captured: dict[str, dict[str, str]] | None = None) -> Case:
    """The case of one entry. `captured`: environments that somebody kept, by the id of their boot."""
    kept = captured or {}
    boots = tuple(booted(boot, kept.get(boot.id)) for boot in findings.boots)
    by_id = {one.boot.id: one for one in boots}
    faults = [_fault(verdict, by_id, entry) for verdict in findings.verdicts if verdict.fault_class == entry.fault_class]
    return Case(entry=entry, boots=boots, faults=tuple(sorted(faults, key=lambda fault: fault.at or 0.0)))


def onset(verdict: Verdict) -> Instant | None:
    of = verdict.incident
    return of.onset or (of.outage.onset if of.outage else None) or of.dead


def carries(entry: Entry, one: Booted) -> Presence:
    """Whether a boot had the change, by all that is known of it."""
    return presence(entry.changes, as_shown(one))


def as_shown(one: Booted) -> Boot:
    """The boot with all that is known of its configuration: captured variables, and libraries under their short names."""
    variables = {name: str(fact.value) for name, fact in one.variables.items()}
    libraries = {name: one.boot.config[key] for name, key in LIBRARIES.items() if key in one.boot.config}
    return msgspec.structs.replace(one.boot, config={**one.boot.config, **variables, **libraries})


def worst(verdicts: Sequence[Presence]) -> Presence:
    """Fails where one fails; holds where all do."""
    return "fails" if "fails" in verdicts else "holds" if verdicts and set(verdicts) == {"holds"} else "cannot be observed"


def _fault(verdict: Verdict, by_id: dict[str, Booted], entry: Entry) -> Fault:
    boot = by_id.get(verdict.incident.boot.id) if verdict.incident.boot else None
    return Fault(verdict=verdict, boot=boot, changed=carries(entry, boot) if boot else "cannot be observed")


def rules_of(known: Knowledge, engine: str) -> tuple[str, ...]:
    """The ids of the mechanisms that the rules know for an engine."""
    return tuple(one.id for one in known.mechanisms[engine].mechanisms) if engine in known.mechanisms else ()
