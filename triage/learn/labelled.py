"""Finds labelled incidents: in the history, or in a table of logs and their classes."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from triage.history.query import LABELS, Entry, entries
from triage.history.store import Store
from triage.knowledge.load import Knowledge
from triage.knowledge.table import RuleTable
from triage.learn.examples import Example, example
from triage.model import UNCLASSIFIED, Problem, Verdict
from triage.parsers.options import Options
from triage.parsers.sorting import NothingToReadError
from triage.pipeline import gather, judged

TABLE = "labels.tsv"
PATHS = ("path", "case", "file")


class LabelError(ValueError):
    """A table of labels that cannot be used: the message names the file, the line and what to do."""


class Labelled(NamedTuple):
    """Labelled incidents with their verdicts, and what of the input taught nothing, with the reason."""

    examples: list[Example]
    verdicts: list[Verdict]
    problems: list[Problem]


def from_store(store: Store) -> Labelled:
    """The incidents of the history that a person labelled, and those that rules named by a root without anything speaking against it."""
    by_person = {row[0] for row in store.db.execute(LABELS)}
    found = [(e, e.number in by_person) for e in entries(store.db)]
    taught = [(e, person) for e, person in found if person or _is_sure(e)]
    examples = [example(e.verdict, e.fault_class, judged=e.judged, person=person) for e, person in taught]
    return Labelled(examples, [e.verdict for e, _ in taught], [])


def unlabelled(store: Store) -> list[Entry]:
    """The incidents of the history that rules left unclassified and nobody labelled."""
    by_person = {row[0] for row in store.db.execute(LABELS)}
    return [e for e in entries(store.db) if e.number not in by_person and e.judged == UNCLASSIFIED]


def from_table(path: Path, known: Knowledge, options: Options | None = None) -> Labelled:
    """The incidents of logs that a table names with their classes. `path`: the table, or the folder in which it is called labels.tsv.

    Columns are parted by tabs and named in the first row: `path` (from the table's folder on) and `class`; `host`, if there is one, tells
    hosts apart. Raises LabelError where it is no such table.
    """
    table = path / TABLE if path.is_dir() else path
    rules, out = RuleTable(known), Labelled([], [], [])
    for line, row in _rows(table):
        name, label = next(row[p] for p in PATHS if row.get(p)), row["class"]
        if label not in known.classes:
            out.problems.append(Problem(f"{table}:{line}", f"class {label!r} is none that the rules know: {name} teaches nothing", lost=False))
            continue
        _learn(out, table, line, _log(table.parent, name), label, row.get("host") or "", known, rules, options)
    return out


def _learn(
    out: Labelled, table: Path, line: int, log: Path, label: str, host: str, known: Knowledge, rules: RuleTable, options: Options | None
) -> None:
    try:
        findings = judged(gather([str(log)], known, options=options, table=rules), known, lines_of_all=True)
    except NothingToReadError as error:
        out.problems.append(Problem(f"{table}:{line}", str(error)))
        return
    chosen = meant(findings.verdicts, label)
    if chosen is None:
        found = ", ".join(v.fault_class for v in findings.verdicts) or "no incident"
        out.problems.append(Problem(f"{table}:{line}", f"{log.name} has {found}: which of them is {label} cannot be told", lost=False))
        return
    out.examples.append(example(chosen, label, person=True, host=host))
    out.verdicts.append(chosen)


def meant(verdicts: Sequence[Verdict], label: str) -> Verdict | None:
    """The incident that a label of a whole log means: the only one, the only fault, or the first that has this class already."""
    faults = [v for v in verdicts if v.fault]
    same = [v for v in verdicts if v.fault_class == label]
    return verdicts[0] if len(verdicts) == 1 else same[0] if same else faults[0] if len(faults) == 1 else None


def _is_sure(entry: Entry) -> bool:
    return entry.fault_class != UNCLASSIFIED and entry.verdict.root is not None and entry.verdict.confidence != "weak"


def _log(folder: Path, name: str) -> Path:
    """The log of a row; a name without its `.log` will do."""
    path = folder / name
    return path if path.exists() or not path.with_name(path.name + ".log").exists() else path.with_name(path.name + ".log")


def _rows(table: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = table.read_text(encoding="utf-8-sig")  # spreadsheets begin their tables with a mark of the encoding
    except UnicodeDecodeError as error:
        raise LabelError(f"{table}: it is not in UTF-8 (byte {error.start}): save it as text parted by tabs, in UTF-8") from error
    except OSError as error:
        why = error.strerror or error
        raise LabelError(f"{table}: {why}: give a table of logs and classes, or a folder with a {TABLE}") from error
    reader = csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE)
    names = reader.fieldnames or ()
    if "class" not in names or not set(PATHS) & set(names):
        raise LabelError(f"{table}:1: the first row must name the columns `path` and `class`, parted by tabs")
    rows = [(reader.line_num, {k: v for k, v in row.items() if isinstance(k, str) and isinstance(v, str)}) for row in reader]
    bad = next((line for line, row in rows if not row.get("class") or not any(row.get(p) for p in PATHS)), None)
    if bad is not None:
        raise LabelError(f"{table}:{bad}: a path and a class are needed in every row")
    return rows
