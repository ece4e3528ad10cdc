"""Reads an engine's own throughput out of its periodic lines, all of them, where a command measures it; nothing else of the log is looked at.

    Engine 000: Avg prompt throughput: 14.2 tokens/s, Avg generation throughput: 39.4 tokens/s, Running: 1 reqs, Waiting: 0 reqs, ...
    Decode batch. #running-req: 1, #token: 912, token usage: 0.01, cuda graph: True, gen throughput (token/s): 38.11, #queue-req: 0
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

import msgspec

from triage.knowledge.scanner import Scanner
from triage.knowledge.table import Rule, RuleTable
from triage.model import Place, Problem, Seconds
from triage.parsers.options import Options
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.paths import path_of
from triage.sources.pieces import Piece, pieces

LONGEST_TEXT = 400


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """One line: when (seconds since the epoch), tokens a second made and read in, and the requests running and waiting at its end."""

    at: Seconds
    generation: float
    prompt: float | None
    running: int
    waiting: int
    place: Place
    stream: str = ""
    text: str = ""


def paces(source: Source, table: RuleTable, options: Options, problems: list[Problem]) -> Iterator[Pace]:
    """Every line of a source that tells how many tokens were made and for how many requests; lines without a time are left out."""
    rules = [rule for rule in table.rules if rule.kind == "progress" and {"generation", "running"} <= set(rule.pattern.groupindex)]
    scanner = Scanner([rule.scan_pattern for rule in rules])
    clock = Clock(tz=options.tz, year=options.year, reference=_written(source))
    for piece in pieces(source, clock, problems=problems):
        yield from _of_piece(piece, scanner, rules, table, clock)


def _of_piece(piece: Piece, scanner: Scanner, rules: Sequence[Rule], table: RuleTable, clock: Clock) -> Iterator[Pace]:
    seen: set[int] = set()
    for end, index in scanner.scan(piece.data):
        if end <= piece.overlap:
            continue
        line = piece.line_at(end - 1)
        if line.start in seen or (found := _matched(table, rules[index], line.text)) is None:
            continue
        seen.add(line.start)
        at = clock.instant(line)
        if at is not None:
            yield Pace(
                at=at.middle,
                generation=float(found["generation"]),
                prompt=float(found["prompt"]) if found.get("prompt") else None,
                running=int(found["running"]),
                waiting=int(found.get("waiting") or 0),
                place=piece.place(line),
                stream=line.stream,
                text=line.text[:LONGEST_TEXT],
            )


def _matched(table: RuleTable, rule: Rule, text: str) -> dict[str, str] | None:
    try:
        found = table.evidence(rule, text)
    except TimeoutError:
        return None
    return found[1] if found and "running" in found[1] else None


def _written(source: Source) -> float:
    try:
        return max(os.stat(path_of(file)).st_mtime for file in source.files)
    except (OSError, ValueError):
        return time.time()
