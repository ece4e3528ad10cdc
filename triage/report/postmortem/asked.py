"""Findings narrowed to the classes that were asked for, and what has to be said of a part: it must not pass for the whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from triage.model import Findings, Seconds
from triage.report import words


def of_classes(findings: Findings, classes: Sequence[str]) -> Findings:
    """The incidents of these classes with their outages, and what any of them have in common; all of them where no class is asked for."""
    if not classes:
        return findings
    verdicts = tuple(v for v in findings.verdicts if v.fault_class in classes)
    shown = {v.incident.id for v in verdicts}
    outages = tuple(dict.fromkeys(v.incident.outage for v in verdicts if v.incident.outage is not None))
    hints = tuple(hint for hint in findings.hints if not shown.isdisjoint(hint.incidents))
    return msgspec.structs.replace(findings, verdicts=verdicts, outages=outages, hints=hints, probes=0)


def left_out(findings: Findings, classes: Sequence[str]) -> Iterator[str]:
    """The sentence that a report of some classes owes its reader. `findings` are those of all classes."""
    if classes:
        others = sum(v.fault_class not in classes for v in findings.verdicts)
        rest = f"{words.number(others, 'incident')} of other classes {'is' if others == 1 else 'are'} not in here"
        yield f"only {', '.join(classes)} was asked for: {rest}"


def of_part(mitigated: bool, since: Seconds | None, until: Seconds | None) -> Iterator[str]:
    """What mitigations owe their reader where evidence is of a part of the time."""
    if mitigated and (since is not None or until is not None):
        yield "mitigations are held against this time alone: `triage ledger` says where they stand by all of it"


def of_history(dismissed: int, relabelled: int) -> Iterator[str]:
    """What is not known of incidents that come from the history, and what people said of them."""
    yield "from the history, which does not keep which clocks were assumed and which files could not be read when it was recorded"
    if dismissed:
        yield f"{words.number(dismissed, 'incident')} that people dismissed {'is' if dismissed == 1 else 'are'} not counted"
    if relabelled:
        yield f"{words.number(relabelled, 'incident')} {'has' if relabelled == 1 else 'have'} the class that people gave, not the one that was judged"
