"""What `triage rules test` prints: which rules match which lines, and what looks like trouble and is known to none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from triage.knowledge.schema import Signature, When
from triage.knowledge.table import Rule, RuleTable
from triage.model import Place
from triage.parsers.matching import MatchedLine, Matching
from triage.report.fitting import TERMINAL, fitted_table
from triage.report.words import clean, number

SCHEMA = "triage/matching/1"
WIDTH = 160
HEADINGS = ("rule", "kind", "class", "lines", "first at")
GIVE = (("class", 0), ("first at", 0))  # what is left out on a narrow terminal: a rule's id begins with its class, its first line stands below
TROUBLE_SHOWN = 40
QUIET = ("progress", "config", "milestone", "cache")  # counted in the table; their lines are shown with --all only


def matching_text(found: Sequence[Matching], table: RuleTable, *, everything: bool = False) -> str:
    """Source by source: the rules with their counts, the lines, and the trouble that no rule knows."""
    return "\n\n".join("\n".join(_source(one, table, everything)) for one in found)


def _source(one: Matching, table: RuleTable, everything: bool) -> Iterator[str]:
    if one.kind == "probe":
        yield from _probes(one)
        return
    loud = sum(line.like for line in one.unmatched)
    known = f"{number(one.lines, 'line')}, {one.matched:,} matched by {number(len(one.tallies), 'rule')}"
    yield f"{clean(one.name)} ({one.kind} log): {known}, {loud:,} look like trouble and match nothing"
    if one.tallies:
        yield from ("", _table(one, table))
    shown = [line for line in one.shown if everything or any(table.by_id[rule].kind not in QUIET for rule in line.rules)]
    if shown:
        yield from ("", "lines" if everything else "lines (the first of each rule; --all shows every one)")
        for line in shown:
            yield f"  {_place(line.place)}  {', '.join(_named(rule, line, table) for rule in line.rules)}"
            yield f"    {clean(line.text.strip(), WIDTH)}"
    if one.unmatched:
        yield from ("", "looks like trouble, and matches nothing")
        yield from _unmatched(one.unmatched, len(one.unmatched) if everything else TROUBLE_SHOWN)


def _unmatched(lines: Sequence[MatchedLine], most: int) -> Iterator[str]:
    for line in lines[:most]:
        yield f"  {_place(line.place)}{f'  and {line.like - 1:,} like it' if line.like > 1 else ''}"
        yield f"    {clean(line.text.strip(), WIDTH)}"
    if len(lines) > most:
        yield f"  ... and {number(len(lines) - most, 'more kind')} of line (--all)"


def _probes(one: Matching) -> Iterator[str]:
    symbols = ", ".join(f"{count:,} {symbol}" for symbol, count in sorted(one.symbols.items(), key=lambda item: -item[1]))
    yield f"{clean(one.name)} (probe log): {number(one.matched, 'probe')}{f' ({symbols})' if symbols else ''}, {number(one.unknown, 'unknown line')}"
    if one.unknown:
        yield from ("", "lines that are no probe triage knows (--probe-format reads your own)")
        for line in one.unknown_shown:
            yield f"  {_place(line.place)}"
            yield f"    {clean(line.text.strip(), WIDTH)}"
        if one.unknown > len(one.unknown_shown):
            yield f"  ... and {number(one.unknown - len(one.unknown_shown), 'more line')}"


def _table(one: Matching, table: RuleTable) -> str:
    rows = [(table.by_id[tally.rule], tally) for tally in one.tallies]
    cells = [(rule.id, rule.role or rule.kind, rule.fault or "-", f"{tally.lines:,}", _short(tally.first)) for rule, tally in rows]
    return fitted_table(HEADINGS, cells, TERMINAL, GIVE, right=("lines",))


def _named(rule_id: str, line: MatchedLine, table: RuleTable) -> str:
    """The rule with its kind; of a root that cannot count, why."""
    rule = table.by_id[rule_id]
    echo = next((other for other in map(table.by_id.__getitem__, line.rules) if other.is_echo), None)
    return f"{rule_id} ({rule.role or rule.kind}{_doubt(rule, echo)})"


def _doubt(rule: Rule, echo: Rule | None) -> str:
    if not rule.is_fault:
        return ""
    if echo is not None:
        return f", does not count beside {echo.id}"
    conditional = isinstance(rule.definition, Signature) and rule.definition.when != When()
    return ", with conditions" if conditional else ""


def _place(place: Place) -> str:
    return f"{clean(place.file)}:{place.line}"


def _short(place: Place) -> str:
    """The name of the file without its folders, which stand above the table, and the line."""
    return f"{clean(place.file).rpartition('/')[2]}:{place.line}"


def matching_document(found: Sequence[Matching], version: str) -> dict[str, Any]:
    """The same as plain values, with every line that was kept."""
    return {"schema": SCHEMA, "rules": version, "sources": [msgspec.to_builtins(one) for one in found]}
