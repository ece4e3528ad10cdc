"""Findings for CI systems, SARIF or JUnit, redacted unless asked otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from triage.knowledge.load import Knowledge
from triage.model import Findings
from triage.report.junit import as_junit
from triage.report.postmortem.say import Say
from triage.report.redact import Redactor
from triage.report.sarif import as_sarif


def written(findings: Findings, form: str, known: Knowledge, say: Say | None = None, *, version: str = "", only: Sequence[str] = (),
            unread_known: bool = True) -> str:  # fmt: skip
    """`form` is `sarif` or `junit`; `only` and `unread_known` as JUnit takes them."""
    told = say or Say(Redactor(known.redaction))
    if form == "junit":
        return as_junit(findings, known, told, only=only, unread_known=unread_known)
    return as_sarif(findings, known, told, version=version)
