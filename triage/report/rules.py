"""What the rule commands print: the list of rules, what a check found, and the same as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from triage.knowledge.lint import Checked
from triage.report.catalogue import Entry
from triage.report.fitting import columns, fitted_table, wrapped
from triage.report.inert import as_json
from triage.report.words import clean, number

HEADINGS = ("rule", "class or file", "kind", "looked for in", "what it recognises")
# What gives way on a narrow terminal, in this order.
GIVE = (("what it recognises", 40), ("looked for in", 0), ("class or file", 0), ("kind", 12), ("what it recognises", 20), ("rule", 30))
SCHEMA = "triage/rules/1"
LONGEST_SUMMARY = 90
SIGNATURES = "\n## Signatures\n"
BELOW_SIGNATURES = "\n## Safety\n"


def rule_list(listed: Sequence[Entry], *, style: str = "simple") -> str:
    """One row a rule; `style` is a tabulate format."""
    if not listed:
        return "no rule is like that"
    cells = [(e.id, e.group, _kind(e), " ".join(e.sources), clean(e.summary, LONGEST_SUMMARY)) for e in listed]
    return fitted_table(HEADINGS, cells, style, GIVE)


def rule_list_json(listed: Iterable[Entry], version: str) -> str:
    """All rules with everything they say."""
    import msgspec

    return _json({"schema": SCHEMA, "rules": version, "listed": [msgspec.to_builtins(entry) for entry in listed]})


def check_text(checked: Checked) -> str:
    """One line for each flaw, file first; below them the figures."""
    lines = [f"{f.place or '-'}: {f.rule + ': ' if f.rule else ''}[{f.check}] {clean(f.what)}" for f in checked.flaws]
    if checked.rules or not lines:
        what = f"{number(checked.rules, 'rule')} in {number(checked.classes, 'class')}, {number(checked.samples, 'sample')}, "
        what += f"{number(checked.near_misses, 'near miss')}, {number(checked.healthy, 'healthy line')}"
        verdict = number(len(checked.flaws), "flaw") if checked.flaws else "all is well"
        lines.append(f"{what}: {verdict}")
    else:
        lines.append(f"{number(len(lines), 'flaw')}; the rules in these files were not checked further")
    if checked.overridden:
        lines.append(f"instead of ours: {', '.join(checked.overridden)}")
    return "\n".join(lines)


def fitted_text(text: str) -> str:
    """Lines for a terminal, none wider than that. Words and paths are never broken."""
    return "\n".join(wrapped(line, columns()) for line in text.split("\n"))


def fitted_page(page: str) -> str:
    """The page of a rule for a terminal. Patterns have few blanks: what stands among the signatures is cut behind a `|`, too."""
    before, heading, rest = page.partition(SIGNATURES)
    signatures, below, rest = rest.partition(BELOW_SIGNATURES)
    cut = "\n".join(piece for line in signatures.split("\n") for piece in _pieces(line, columns()))
    return "".join((fitted_text(before), heading, cut, below, fitted_text(rest)))


def _pieces(line: str, width: int) -> list[str]:
    """A line in pieces, each as long as can be; put together again they are the line."""
    pieces = rf".{{1,{width}}}$|.{{1,{width - 1}}}[| ](?! )|.{{1,{width}}}"
    return re.findall(pieces, line) if len(line) > width else [line]


def check_json(checked: Checked) -> str:
    import msgspec

    return _json({"schema": SCHEMA, **msgspec.to_builtins(checked)})


def _kind(entry: Entry) -> str:
    return " ".join((entry.kind, *entry.marks))


def _json(document: dict[str, Any]) -> str:
    return as_json(document)
