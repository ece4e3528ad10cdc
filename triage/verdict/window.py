"""Narrows findings to a stretch of time; whatever has no time stays, because nothing says that it lies outside."""

from __future__ import annotations

import msgspec

from triage.model import Findings, Instant, Seconds


def within(findings: Findings, since: Seconds | None, until: Seconds | None) -> Findings:
    """Findings whose incidents, outages and boots touch the time from `since` to `until` (seconds since the epoch).

    What incidents have in common is kept where all of them are.
    """
    if since is None and until is None:
        return findings
    verdicts = tuple(v for v in findings.verdicts if _inside(v.incident.onset, v.incident.dead or v.incident.recovered, since, until))
    kept = {v.incident.id for v in verdicts}
    return msgspec.structs.replace(
        findings,
        verdicts=verdicts,
        hints=tuple(hint for hint in findings.hints if kept.issuperset(hint.incidents)),
        outages=tuple(o for o in findings.outages if _inside(o.began, o.ended, since, until)),
        boots=tuple(b for b in findings.boots if _inside(b.start or b.ready, b.end, since, until)),
    )


def _inside(start: Instant | None, end: Instant | None, since: Seconds | None, until: Seconds | None) -> bool:
    first, last = start or end, end or start
    if first is None or last is None:
        return True
    return (since is None or last.latest >= since) and (until is None or first.earliest <= until)
