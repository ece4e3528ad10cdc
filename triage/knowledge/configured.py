"""Holds the rules on configuration against their own samples: gates, mechanisms, and the options of command lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from triage.knowledge.configuration import EngineFlags, Gate, Mechanism
from triage.knowledge.flaws import Flaw, quoted
from triage.knowledge.predicates import PredicateError, holds, parsed
from triage.knowledge.sides import ConditionError, condition, side_of
from triage.knowledge.whole import Knowledge

ANSWERS = {True: "holds", False: "fails", None: "cannot be observed"}


def configuration_flaws(known: Knowledge) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with rules on configuration, each with the name that `load.ids_in` gives it."""
    for gates in known.gates.values():
        yield from ((f"gate {gate.id}", flaw) for gate in gates.gates for flaw in _of_gate(gate))
    for mechanisms in known.mechanisms.values():
        yield from ((f"mechanism {one.id}", flaw) for one in mechanisms.mechanisms for flaw in _of_mechanism(one))
    for flags in known.flags.values():
        yield from ((f"flags of {flags.engine}", flaw) for flaw in _of_flags(flags))


def configuration_samples(known: Knowledge, mine: set[str]) -> tuple[int, int, int]:
    """How many such rules have these names, how many samples they have, and how many of those must not be matched."""
    gates = [gate for one in known.gates.values() for gate in one.gates if f"gate {gate.id}" in mine]
    mechanisms = [m for one in known.mechanisms.values() for m in one.mechanisms if f"mechanism {m.id}" in mine]
    near = sum(not sample.side for gate in gates for sample in gate.samples) + sum(s.answer != "holds" for m in mechanisms for s in m.samples)
    every = sum(len(gate.samples) for gate in gates) + sum(len(m.samples) for m in mechanisms)
    return len(gates) + len(mechanisms), every - near, near


def _of_gate(gate: Gate) -> Iterator[Flaw]:
    try:
        fixed = condition(gate.enable).fixed
    except ConditionError as error:
        yield Flaw(check="pattern", what=str(error))
        return
    if bool(gate.set_by) == (fixed is not None):
        yield Flaw(check="names", what="a threshold is either a number in `enable` or what one of `set_by` says, not both and not neither")
    if not gate.samples:
        yield Flaw(check="sample", what="has no sample: a traceback and the side it is on")
    if not any(not sample.side for sample in gate.samples):
        yield Flaw(check="near miss", what="has no sample with side = \"\": a traceback of which it must say nothing")
    for number, sample in enumerate(gate.samples, 1):
        said = side_of(gate, sample.frames, sample.version).side
        if said != sample.side:
            yield Flaw(check="sample", what=f"sample {number} is said to be on {said or 'no side'!r}, not {sample.side or 'no side'!r}")


def _of_mechanism(one: Mechanism) -> Iterator[Flaw]:
    try:
        terms = parsed(one.needs)
    except PredicateError as error:
        yield Flaw(check="pattern", what=str(error))
        return
    if {"holds", "fails"} - {sample.answer for sample in one.samples}:
        yield Flaw(check="sample", what="needs a sample on which it holds, and one on which it fails")
    for number, sample in enumerate(one.samples, 1):
        said = ANSWERS[holds(terms, sample.booted.get)]
        if said != sample.answer:
            yield Flaw(check="sample", what=f"sample {number} gives {said!r}, not {sample.answer!r}: {quoted(str(sample.booted))}")


def _of_flags(flags: EngineFlags) -> Iterator[Flaw]:
    spellings = Counter(spelling for flag in flags.flags for spelling in (flag.name, *flag.also))
    for spelling in (spelling for spelling, count in spellings.items() if count > 1):
        yield Flaw(check="id", what=f"{spelling!r} is given to several flags")
    for flag in flags.flags:
        if wrong := [spelling for spelling in flag.also if not spelling.startswith("-")]:
            yield Flaw(check="names", what=f"{flag.name}: {wrong[0]!r} is no option: it begins with no dash")
    if flags.positional and flags.positional not in {flag.name for flag in flags.flags}:
        yield Flaw(check="names", what=f"`positional` names {flags.positional!r}, which is no flag")
