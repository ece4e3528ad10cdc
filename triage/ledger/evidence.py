"""What a ledger is held against: the lives of the engines with the time each could be seen serving, and the deaths in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from triage.ledger.entry import Falsifier
from triage.ledger.stretches import Stretch, merged
from triage.model import UNCLASSIFIED, Boot, Findings, Seconds, Verdict

STOPPED = "external-stop"


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict as the ledger sees it: when (seconds), which life it ended, and whether it counts as a fault in service."""

    id: str
    at: Seconds
    fault_class: str
    fault: bool
    phase: str
    boot: str
    host: str
    texts: tuple[str, ...] = ()


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One boot with the time (seconds) in which it served, as far as anything shows it."""

    boot: Boot
    start: Seconds
    end: Seconds


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Lives and deaths in order of time, what nobody saw, and when engines had nothing to do (None: cannot be known from this evidence)."""

    lives: tuple[Life, ...] = ()
    deaths: tuple[Death, ...] = ()
    gaps: tuple[Stretch, ...] = ()
    idle: tuple[Stretch, ...] | None = None
    start: Seconds | None = None
    until: Seconds | None = None
    dismissed: frozenset[str] = frozenset()  # ids that a person has said do not count


def evidence_of(findings: Findings, *, idle: Iterable[Stretch] | None = None, dismissed: Iterable[str] = ()) -> Evidence:
    """The evidence in what was found by one run, or in what the history holds."""
    coverage = findings.coverage
    deaths = sorted((d for v in findings.verdicts if (d := _death(v)) is not None), key=lambda d: d.at)
    ends = [at.latest for at in (boot.end for boot in findings.boots) if at]
    until = coverage.end if coverage.end is not None else max([*ends, *(d.at for d in deaths)], default=None)
    return Evidence(
        lives=tuple(_lives(findings, until)),
        deaths=tuple(deaths),
        gaps=tuple((gap.start, gap.end) for gap in coverage.gaps),
        idle=tuple(merged(idle)) if idle is not None else None,
        start=coverage.start,
        until=until,
        dismissed=frozenset(dismissed),
    )


def on_hosts(hosts: Sequence[str], *names: str) -> bool:
    """Whether something is on one of the hosts: by its host, or by a log named `vllm@host`. What names no host may be on any."""
    told = [name for name in names if name]
    ends = {part for name in told for part in (name, name.rpartition("@")[2])}
    return not hosts or not told or not ends.isdisjoint(hosts)


def matches(falsifier: Falsifier, death: Death) -> bool:
    """Whether a death is the observation that a falsifier names; what somebody stopped, and what never served, counts only literally."""
    if falsifier.after is not None and death.at <= falsifier.after:
        return False
    if not on_hosts(falsifier.hosts, death.host):
        return False
    if falsifier.kind == "literal":
        return True
    if not death.fault or death.phase == "boot":
        return False
    if falsifier.kind == "death":
        return True
    if falsifier.kind == "text":
        return any(falsifier.text.casefold() in text.casefold() for text in death.texts)
    return death.fault_class in falsifier.classes


def nameless(death: Death) -> bool:
    """A death that no rule could name: it may be the one that a falsifier waits for."""
    return death.fault and death.fault_class == UNCLASSIFIED


def _death(verdict: Verdict) -> Death | None:
    of = verdict.incident
    at = next((t for t in (of.onset, of.outage.onset if of.outage else None, of.dead) if t), None)
    if at is None or not (verdict.fault or verdict.fault_class == STOPPED):
        return None
    lines = (verdict.root, *verdict.consequences, *verdict.best_lines)
    return Death(
        id=of.id, at=at.earliest, fault_class=verdict.fault_class, fault=verdict.fault, phase=of.phase, boot=of.boot.id if of.boot else "",
        host=of.host or (of.boot.host if of.boot else ""), texts=tuple(line.text for line in lines if line is not None),
    )  # fmt: skip


def _lives(findings: Findings, until: Seconds | None) -> list[Life]:
    """The boots that served, each to its end, to the next boot of its log, or to where the evidence ends."""
    opened = {source.name: source.first.earliest for source in findings.sources if source.first}
    ordered = sorted(findings.boots, key=lambda b: (b.source, b.stream, b.start.earliest if b.start else 0.0))
    lives = []
    for boot, following in zip(ordered, [*ordered[1:], None], strict=True):
        start = _served_from(boot, opened.get(boot.source, findings.coverage.start))
        follows = following is not None and (following.source, following.stream) == (boot.source, boot.stream)
        last = following.start.earliest if follows and following is not None and following.start else until
        end = boot.end.earliest if boot.end else last
        if start is not None and end is not None and end > start:
            lives.append(Life(boot=boot, start=start, end=end))
    return sorted(lives, key=lambda life: life.start)


def _served_from(boot: Boot, opened: Seconds | None) -> Seconds | None:
    """From when on a boot is known to have served: READY, or where a log begins in the middle of a life; None where it never was ready."""
    if boot.ready is not None:
        return boot.ready.earliest
    if boot.boundary == "log begins":
        return boot.start.earliest if boot.start else opened
    return next((event.at.earliest for event in boot.events if event.serves and event.at), None)
