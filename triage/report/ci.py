"""Findings for CI systems, SARIF or JUnit, redacted unless asked otherwise."""

from __future__ import annotations

from triage.knowledge.load import Knowledge
from triage.model import Findings
from triage.report.junit import as_junit
from triage.report.postmortem.say import Say
from triage.report.redact import Redactor
from triage.report.sarif import as_sarif


def written(findings: Findings, form: str, known: Knowledge, say: Say | None = None, *, version: str = "") -> str:
    """`form` is `sarif` or `junit`."""
    told = say or Say(Redactor(known.redaction))
    return as_junit(findings, known, told) if form == "junit" else as_sarif(findings, known, told, version=version)
