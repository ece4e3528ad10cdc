"""What `triage drift` prints: for each boot that was asked about, what differs from what was asked for, and what cannot be seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from triage.ledger.drift.compare import DRIFT, Row
from triage.ledger.drift.read import Asked
from triage.model import Boot, Event
from triage.report.fitting import columns, fitted_table, wrapped
from triage.report.numbers import numbered_lines
from triage.report.redact import redacted
from triage.report.words import clean, iso, minute, number, where

SCHEMA = "triage/drift/1"
LONGEST_VALUE = 120
HEADINGS = ("verdict", "setting", "asked for", "booted", "asked at", "seen at", "why")
MEANS = {
    "differs": "booted with something else",
    "ignored": "asked for, and without effect",
    "not given": "asked for, and the engine never got it",
    "nobody asked": "booted with it, and it was asked for nowhere",
    "cannot be observed": "cannot be observed",
    "same": "the same",
}


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One boot and the rows for it."""

    boot: Boot
    rows: tuple[Row, ...]


def drift_text(asked: Asked, file: str, compared: Sequence[Compared], boots: int) -> str:
    """The comparison as text, as wide as the terminal. Boots in a row that show the same are told once."""
    return "\n".join(wrapped(line, columns()) for line in _text(asked, file, _with_numbers(compared), boots))


def drift_table(compared: Sequence[Compared]) -> str:
    """The comparison as one Markdown table for each boot."""
    parts = []
    for one in _with_numbers(compared):
        cells = [(row.outcome, row.name, *map(_cell, (row.asked, row.booted)), row.place, _seen(row), row.why) for row in one.rows]
        parts.append(f"### {_boot(one.boot)}\n\n{fitted_table(HEADINGS, cells, 'github')}")
    return "\n\n".join(parts)


def drift_document(asked: Asked, file: str, compared: Sequence[Compared]) -> dict[str, Any]:
    """The comparison as a JSON document."""
    return {
        "schema": SCHEMA,
        "asked": {"file": file, "what": asked.ask.what, "engine": asked.engine, "overrides": list(asked.overrides), "notes": list(asked.ask.notes),
                  "hidden": list(asked.ask.hidden)},
        "boots": [
            {
                "id": one.boot.id,
                "engine": one.boot.engine,
                "version": one.boot.version,
                "start": iso(one.boot.start.earliest) if one.boot.start else None,
                "drift": any(row.outcome in DRIFT for row in one.rows),
                "settings": [_document(row) for row in one.rows],
            }
            for one in _with_numbers(compared)
        ],
    }  # fmt: skip


def _document(row: Row) -> dict[str, Any]:
    line = {"file": row.line.place.file, "line": row.line.place.line or None} if row.line is not None else None
    return {
        "verdict": row.outcome, "name": row.name, "asked": redacted(row.asked) or None, "booted": redacted(row.booted) or None,
        "place": row.place or None, "seen": line, "why": row.why,
    }  # fmt: skip


def _text(asked: Asked, file: str, compared: Sequence[Compared], boots: int) -> Iterator[str]:
    over = f", with {', '.join(asked.overrides)}" if asked.overrides else ""
    yield clean(f"{file}{over}: {asked.ask.what}" if asked.ask.what != file else file)
    for rows, group in groupby(compared, key=lambda one: _gist(one.rows)):
        yield ""
        yield from _of_boots(list(group), bool(rows))
    below = [f"{number(boots - len(compared), 'other boot')} not shown: --boot all, or --boot ID"] if len(compared) < boots else []
    below += [f"note: {clean(note)}" for note in (*asked.ask.notes, *asked.ask.hidden)]
    if asked.options is None:
        below.append("note: no command of an engine was found there, so only variables were compared")
    yield from ["", *below] if below else []


def _gist(rows: Sequence[Row]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple((row.outcome, row.name, row.asked, row.booted) for row in rows)


def _of_boots(group: Sequence[Compared], anything: bool) -> Iterator[str]:
    last = group[-1]
    more = f" and {len(group) - 1} before it that show{'s' if len(group) == 2 else ''} the same" if len(group) > 1 else ""
    yield f"boot {_boot(last.boot)}{more}"
    if not anything:
        yield "  nothing that was asked for can be compared with it"
        return
    outcomes = {row.outcome for row in last.rows}
    if outcomes.isdisjoint(DRIFT):
        yield "  no drift that can be seen" if "same" in outcomes else "  nothing that was asked for can be compared with it"
    for outcome, rows in groupby(last.rows, key=lambda row: row.outcome):
        yield from _of_outcome(outcome, list(rows))


def _of_outcome(outcome: str, rows: Sequence[Row]) -> Iterator[str]:
    if outcome == "same":
        yield f"  the same ({len(rows)}): {', '.join(clean(row.name) for row in rows)}"
        return
    yield f"  {MEANS[outcome]} ({len(rows)})"
    if outcome == "cannot be observed":
        for why, group in groupby(sorted(rows, key=lambda row: row.why), key=lambda row: row.why):
            yield f"    {', '.join(clean(row.name) for row in group)}: {clean(why)}"
        return
    for row in rows:
        yield f"    {clean(row.name)}" + (f": {clean(row.why)}" if row.why else "")
        if row.asked:
            yield f"      asked   {_cell(row.asked)}  {clean(row.place)}"
        if row.booted:
            yield f"      booted  {_cell(row.booted)}  {_seen(row)}".rstrip()


def _boot(boot: Boot) -> str:
    began = f" of {minute(boot.start.earliest)} UTC" if boot.start else ""
    return clean(f"{boot.id}{began} ({' '.join(part for part in (boot.engine, boot.version) if part) or 'engine not known'})")


def _cell(text: str) -> str:
    return clean(redacted(text), LONGEST_VALUE)


def _seen(row: Row) -> str:
    if row.line is None:
        return ""
    return where(row.line.place) if row.line.place.line else clean(row.line.place.file)


def _with_numbers(compared: Sequence[Compared]) -> list[Compared]:
    cited: list[Event] = [row.line for one in compared for row in one.rows if row.line is not None]
    lines = {(line.place.file, line.place.offset): line for line in cited}
    told = dict(zip(lines, numbered_lines(list(lines.values())), strict=True))

    def with_number(row: Row) -> Row:
        return row if row.line is None else msgspec.structs.replace(row, line=told[(row.line.place.file, row.line.place.offset)])

    return [Compared(boot=one.boot, rows=tuple(with_number(row) for row in one.rows)) for one in compared]
