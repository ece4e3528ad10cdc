"""The tables of `triage boots` and `triage outages`."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model import Boot, Findings, Outage
from triage.report import words
from triage.report.fitting import Give, fitted_table

# What gives way on a narrow terminal, in this order; --format json has everything.
BOOTS_GIVE = (("ended by", 22), ("boundary", 0), ("engine", 12), ("ended by", 12), ("ready", 0), ("engine", 0))
OUTAGES_GIVE = (("symbols", 12), ("first", 0), ("class", 12), ("symbols", 0))


def boots_table(findings: Findings, *, style: str = "simple") -> str:
    """One row a boot: when it began and was ready, how it ended, and what separates it from the one before."""
    headings = ("boot", "engine", "start", "ready", "end", "ended by", "boundary")
    cells = [(b.id, _engine(b), words.short(b.start), words.short(b.ready), words.short(b.end), b.ended_by, b.boundary) for b in findings.boots]
    return _table(headings, cells, style, BOOTS_GIVE, "no boot was seen")


def outages_table(findings: Findings, *, style: str = "simple") -> str:
    """One row an outage: from, to, how many probes failed and how, and the incident it belongs to."""
    owners = {id(v.incident.outage): v for v in findings.verdicts if v.incident.outage}
    headings = ("from", "to", "failed", "first", "symbols", "class", "incident")
    cells = []
    for outage in findings.outages:
        owner = owners.get(id(outage))
        name = (owner.fault_class, owner.incident.id) if owner else ("-", "-")
        cells.append((words.short(outage.began), _until(outage), outage.failed, words.outage_words(outage), _symbols(outage), *name))
    return _table(headings, cells, style, OUTAGES_GIVE, "no outage was seen")


def _engine(boot: Boot) -> str:
    return words.clean(" ".join(p for p in (boot.engine or "?", boot.version, boot.stream) if p))


def _until(outage: Outage) -> str:
    """The minute, with the day where that is another one."""
    began, ended = words.short(outage.began), words.short(outage.ended)
    return ended.split()[-1] if ended[:5] == began[:5] else ended


def _symbols(outage: Outage) -> str:
    shown = outage.symbols
    return shown if len(shown) <= 20 else f"{shown[:12]}...{shown[-5:]}"


def _table(headings: Sequence[str], cells: Sequence[Sequence[object]], style: str, give: Give, nothing: str) -> str:
    return fitted_table(headings, cells, style, give) if cells else nothing
