"""What `triage diff` prints: whose verdict changed between two sets of rules, and how many stayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triage.model import Verdict
from triage.report import words
from triage.report.document import incident
from triage.report.inert import as_json
from triage.verdict.changes import Change, changed

SCHEMA = "triage/diff/1"
NONE = "-"


def diff_text(changes: Sequence[Change], versions: tuple[str, str], *, style: str = "simple") -> str:
    """A sentence, and a row for each verdict that changed; `style` is a tabulate format."""
    different = changed(changes)
    total = words.number(len(changes), "incident")
    sentence = f"rules {versions[0]} -> {versions[1]}: {len(different)} of {total} with another verdict"
    if not different:
        return sentence
    from tabulate import tabulate

    headings = ("incident", "seen", "where", "old", "new", "old root", "new root")
    return f"{sentence}\n\n{tabulate([_cells(change) for change in different], headings, tablefmt=style, disable_numparse=True)}"


def _cells(change: Change) -> tuple[str, ...]:
    of = change.either.incident
    where = words.clean(f"{of.source} {of.stream}".strip())
    return (of.id, words.short(of.onset or of.dead), where, _class(change.old), _class(change.new), _root(change.old), _root(change.new))


def _class(verdict: Verdict | None) -> str:
    return verdict.fault_class if verdict else "no incident"


def _root(verdict: Verdict | None) -> str:
    root = verdict.root if verdict else None
    return f"{words.clean(root.place.file.rpartition('/')[2])}:{root.place.line} {root.rule}" if root else NONE


def diff_json(changes: Sequence[Change], versions: tuple[str, str]) -> str:
    """The changed verdicts as in `classify --format json`, old beside new, with what differs."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "old": {"rules": versions[0]},
        "new": {"rules": versions[1]},
        "incidents": len(changes),
        "changed": [
            {
                "id": change.either.incident.id,
                "what": list(change.what),
                "old": incident(change.old) if change.old else None,
                "new": incident(change.new) if change.new else None,
            }
            for change in changed(changes)
        ],
    }
    return as_json(document)
