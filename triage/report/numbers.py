"""Gives the lines that are cited their numbers, and the sources their counts, when a report shows them: the files are read once more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from triage.model import Event, Findings, Hint, Place, SourceInfo, Verdict
from triage.sources.numbering import line_numbers
from triage.sources.paths import is_regular

Lines = dict[tuple[str, int], int]


def numbered(findings: Findings, *, counts: bool = False) -> Findings:
    """The findings with line numbers for every line that they cite; with `counts`, also the number of lines of each source."""
    totals = {file for source in findings.sources if not source.lines for file in source.files if is_regular(file)} if counts else set()
    lines, count = _read(_cited(findings), totals)
    return msgspec.structs.replace(
        findings,
        verdicts=tuple(_with_numbers(verdict, lines) for verdict in findings.verdicts),
        sources=tuple(_with_count(source, count) if counts else source for source in findings.sources),
        hints=tuple(_hint_with_numbers(hint, lines) for hint in findings.hints),
    )


def numbered_lines(events: Sequence[Event]) -> list[Event]:
    """Some events with the numbers of their lines."""
    lines, _ = _read(events, set())
    return [_numbered(event, lines) for event in events]


def _read(events: Iterable[Event], totals: set[str]) -> tuple[Lines, dict[str, int]]:
    """The line numbers of events that have none yet, and how many lines the files in `totals` have."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for event in events:
        if not event.place.line and is_regular(event.place.file):
            wanted[event.place.file].add(event.place.offset)
    lines: Lines = {}
    count: dict[str, int] = {}
    for file in sorted({*wanted, *totals}):
        found, count[file] = line_numbers(file, wanted[file], whole=file in totals)
        lines.update({(file, offset): number for offset, number in found.items()})
    return lines, count


def _cited(findings: Findings) -> Iterable[Event]:
    for verdict in findings.verdicts:
        yield from (event for event in (verdict.root, verdict.facts.step_line) if event is not None)
        yield from (*verdict.consequences, *verdict.best_lines)
    for hint in findings.hints:
        yield from hint.evidence


def _with_numbers(verdict: Verdict, lines: Lines) -> Verdict:
    root, step = verdict.root, verdict.facts.step_line
    return msgspec.structs.replace(
        verdict,
        root=_numbered(root, lines) if root is not None else None,
        consequences=tuple(_numbered(e, lines) for e in verdict.consequences),
        best_lines=tuple(_numbered(e, lines) for e in verdict.best_lines),
        facts=msgspec.structs.replace(verdict.facts, step_line=_numbered(step, lines)) if step is not None else verdict.facts,
    )


def _hint_with_numbers(hint: Hint, lines: Lines) -> Hint:
    return msgspec.structs.replace(hint, evidence=tuple(_numbered(e, lines) for e in hint.evidence))


def _numbered(event: Event, lines: Lines) -> Event:
    of = event.place
    number = lines.get((of.file, of.offset))
    return event if number is None else msgspec.structs.replace(event, place=Place(of.source, of.file, of.offset, number))


def _with_count(source: SourceInfo, count: dict[str, int]) -> SourceInfo:
    return source if source.lines else msgspec.structs.replace(source, lines=sum(count.get(file, 0) for file in source.files))
