"""What the doctor found, as text and for programs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any

import msgspec

from triage.doctor.findings import SECTIONS, Finding
from triage.report.fitting import columns, wrapped
from triage.report.words import clean, number

WORDS = {"ok": "ok", "note": "note", "absent": "absent", "broken": "BROKEN"}


def text(findings: Sequence[Finding]) -> str:
    """The answer first, then section by section; what is broken or could be better has a second line with what to do."""
    lines = [wrapped(_verdict(findings), columns())]
    for section in SECTIONS:
        own = [finding for finding in findings if finding.section == section]
        width = min(28, max((len(finding.name) for finding in own), default=0))
        lines += ["", section] if own else []
        for finding in own:
            lines.append(_hung(f"  {WORDS[finding.state]:<6}  {clean(finding.name):<{width}}  ", clean(finding.what)))
            if finding.do:
                lines.append(_hung(f"  {'':<6}  {'':<{width}}  -> ", clean(finding.do)))
    return "\n".join(lines)


def _hung(begin: str, said: str) -> str:
    """A line whose further lines stand under where what is said begins."""
    import textwrap

    filled = textwrap.fill(said, columns(), initial_indent=begin, subsequent_indent=" " * len(begin), break_long_words=False, break_on_hyphens=False)
    return filled if filled.strip() else begin.rstrip()


def _verdict(findings: Sequence[Finding]) -> str:
    counts = {state: sum(finding.state == state for finding in findings) for state in WORDS}
    said = "healthy" if not counts["broken"] else f"{number(counts['broken'], 'thing')} broken: {', '.join(_broken(findings))}"
    notes = f"; {number(counts['note'], 'note')}" if counts["note"] else ""
    parts = f"; {number(counts['absent'], 'optional part')} not installed" if counts["absent"] else ""
    return said + notes + parts


def _broken(findings: Sequence[Finding]) -> list[str]:
    return [clean(finding.name) for finding in findings if finding.state == "broken"]


def document(findings: Sequence[Finding]) -> dict[str, Any]:
    """The same for programs. Keys may be added, not renamed."""
    return {
        "schema": "triage-doctor/1",
        "healthy": not _broken(findings),
        "python": platform.python_version(),
        "findings": [msgspec.to_builtins(finding) for finding in findings],
    }
