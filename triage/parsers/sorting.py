"""Sorts what was found by what it is: logs with their kinds, flight-recorder dumps, and what is nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triage.knowledge.table import RuleTable
from triage.model import Kind, Problem
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.parsers.sniff import is_document, sniff
from triage.sources.beginnings import small_files_held
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.opening import head
from triage.sources.paths import STDIN, asked_once, shown
from triage.sources.pieces import first_piece, texts_of

Read = Reading | Kind | None  # what a source gave; or what it is instead of a log: a dump, nothing of ours


class NothingToReadError(Exception):
    """No path held anything that triage reads."""


def sort_files(
    found: Sequence[Source], named: Sequence[str], kind: Kind | None
) -> tuple[list[tuple[Source, Kind]], list[str], list[Problem]]:
    """Sources with their kinds, the flight-recorder files among them, and a word for each file that is nothing of ours."""
    kinds: list[tuple[Source, Kind]] = []
    dumps: list[str] = []
    problems: list[Problem] = []
    for source, told in may_be_ours(found, named, kind):
        what = told or kind_of(source)
        if what == "flight_recorder":
            dumps += source.files
        elif what is None:
            problems.append(not_ours(source))
        else:
            kinds.append((source, what))
    return kinds, dumps, problems


def may_be_ours(found: Sequence[Source], named: Sequence[str], kind: Kind | None) -> list[tuple[Source, Kind | None]]:
    """The sources that are no documents, or were named, and what the user says that they are."""
    asked_for = set(map(shown, named))
    return [
        (source, kind or source.kind)
        for source in found
        if kind is not None or not is_document(source.name) or not asked_for.isdisjoint(source.files)
    ]


def not_ours(source: Source) -> Problem:
    """A word about a source that is nothing of ours."""
    return Problem(source.name, "binary, and no flight-recorder dump: skipped", lost=True)


def read_one(source: Source, kind: Kind | None, table: RuleTable, options: Options, told: Callable[[int], None] | None = None) -> Read:
    """A source read as what it is. `told` is called with how many more bytes of its files were read."""
    with asked_once(source.files), small_files_held(source.files):
        what = kind or kind_of(source)
        return what if what in (None, "flight_recorder") else read_source(source, what, table, options, told)


def kind_of(source: Source) -> Kind | None:
    """What a source is, by its newest file that is not empty; None for nothing of ours."""
    first = first_piece(source, Clock())
    texts = texts_of(first) if first else ()
    return sniff(source.name, head(source.files[-1]), (f"kernel: {text}" if unit == "kernel" else text for text, unit in texts))


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
