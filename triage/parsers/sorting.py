"""Sorts what was found by what it is: logs with their kinds, flight-recorder dumps, and what is nothing of ours."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from triage.model import Kind, Problem
from triage.parsers.reading import Reading
from triage.parsers.sniff import FIRST_LINES, LINES_LOOKED_AT, is_document, is_plainly_an_engine, sniff
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.opening import head
from triage.sources.paths import STDIN, shown
from triage.sources.pieces import first_piece, lines_of


class NothingToReadError(Exception):
    """No path held anything that triage reads."""


def sort_files(
    found: Sequence[Source], named: Sequence[str], kind: Kind | None
) -> tuple[list[tuple[Source, Kind]], list[str], list[Problem]]:
    """Sources with their kinds, the flight-recorder files among them, and a word for each file that is nothing of ours."""
    kinds: list[tuple[Source, Kind]] = []
    dumps: list[str] = []
    problems: list[Problem] = []
    for source in found:
        explicit = any(file in map(shown, named) for file in source.files)
        if is_document(source.name) and not explicit and kind is None:
            continue
        what = kind or source.kind or _kind_of(source)
        if what == "flight_recorder":
            dumps += list(source.files)
        elif what is None:
            problems.append(Problem(source.name, "binary, and no flight-recorder dump: skipped", lost=True))
        else:
            kinds.append((source, what))
    return kinds, dumps, problems


def _kind_of(source: Source) -> Kind | None:
    first = first_piece(source, Clock())
    read = islice(lines_of(first), LINES_LOOKED_AT) if first else iter(())
    texts = (f"kernel: {line.text}" if line.unit == "kernel" else line.text for line in read)
    lines = list(islice(texts, FIRST_LINES))
    if not is_plainly_an_engine(lines):
        lines += texts
    return sniff(source.name, head(source.files[-1]), lines)


def known_ones(readings: Sequence[Reading], named: Sequence[str]) -> tuple[list[Reading], list[Problem]]:
    """The readings in which something was understood or that were asked for by name, and a word for each in which nothing was.

    A log that was named and could be read is an answer, if an empty one; what a folder happens to hold is none. What somebody piped in
    was meant to be understood: cron would never learn that it is an error message of the program before the pipe.
    """
    kept = [r for r in readings if r.is_known or _is_asked_for(r, named)]
    strange = [r for r in readings if not r.is_known and not _is_lost(r) and r.info.bytes]
    return kept, [Problem(r.info.name, "nothing in it that triage knows", lost=STDIN in r.info.files) for r in strange]


def _is_asked_for(reading: Reading, named: Sequence[str]) -> bool:
    asked_for = any(file in map(shown, named) for file in reading.info.files)
    return asked_for and (STDIN in reading.info.files or not _is_lost(reading))


def _is_lost(reading: Reading) -> bool:
    """Whether something kept it from being read, which its own problem says."""
    return any(problem.lost for problem in reading.info.problems)


def nothing_in(paths: Sequence[str], problems: Sequence[Problem]) -> str:
    """Why nothing could be read, in one sentence."""
    reasons = "; ".join(f"{p.file}: {p.what}" for p in problems[:5])
    why = f" ({reasons})" if reasons else ": no engine, probe or kernel log and no flight-recorder dump"
    return f"nothing to read in {', '.join(map(shown, paths))}{why}"
