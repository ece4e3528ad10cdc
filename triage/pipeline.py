"""The whole way in, on one screen: paths to sources to events to boots, outages and incidents to verdicts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from triage.knowledge.load import Knowledge, load
from triage.knowledge.table import RuleTable
from triage.model import Dump, Findings, Kind, Problem, Seconds
from triage.parsers.options import Options
from triage.parsers.reading import Reading
from triage.parsers.sorting import NothingToReadError, known_ones, may_be_ours, not_ours, nothing_in
from triage.sources.find import find
from triage.timeline.boots import boots
from triage.timeline.coverage import coverage
from triage.timeline.incidents import join
from triage.timeline.outages import outages
from triage.verdict.best_lines import with_best_lines
from triage.verdict.common_cause import mark_ids
from triage.verdict.hints import hints
from triage.verdict.judge import Judge
from triage.verdict.window import probes_within, within
from triage.workers import Progress, read_all

Named = str | os.PathLike[str]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was read and not yet joined or judged: the sources that were understood, the dumps, and what could not be read."""

    readings: tuple[Reading, ...] = ()
    dumps: tuple[Dump, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether some of the input could not be read."""
        return any(problem.lost for problem in self.problems)


class Part(msgspec.Struct, frozen=True):
    """What some paths gave: all readings, understood or not, dumps, and what could not be read before it came to reading."""

    readings: list[Reading]
    dumps: list[Dump]
    problems: list[Problem]


class Backend(Protocol):
    """Where sources are read, if not in this process."""

    def part(self, paths: Sequence[str], kind: Kind | None, options: Options) -> Part: ...


def classify(
    paths: Named | Sequence[Named],
    *,
    rules: Named | Sequence[Named] = (),
    kind: Kind | None = None,
    options: Options | None = None,
    since_event: str = "onset",
    since: Seconds | None = None,
    until: Seconds | None = None,
    knowledge: Knowledge | None = None,
) -> Findings:
    """What happened, by everything in `paths` (files, folders, globs, `-`): one of them or several.

    Raises RuleError for rules that cannot be used and NothingToReadError where no path held anything of ours.
    """
    known = knowledge or load([Path(folder) for folder in several(rules)])
    evidence = gather(several(paths), known, kind=kind, options=msgspec.structs.replace(options or Options(), last_lines=False))
    return judged(evidence, known, since_event=since_event, since=since, until=until)


def several(paths: Named | Sequence[Named]) -> list[str]:
    """One path or many as a list of texts. Raises TypeError for what is no path."""
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def gather(
    paths: Sequence[str],
    known: Knowledge,
    *,
    kind: Kind | None = None,
    options: Options | None = None,
    table: RuleTable | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    backend: Backend | None = None,
) -> Evidence:
    """Finds, opens and parses everything in `paths`, up to `jobs` sources at once (0: as many as there are processors), or where `backend` does.

    `table` is that of `known`, for whoever has it already: to make it takes longer than to read a small log. Raises NothingToReadError
    where no path held anything of ours.
    """
    options = options or Options()
    part = backend.part(paths, kind, options) if backend else _part(paths, table or RuleTable(known), kind, options, jobs, progress)
    readings, strange = known_ones(part.readings, paths)
    told = (*part.problems, *strange, *(p for reading in part.readings for p in reading.info.problems))
    if not readings and not any(dump.ranks or dump.empty for dump in part.dumps):
        raise NothingToReadError(nothing_in(paths, told))
    return Evidence(readings=tuple(readings), dumps=tuple(part.dumps), problems=told)


def _part(paths: Sequence[str], table: RuleTable, kind: Kind | None, options: Options, jobs: int, progress: Progress | None) -> Part:
    """What is at these paths, read by this process and its own."""
    found, problems = find(paths, kind=kind)
    sources = may_be_ours(found, paths, kind)
    read = read_all(sources, table, options, jobs=jobs, progress=progress)
    dump_files = [file for (source, _), one in zip(sources, read, strict=True) if one == "flight_recorder" for file in source.files]
    skipped = [not_ours(source) for (source, _), one in zip(sources, read, strict=True) if one is None]
    dumps, lost = read_dumps(dump_files, options)
    return Part([one for one in read if isinstance(one, Reading)], dumps, [*problems, *skipped, *lost])


def judged(
    evidence: Evidence,
    known: Knowledge,
    *,
    since_event: str = "onset",
    since: Seconds | None = None,
    until: Seconds | None = None,
    lines_of_all: bool = False,
) -> Findings:
    """Joins what was gathered into boots, outages and incidents, names each of them, and says what those of the time asked for have in common.

    With `lines_of_all`, incidents that have a root get their best lines, too, and all their last ones (`Options.last_lines`): a model looks at
    what would be there without the rule.
    """
    readings = evidence.readings
    by_name = sorted(readings, key=lambda reading: reading.info.name)  # in whatever order the files were given
    told = [outage for reading in by_name for outage in outages(reading.probes, source=reading.info.name)]
    told.sort(key=lambda outage: (outage.began.earliest, outage.target))
    failures = list({(outage.target, outage.began.earliest, outage.symbols): outage for outage in told}.values())  # a copied log tells it again
    events = [event for reading in readings for event in reading.with_pulse_around(failures)]
    lives = boots(e for e in events if e.origin != "kernel")
    incidents = join(lives, failures, evidence.dumps, [e for e in events if e.origin == "kernel"])
    judge = Judge(known, since=since_event, dumps_were_read=bool(evidence.dumps))
    loud = {reading.info.name: reading.trouble for reading in readings if reading.trouble}
    tails = {reading.info.name: reading.tail for reading in readings if reading.tail} if lines_of_all else None
    kernel = [e for r in readings if lines_of_all and r.info.kind == "kernel" and r.trouble for e in r.trouble.every()]
    found = Findings(
        rules=known.version,
        sources=tuple(reading.info for reading in readings),
        boots=tuple(lives),
        outages=tuple(failures),
        probes=sum(len(reading.probes) for reading in readings),
        verdicts=tuple(with_best_lines(judge.verdicts(incidents), loud, known, tails, kernel)),
        coverage=coverage([reading.info for reading in readings], [p for reading in readings for p in reading.probes]),
        problems=evidence.problems,
        assumptions=tuple(dict.fromkeys(a for reading in readings for a in reading.assumptions)),
        since=since_event,
    )
    narrowed, marks = narrowed_to(found, evidence, since, until), mark_ids(known.common_causes)
    joined = hints(narrowed.verdicts, narrowed.boots, [e for e in events if e.rule in marks], known)
    return msgspec.structs.replace(narrowed, hints=joined)


def narrowed_to(findings: Findings, evidence: Evidence, since: Seconds | None, until: Seconds | None) -> Findings:
    """Findings of the time from `since` to `until`, with the probes of that time counted in the evidence that they were judged from."""
    probes = probes_within((probe for reading in evidence.readings for probe in reading.probes), since, until)
    return msgspec.structs.replace(within(findings, since, until), probes=probes)


def read_dumps(files: Sequence[str], options: Options) -> tuple[list[Dump], list[Problem]]:
    """What the flight-recorder files say, one summary a hang; what reads them is loaded only where there are some."""
    if not files:
        return [], []
    from triage.parsers.flight_recorder import read_files
    from triage.verdict.dumps import summarise

    groups = read_files(files, rank_from=options.rank_from)
    return [summarise(group) for group in groups], [problem for group in groups for problem in group.unreadable]
