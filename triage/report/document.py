"""The JSON document `triage/1`, one line an incident (jsonl), and the CSV of incidents: for programs that read on."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from triage.model import Boot, Event, Facts, Findings, Hint, Incident, Instant, Opinion, Outage, Place, Verdict
from triage.report import inert, words
from triage.report.counts import Row, rows, seen_at
from triage.report.dump_evidence import of_dumps
from triage.report.inert import cell

SCHEMA = "triage/1"
CSV_COLUMNS = (
    "id", "class", "family", "phase", "fault", "engine", "host", "onset", "dead", "recovered",
    "ttd_low_s", "ttd_high_s", "dump", "first_probe", "failed_probes", "root_file", "root_line", "root_text", "confidence", "by",
)  # fmt: skip
COUNT_COLUMNS = (
    "class", "family", "fault", "count", "ttd_median_s", "ttd_low_s", "ttd_high_s", "dump", "first_probe", "first_seen", "last_seen", "by",
)  # fmt: skip


def as_json(findings: Findings, by: str = "") -> str:
    return inert.as_json(document(findings, by))


def as_jsonl(findings: Findings) -> str:
    """One JSON object a line for each incident."""
    return "\n".join(inert.as_json(incident(v), indent=False) for v in findings.verdicts)


def as_csv(findings: Findings) -> str:
    """One row an incident, tidy, with a header."""
    return _as_rows(CSV_COLUMNS, (_csv_row(v) for v in findings.verdicts))


def counts_as_jsonl(findings: Findings, by: str) -> str:
    """One JSON object a line for each group and class."""
    return "\n".join(inert.as_json(_count(row), indent=False) for row in rows(findings, by))


def counts_as_csv(findings: Findings, by: str) -> str:
    """One row for each group and class, with a header; times to death in seconds."""
    return _as_rows((by, *COUNT_COLUMNS), (_count_row(row) for row in rows(findings, by)))


def _as_rows(header: Iterable[str], told: Iterable[Iterable[object]]) -> str:
    import csv

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(told)
    return out.getvalue().rstrip("\n")


def document(findings: Findings, by: str = "") -> dict[str, Any]:
    """The whole answer as plain values, in the shape that design and docs fix: keys may be added, never renamed."""
    coverage = findings.coverage
    return {
        "schema": SCHEMA,
        "rules": findings.rules,
        "window": {"from": _at(coverage.start), "to": _at(coverage.end)},
        "sources": [_source(s) for s in findings.sources],
        "boots": [boot(b) for b in findings.boots],
        "outages": [outage(o) for o in findings.outages],
        "probes": findings.probes,
        "counts": [_count(row) for row in rows(findings, by)],
        "coverage": {"ratio": coverage.ratio, "gaps": [{"from": _at(g.start), "to": _at(g.end), "source": g.source} for g in coverage.gaps]},
        "time_to_death_since": findings.since,
        "incidents": [incident(v) for v in findings.verdicts],
        "hints": [hint(h) for h in findings.hints],
        "problems": [{"file": p.file, "what": p.what, "lost": p.lost} for p in findings.problems],
        "assumptions": list(findings.assumptions),
    }


def instant(value: Instant | None) -> dict[str, str] | None:
    return {"earliest": words.iso(value.earliest), "latest": words.iso(value.latest), "how": value.how} if value else None


def _at(value: float | None) -> str | None:
    return words.iso(value) if value is not None else None


def _source(info: Any) -> dict[str, Any]:
    return {
        "name": info.name,
        "kind": info.kind,
        "files": list(info.files),
        "bytes": info.bytes,
        "lines": info.lines,
        "clock": info.clock,
        "problems": [p.what for p in info.problems],
    }


def boot(value: Boot) -> dict[str, Any]:
    return {
        "id": value.id,
        "source": value.source,
        "stream": value.stream,
        "engine": value.engine,
        "version": value.version,
        "host": value.host,
        "start": instant(value.start),
        "ready": instant(value.ready),
        "end": instant(value.end),
        "ended_by": value.ended_by,
        "boundary": value.boundary,
    }


def outage(value: Outage) -> dict[str, Any]:
    return {
        "target": value.target,
        "symbols": value.symbols,
        "first": value.first,
        "failed": value.failed,
        "from": instant(value.began),
        "to": instant(value.ended),
    }


def _count(row: Row) -> dict[str, Any]:
    return {
        **({"group": row.group} if row.group else {}),
        "class": row.fault_class,
        "family": row.family,
        "count": row.count,
        "by": row.by,
        "fault": row.fault,
        "time_to_death": {"median": row.median, "low": row.low, "high": row.high} if row.median is not None else None,
        "dump": row.dump,
        "first_probe": row.first_probe,
        "first_seen": instant(row.first_seen),
        "last_seen": instant(row.last_seen),
    }


def incident(verdict: Verdict) -> dict[str, Any]:
    """One incident as the design's contract has it."""
    of = verdict.incident
    return {
        "id": of.id,
        "class": verdict.fault_class,
        "family": verdict.family,
        "phase": of.phase,
        "fault": verdict.fault,
        "engine": of.engine,
        "host": of.host,
        "boot": of.boot.id if of.boot else None,
        "onset": instant(of.onset),
        "onset_from": of.onset_from,
        "dead": instant(of.dead),
        "dead_from": of.dead_from,
        "recovered": instant(of.recovered),
        "time_to_death": _span(of),
        "dump": of_dumps(verdict),
        "probe": {"symbols": of.outage.symbols, "first": of.outage.first, "failed": of.outage.failed} if of.outage else None,
        "forks": [{"fork": a.fork, "answer": a.answer, "because": a.because} for a in verdict.forks],
        "root": cited(verdict.root),
        "consequences": [cited(e) for e in verdict.consequences],
        "best_lines": [cited(e) for e in verdict.best_lines],
        "facts": _facts(verdict.facts),
        "runner_up": {"class": verdict.runner_up, "lost": verdict.runner_up_lost} if verdict.runner_up else None,
        "conflicts": list(verdict.conflicts),
        "hints": list(verdict.hints),
        "missing": list(verdict.missing),
        "attempts": verdict.attempts,
        "by": verdict.by,
        "model": _opinion(verdict.opinion),
        "confidence": verdict.confidence,
    }


def _opinion(of: Opinion | None) -> dict[str, Any] | None:
    """What a model said, where it named the class or would have named another: with the features that spoke and what they weigh."""
    if of is None:
        return None
    spoke = [{"feature": words.clean(name), "weight": weight} for name, weight in of.spoke]
    like = {"incident": words.clean(of.incident), "line": words.clean(of.like), "likeness": of.likeness}
    return {"class": of.fault_class, "probability": of.probability, "like": like, "features": spoke, "model": of.model}


def _span(of: Incident) -> dict[str, Any] | None:
    span = of.time_to_death
    return {"seconds": span.seconds, "low": span.low, "high": span.high, "from": span.since} if span else None


def hint(value: Hint) -> dict[str, Any]:
    """What incidents have in common: in words, which they are, the lines that say so, and the chance that nothing joins them."""
    return {
        "hint": value.id,
        "text": words.clean(value.text),
        "incidents": list(value.incidents),
        "chance": value.chance,
        "evidence": [cited(e) for e in value.evidence],
    }


def _facts(of: Facts) -> dict[str, Any]:
    line = of.step_line
    step = {"kind": of.step, "tokens": of.tokens, "chunk": of.chunk, "requests": of.requests, "from": place(line.place)} if line else None
    return {"step": step, "frame": words.clean(of.frame) or None, "rank": of.rank, "gpu": words.clean(of.gpu) or None, "host": of.host or None}


def cited(event: Event | None) -> dict[str, Any] | None:
    """A line of evidence: where it stands, what it says (without control characters), the rule and the rank."""
    if event is None:
        return None
    return {
        **place(event.place),
        "text": words.clean(event.text),
        "rule": event.rule,
        "rank": event.rank,
        "process": event.process,
        "at": instant(event.at),
    }


def place(value: Place) -> dict[str, Any]:
    return {"source": value.source, "file": value.file, "line": value.line, "offset": value.offset}


def _count_row(row: Row) -> tuple[Any, ...]:
    seen = [words.iso(at.earliest) if at else "" for at in (row.first_seen, row.last_seen)]
    return (
        cell(row.group), row.fault_class, row.family, row.fault, row.count, row.median, row.low, row.high, row.dump, row.first_probe, *seen, row.by,
    )  # fmt: skip


def _csv_row(verdict: Verdict) -> tuple[Any, ...]:
    of, root = verdict.incident, verdict.root
    span, seen = of.time_to_death, of.outage
    times = [words.iso(t.earliest) if t else "" for t in (seen_at(verdict), of.dead, of.recovered)]
    return (
        of.id, verdict.fault_class, verdict.family, of.phase, verdict.fault, cell(of.engine), cell(of.host), *times,
        span.low if span else "", span.high if span else "", of.dump_state, seen.first if seen else "", seen.failed if seen else "",
        cell(root.place.file) if root else "", root.place.line if root else "", cell(root.text) if root else "", verdict.confidence, verdict.by,
    )  # fmt: skip
