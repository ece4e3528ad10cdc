"""What is said of the journal of mitigations: which one it was, what is wrong with it, and that it is as it was written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triage.ledger.journal import Flaw, Record, head_of
from triage.report import words
from triage.report.fitting import text_columns, wrapped


def journal_line(path: str, records: Sequence[Record]) -> str:
    """Which journal it was, and the hash that stands for all of it."""
    head = f", head {records[-1].hash[:12]}" if records else ""
    return f"journal {words.clean(path)}: {words.number(len(records), 'record')}{head}"


def flaw_line(path: str, flaw: Flaw) -> str:
    """One thing wrong with a journal, as file:line: what."""
    return f"{words.clean(path)}{f':{flaw.line}' if flaw.line else ''}: {words.clean(flaw.what, 300)}"


def _misses(head: tuple[int, str] | None) -> str:
    return "is missing" if head is None else f"knows of record {head[0]} only"


def verified_line(path: Path, records: Sequence[Record], *, noted: bool) -> str:
    """What is said of a journal that is as it was written, and what that cannot show."""
    doubt = "" if noted else "; whoever may write it can write all of it anew: hold a hash that was noted elsewhere against it with --head"
    head = head_of(path)
    known = head is not None and head[0] >= len(records)
    cut = "" if known else f"; {path.name}.head {_misses(head)}, so records taken off its end would not be noticed"
    last = f"last {words.minute(records[-1].at)} UTC, {records[-1].hash[:12]}"
    line = f"journal {words.clean(str(path))}: {words.number(len(records), 'record')}, each as it was written ({last}){cut}{doubt}"
    return wrapped(line, text_columns())
