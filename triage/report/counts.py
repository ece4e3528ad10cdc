"""Counts verdicts by class (and by day, week, host ...): the rows of the table that goes into a postmortem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from triage.model import UNCLASSIFIED, Findings, Instant, Seconds, Verdict
from triage.report import words

BY = ("day", "week", "host", "engine", "boot", "version")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One class (and family) in the table. Times to death in seconds; `dump` as present/known or as a word."""

    fault_class: str
    family: str
    fault: bool
    count: int
    median: Seconds | None = None
    low: Seconds | None = None
    high: Seconds | None = None
    dump: str = "-"
    first_probe: str = "-"
    first_seen: Instant | None = None
    last_seen: Instant | None = None
    group: str = ""
    by: Literal["rules", "model"] = "rules"


def rows(findings: Findings, by: str = "") -> list[Row]:
    """Rows by class, faults first and most frequent first; `unclassified` always has one, also when it counts nothing."""
    groups: dict[str, list[Verdict]] = {}
    for verdict in findings.verdicts:
        groups.setdefault(_KEYS[by](verdict) if by else "", []).append(verdict)
    made = [row for name in sorted(groups) for row in _rows_of(name, groups[name])]
    if not any(row.fault_class == UNCLASSIFIED for row in made):
        made.append(Row(fault_class=UNCLASSIFIED, family="-", fault=True, count=0))
    return made


def _rows_of(group: str, verdicts: Sequence[Verdict]) -> list[Row]:
    keyed: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        keyed.setdefault((verdict.fault_class, verdict.family, verdict.by), []).append(verdict)
    made = [_row(group, name, family, members) for (name, family, _), members in keyed.items()]
    return sorted(made, key=lambda r: (r.fault_class == UNCLASSIFIED, not r.fault, r.by == "model", -r.count, r.fault_class, r.family))


def _row(group: str, name: str, family: str, verdicts: Sequence[Verdict]) -> Row:
    spans = [v.incident.time_to_death for v in verdicts if v.incident.time_to_death]
    seen = sorted((s for v in verdicts if (s := seen_at(v))), key=lambda i: i.earliest)
    return Row(
        group=group,
        by=verdicts[0].by,
        fault_class=name,
        family=family,
        fault=verdicts[0].fault,
        count=len(verdicts),
        median=_median([(s.low + s.high) / 2 for s in spans]),
        low=min((s.low for s in spans), default=None),
        high=max((s.high for s in spans), default=None),
        dump=_dump(verdicts),
        first_probe=_first_probe(verdicts),
        first_seen=seen[0] if seen else None,
        last_seen=seen[-1] if seen else None,
    )


def _median(values: Sequence[Seconds]) -> Seconds | None:
    if not values:
        return None
    from statistics import median

    return median(values)


def seen_at(verdict: Verdict) -> Instant | None:
    """When an incident is dated: its onset, else its death, else its outage's beginning."""
    incident = verdict.incident
    return incident.onset or incident.dead or (incident.outage.began if incident.outage else None)


def _dump(verdicts: Sequence[Verdict]) -> str:
    states = [v.incident.dump_state for v in verdicts]
    known = [s for s in states if s in ("present", "absent")]
    if known:
        return f"{known.count('present')}/{len(known)}"
    return "not armed" if "not armed" in states else "-"


def _first_probe(verdicts: Sequence[Verdict]) -> str:
    seen = [v.incident.outage for v in verdicts if v.incident.outage]
    symbols = sorted({o.first for o in seen}, key=lambda s: (-sum(o.first == s for o in seen), s))
    if len(symbols) == 1:
        return words.SYMBOL_WORDS.get(symbols[0], "-")
    return ", ".join(f"{sum(o.first == s for o in seen)} {words.SYMBOL_WORDS.get(s, '-')}" for s in symbols) or "-"


def _dated(pattern: str) -> Callable[[Verdict], str]:
    def key(verdict: Verdict) -> str:
        seen = seen_at(verdict)
        return datetime.fromtimestamp(seen.earliest, UTC).strftime(pattern) if seen else "no date"

    return key


_KEYS: dict[str, Callable[[Verdict], str]] = {
    "day": _dated("%Y-%m-%d"),
    "week": _dated("%G-W%V"),
    "host": lambda v: v.incident.host or "unknown host",
    "engine": lambda v: v.incident.engine or "unknown engine",
    "boot": lambda v: v.incident.boot.id if v.incident.boot else "no boot seen",
    "version": lambda v: (v.incident.boot.version if v.incident.boot else "") or "unknown version",
}


def outage_sentence(findings: Findings) -> str:
    """Outages and the probes they are made of, both counted: `17 outages (13 refused first, 4 timeout first) from 131 failed probes`."""
    outages = findings.outages
    if not findings.probes and not findings.outages:
        return ""
    kinds = _kinds(o.first for o in outages)
    failed = sum(o.failed for o in outages)
    inside = f" ({kinds})" if kinds else ""
    made = f" of {findings.probes:,}" if findings.probes else ""
    return f"{words.number(len(outages), 'outage')}{inside} from {words.number(failed, 'failed probe')}{made}"


def _kinds(symbols: Iterable[str]) -> str:
    listed = list(symbols)
    return ", ".join(f"{listed.count(s)} {words.SYMBOL_WORDS[s]} first" for s in "rtef" if s in listed)
