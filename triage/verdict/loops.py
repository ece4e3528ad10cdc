"""Counts the failed restarts of a crash loop as attempts of one incident: they are its echo, not incidents of their own."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.model import UNCLASSIFIED, Boot, Seconds, Verdict

LOOP_PAUSE: Seconds = 1800.0
ECHO_CLASSES = ("start-refused", UNCLASSIFIED)


def folded(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts without those that only repeat the one before in the same stream; that one counts them as attempts."""
    kept: list[Verdict] = []
    latest: dict[tuple[str, str], tuple[int, Verdict]] = {}
    for verdict in verdicts:
        stream = (verdict.incident.source, verdict.incident.stream)
        before = latest.get(stream)
        if before is not None and _repeats(verdict, kept[before[0]], before[1]):
            first = kept[before[0]]
            kept[before[0]] = msgspec.structs.replace(first, attempts=first.attempts + 1)
            latest[stream] = (before[0], verdict)
        else:
            latest[stream] = (len(kept), verdict)
            kept.append(verdict)
    return kept


def _repeats(verdict: Verdict, first: Verdict, last: Verdict) -> bool:
    """Whether a life that never served failed soon after the last one, in the way of the first or as its echo."""
    boot, before = verdict.incident.boot, last.incident.boot
    if boot is None or before is None or not verdict.fault or not first.fault or not _never_served(boot):
        return False
    return (verdict.fault_class == first.fault_class or verdict.fault_class in ECHO_CLASSES) and _soon(before, boot)


def _never_served(boot: Boot) -> bool:
    """Whether it shows no sign that it was up. Where a log of errors alone tells lives apart, only a word of a failed start says so."""
    if boot.boundary == "last words again" and not any(e.kind == "death" and e.rule.endswith("-start") for e in boot.events):
        return False
    return boot.ready is None and not any(e.serves for e in boot.events)


def _soon(before: Boot, boot: Boot) -> bool:
    ended = before.end or before.start
    if ended is None or boot.start is None:
        return True
    return boot.start.earliest - ended.latest <= LOOP_PAUSE
