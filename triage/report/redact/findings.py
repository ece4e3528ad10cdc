"""The names that findings hold, in the order of the findings: whoever redacts a page and a bundle of the same logs gives the same pseudonyms."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model import Event, Findings, Verdict
from triage.report.redact.redactor import Redactor


def knowing(redactor: Redactor, findings: Findings) -> Redactor:
    """The redactor, which now knows every host, person and address that the findings name or cite. Call it before the first text."""
    for host in _hosts(findings):
        redactor.host(host)
    redactor.meet(_texts(findings))
    return redactor


def _hosts(findings: Findings) -> Iterator[str]:
    yield from (boot.host for boot in findings.boots)
    for verdict in findings.verdicts:
        yield from (verdict.incident.host, verdict.facts.host, *(event.host for event in _cited(verdict)))


def _texts(findings: Findings) -> Iterator[str]:
    for source in findings.sources:
        yield from (source.name, *source.files)
    for boot in findings.boots:
        yield from (f"{name}={value}" for name, value in boot.config.items())
    yield from (outage.target for outage in findings.outages)
    for verdict in findings.verdicts:
        of = verdict.incident
        yield from (of.source, of.stream, of.outage.target if of.outage else "", of.dump.directory if of.dump else "")
        yield from (event.text for event in _cited(verdict))
    yield from (problem.file for problem in findings.problems)


def _cited(verdict: Verdict) -> Iterator[Event]:
    if verdict.root is not None:
        yield verdict.root
    yield from (*verdict.consequences, *verdict.best_lines)
