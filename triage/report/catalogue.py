"""Every rule as one kind of entry, whatever file it stands in, so that all can be listed and shown alike."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from triage.knowledge.configuration import Gate, Mechanism
from triage.knowledge.load import Knowledge
from triage.knowledge.schema import CommonCause, Instrument, Line, ProbeText, Signature, When, Xid

KIND_WORDS = {
    "root": "can be the first fault of an incident; the earliest root over all ranks and processes wins",
    "consequence": "only follows from a fault: it is never a root, and neither is anything else on its line",
    "context": "tells of a fault, of the environment or of a way round: it is never a root, and neither is anything else on its line",
    "teardown": "is printed while a process ends, whatever the reason: never a root",
    "boot": "begins a life of an engine",
    "milestone": "shows how far a boot has come",
    "ready": "shows that the engine answers requests from here on",
    "progress": "proves that tokens were made, or that a long step of the boot still moves",
    "stall": "shows requests running and no token made",
    "stop": "shows that somebody asked the engine to stop",
    "death": "shows that the engine, or a process it cannot live without, is dead",
    "exit": "shows that a process is gone, and how",
    "config": "tells what the engine really booted with",
    "cache": "tells of a cache of compiled code: built here, or read",
    "recorder": "tells whether the flight recorder is armed, or where it wrote",
    "step": "tells which step of the engine failed, and what was scheduled in it",
    "hint": "names no class: it may join incidents of several classes by one cause, as a hint",
    "gate": "names no class; it tells on which side of a branch a traceback or a step was",
    "mechanism": "names no class; it tells whether a way to fail is possible on what an engine booted with",
    "heavy": "changes what it watches: runs with different heavy instruments are never pooled",
    "light": "costs a little all the time: pooled only with runs that carry it, too",
    "passive": "does nothing before the fault: pooled, and named",
    "trouble": "looks like trouble; it is shown where nothing says why something died, and is never a root",
}
SYMBOL_WORDS = {
    ".": "the probe was answered",
    "s": "the probe was answered, slowly or by an engine that is too busy",
    "r": "nobody listens, or the connection broke",
    "t": "no answer in time",
    "e": "the engine itself failed the request",
    "?": "the probe itself could not be made: that says nothing of the engine",
}


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One rule. `group`: the class or the file it belongs to; `kind`: its role, kind or symbol; `marks`: generic, fatal, symptom."""

    id: str
    group: str
    kind: str
    summary: str
    meaning: str = ""
    sources: tuple[str, ...] = ()
    pattern: str = ""
    scan: str = ""
    marks: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    when: When = When()
    safety: str = ""
    samples: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()


def entries(knowledge: Knowledge) -> Iterator[Entry]:
    """All rules, class by class, then those of no class: lines, causes, instruments, probe texts, Xids, gates, mechanisms."""
    for fault in knowledge.classes.values():
        yield from (_signature(s, fault.id) for s in fault.signatures)
    yield from (_signature(s, "echoes") for s in knowledge.echoes)
    for engine in knowledge.engines.values():
        yield from (_line(line, engine.engine) for line in engine.lines)
    yield from (_line(line, "trouble") for line in knowledge.trouble.lines)
    yield from (_common_cause(cause) for cause in knowledge.common_causes.causes)
    yield from (_instrument(one) for one in knowledge.instruments.instruments)
    yield from (_probe_text(text) for text in knowledge.probes.texts)
    yield from (_xid(xid) for xid in knowledge.xids.xids)
    for gates in knowledge.gates.values():
        yield from (_gate(gate) for gate in gates.gates)
    for mechanisms in knowledge.mechanisms.values():
        yield from (_mechanism(one) for one in mechanisms.mechanisms)


def when_words(when: When) -> str:
    """A condition in words; nothing where it asks nothing."""
    parts = [f"in phase {' or '.join(when.phases)}"] if when.phases else []
    parts += [f"before the milestone `{when.before}`"] if when.before else []
    parts += [f"after the milestone `{when.after}`"] if when.after else []
    parts += [f"with a frame that matches {code(when.frame)}"] if when.frame else []
    parts += [f"with no frame that matches {code(when.no_frame)}"] if when.no_frame else []
    return ", ".join(parts)


def code(text: str) -> str:
    """Text as inline code in Markdown, whatever backticks are in it."""
    fence = "`"
    while fence in text:
        fence += "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _signature(rule: Signature, group: str) -> Entry:
    return Entry(
        id=rule.id,
        group=group,
        kind=rule.role,
        summary=rule.summary,
        sources=rule.sources,
        pattern=rule.pattern,
        scan=rule.scan,
        marks=tuple(mark for mark in ("generic", "fatal", "symptom") if getattr(rule, mark)),
        explains=rule.explains,
        when=rule.when,
        safety=rule.safety,
        samples=rule.samples,
        near_misses=rule.near_misses,
    )


def _line(rule: Line, group: str) -> Entry:
    return Entry(
        id=rule.id,
        group=group,
        kind=rule.kind,
        summary=rule.summary.rstrip("."),
        sources=rule.sources,
        pattern=rule.pattern,
        scan=rule.scan,
        samples=rule.samples,
        near_misses=rule.near_misses,
    )


def _common_cause(cause: CommonCause) -> Entry:
    return Entry(
        id=cause.id,
        group="common-causes",
        kind="hint",
        summary=cause.title,
        sources=("engine",),
        pattern=cause.refusals,
        samples=cause.samples,
        near_misses=cause.near_misses,
    )


def _instrument(one: Instrument) -> Entry:
    return Entry(
        id=f"instrument {one.id}",
        group="instruments",
        kind=one.weight,
        summary=one.title,
        meaning=one.effect,
        sources=("trial",),
        pattern=" | ".join(f"{word}: {pattern}" for word, pattern in one.signs.items()),
        samples=one.samples,
        near_misses=one.near_misses,
    )


def _probe_text(text: ProbeText) -> Entry:
    return Entry(
        id=text.id,
        group="probes",
        kind=text.symbol,
        summary=SYMBOL_WORDS[text.symbol],
        sources=("probe",),
        pattern=text.pattern,
        samples=text.samples,
        near_misses=text.near_misses,
    )


def _xid(xid: Xid) -> Entry:
    named = f"Xid {xid.number}"
    return Entry(id=named, group=xid.fault_class or "xid", kind=xid.role, summary=xid.name, meaning=xid.meaning, sources=("kernel", "engine"))


def _gate(gate: Gate) -> Entry:
    return Entry(
        id=f"gate {gate.id}",
        group="gates",
        kind="gate",
        summary=gate.title,
        meaning=". ".join(part for part in (f"0 means: {gate.zero}" if gate.zero else "", gate.note) if part),
        sources=("engine",),
        pattern=gate.enable,
        samples=tuple(" > ".join(sample.frames) for sample in gate.samples if sample.side),
        near_misses=tuple(" > ".join(sample.frames) for sample in gate.samples if not sample.side),
    )


def _mechanism(one: Mechanism) -> Entry:
    told = [(", ".join(f"{name} {value}" for name, value in sample.booted.items()) or "nothing", sample.answer) for sample in one.samples]
    return Entry(
        id=f"mechanism {one.id}",
        group="mechanisms",
        kind="mechanism",
        summary=one.title,
        meaning=f"Where it is so: {one.possible}; where it is not: {one.impossible}",
        sources=("engine",),
        pattern=one.needs,
        samples=tuple(booted for booted, answer in told if answer == "holds"),
        near_misses=tuple(booted for booted, answer in told if answer != "holds"),
    )
