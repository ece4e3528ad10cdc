"""Narrows findings to a stretch of time; whatever has no time stays, because nothing says that it lies outside."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from triage.model import Coverage, Findings, Gap, Instant, Probe, Seconds


def within(findings: Findings, since: Seconds | None, until: Seconds | None) -> Findings:
    """Findings whose incidents, outages and boots touch the time from `since` to `until` (seconds since the epoch), with the coverage of it alone.

    What incidents have in common is kept where all of them are. The number of probes is left out, since findings do not hold their times.
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
        coverage=_cut(findings.coverage, since, until),
        probes=0,
    )


def probes_within(probes: Iterable[Probe], since: Seconds | None, until: Seconds | None) -> int:
    """How many probes were made in the time from `since` to `until`."""
    return sum(_inside(probe.at, probe.at, since, until) for probe in probes)


def _cut(seen: Coverage, since: Seconds | None, until: Seconds | None) -> Coverage:
    if seen.start is None or seen.end is None:
        return seen
    start = seen.start if since is None else max(seen.start, since)
    end = seen.end if until is None else min(seen.end, until)
    if end <= start:
        return Coverage()
    gaps = (Gap(max(gap.start, start), min(gap.end, end), gap.source) for gap in seen.gaps)
    return Coverage(start=start, end=end, gaps=tuple(gap for gap in gaps if gap.end > gap.start))


def _inside(start: Instant | None, end: Instant | None, since: Seconds | None, until: Seconds | None) -> bool:
    first, last = start or end, end or start
    if first is None or last is None:
        return True
    return (since is None or last.latest >= since) and (until is None or first.earliest <= until)
