"""What a ledger is held against: the lives of the engines with the time each could be seen serving, and the deaths in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.ledger.entry import Falsifier
from triage.ledger.stretches import AXIS, Stretch, elapsed, holds, merged, origin
from triage.model import UNCLASSIFIED, Boot, Findings, Seconds, Verdict

STOPPED = "external-stop"


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """One verdict as the ledger sees it: when (seconds), which life it ended, and whether it counts as a fault in service.

    `axis` is that of its engine, None where nothing says which engine it was.
    """

    id: str
    at: Seconds
    fault_class: str
    fault: bool
    phase: str
    boot: str
    host: str
    axis: Seconds | None = 0.0
    texts: tuple[str, ...] = ()

    def within(self, stretches: Sequence[Stretch]) -> bool:
        """Whether it lies in one of them: on the axis of its engine, or, where that is not known, on any."""
        if self.axis is not None:
            return holds(stretches, self.axis + self.at)
        return any(start - origin(start) <= self.at <= end - origin(start) for start, end in stretches)

    def elapsed(self, stretches: Sequence[Stretch]) -> Seconds:
        """How much of the stretches lies before it."""
        return elapsed(stretches, (self.axis or 0.0) + self.at)


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One boot with the time (seconds) in which it served, as far as anything shows it, and the axis of its engine."""

    boot: Boot
    start: Seconds
    end: Seconds
    axis: Seconds = 0.0

    @property
    def stretch(self) -> Stretch:
        return self.axis + self.start, self.axis + self.end


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Lives and deaths in order of time, what nobody saw, and when engines had nothing to do (None: cannot be known from this evidence)."""

    lives: tuple[Life, ...] = ()
    deaths: tuple[Death, ...] = ()
    gaps: tuple[Stretch, ...] = ()
    idle: tuple[Stretch, ...] | None = None
    start: Seconds | None = None
    until: Seconds | None = None
    dismissed: frozenset[str] = frozenset()  # ids that a person has said do not count


def evidence_of(
    findings: Findings,
    *,
    idle: Iterable[Stretch] | None = None,
    dismissed: Iterable[str] = (),
    since: Seconds | None = None,
    until: Seconds | None = None,
    ends: Mapping[str, Seconds] | None = None,
) -> Evidence:
    """The evidence in what was found by one run, or in what the history holds; only what lies between `since` and `until`.

    `ends`: where each log ends, which bounds the last life of an engine where there are several.
    """
    coverage = findings.coverage
    last = [at.latest for at in (boot.end for boot in findings.boots) if at]
    seen = coverage.end if coverage.end is not None else max(last, default=None)
    end = seen if until is None or seen is None else min(seen, until)
    start = coverage.start if since is None or coverage.start is None else max(coverage.start, since)
    known = ends if ends is not None else {source.name: source.last.latest for source in findings.sources if source.last}
    lives = [cut for life in _lives(findings, end, known) if (cut := _cut(life, start, end)).end > cut.start]
    axes = {life.boot.id: life.axis for life in _lives(findings, end, known)}
    several = len(set(axes.values())) > 1
    deaths = [d for v in findings.verdicts if (d := _death(v, axes, several=several)) is not None and (end is None or d.at <= end)]
    return Evidence(
        lives=tuple(lives),
        deaths=tuple(sorted(deaths, key=lambda d: d.at)),
        gaps=tuple((gap.start, gap.end) for gap in coverage.gaps),
        idle=tuple(merged(idle)) if idle is not None else None,
        start=start,
        until=end,
        dismissed=frozenset(dismissed),
    )


def on_hosts(hosts: Sequence[str], *names: str) -> bool:
    """Whether something is on one of the hosts, by its host or a log named `vllm@host`. What names no host may be on any."""
    told = [name for name in names if name]
    ends = {part for name in told for part in (name, name.rpartition("@")[2])}
    return not hosts or not told or not ends.isdisjoint(hosts)


def host_of(host: str, source: str) -> str:
    """Where something is: its host, else a log's name that says so (`vllm@gpu7`); a path says nothing of it."""
    return host or (source if "@" in source else "")


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


def _death(verdict: Verdict, axes: Mapping[str, Seconds], *, several: bool) -> Death | None:
    of = verdict.incident
    at = next((t for t in (of.onset, of.outage.onset if of.outage else None, of.dead) if t), None)
    if at is None or not (verdict.fault or verdict.fault_class == STOPPED):
        return None
    lines = (verdict.root, *verdict.consequences, *verdict.best_lines)
    boot = of.boot.id if of.boot else ""
    return Death(
        id=of.id, at=at.earliest, fault_class=verdict.fault_class, fault=verdict.fault, phase=of.phase, boot=boot,
        host=host_of(of.host or (of.boot.host if of.boot else ""), of.source), axis=axes.get(boot, None if several else 0.0),
        texts=tuple(line.text for line in lines if line is not None),
    )  # fmt: skip


def _lives(findings: Findings, until: Seconds | None, ends: Mapping[str, Seconds]) -> list[Life]:
    """The boots that served, each to its end, to the next boot of its log, or to where the evidence ends."""
    opened = {source.name: source.first.earliest for source in findings.sources if source.first}
    engines = {key: number * AXIS for number, key in enumerate(sorted({(b.source, b.stream) for b in findings.boots}))}
    ordered = sorted(findings.boots, key=lambda b: (b.source, b.stream, b.start.earliest if b.start else 0.0))
    lives = []
    for boot, following in zip(ordered, [*ordered[1:], None][: len(ordered)], strict=True):
        engine = boot.source, boot.stream
        start = _served_from(boot, opened.get(boot.source, findings.coverage.start))
        follows = following if following is not None and (following.source, following.stream) == engine else None
        own = min((at for at in (until, ends.get(boot.source)) if at is not None), default=None) if len(engines) > 1 else until
        last = follows.start.earliest if follows is not None and follows.start else own
        end = boot.end.earliest if boot.end else last
        if start is not None and end is not None and end > start:
            lives.append(Life(boot=boot, start=start, end=end, axis=engines[engine]))
    return sorted(lives, key=lambda life: life.start)


def _cut(life: Life, start: Seconds | None, end: Seconds | None) -> Life:
    low = life.start if start is None else max(start, life.start)
    return msgspec.structs.replace(life, start=low, end=life.end if end is None else min(end, life.end))


def _served_from(boot: Boot, opened: Seconds | None) -> Seconds | None:
    """From when on a boot is known to have served: READY, or where a log begins in the middle of a life; None where it never was ready."""
    if boot.ready is not None:
        return boot.ready.earliest
    if boot.boundary == "log begins":
        return boot.start.earliest if boot.start else opened
    return next((event.at.earliest for event in boot.events if event.serves and event.at), None)
