"""A whole trial, read: its runs, the cells of its matrix, what differs between its builds, and the outage that it caused itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from triage.knowledge.load import Knowledge
from triage.model import Outage, Problem, Seconds
from triage.trials.booted import chosen
from triage.trials.manifest import RUN, Item, Manifest, RunFolder, read_manifest, run_folders, strays
from triage.trials.predictions import Tested, tested
from triage.trials.runs import Look, Reader, Run
from triage.trials.verdicts import Cell, Counted, cell, counted

JOURNAL = "predictions.jsonl"
Config = tuple[tuple[str, str], ...]


class Downtime(msgspec.Struct, frozen=True):
    """How long the service that was probed did not answer while the trial ran: seconds from the first failed probe to the next good one.

    `open`: it had not come back when the probes end.
    """

    seconds: Seconds
    outages: int
    failed: int
    open: bool = False


class Difference(msgspec.Struct, frozen=True):
    """Something that all runs of one build say otherwise than all runs of another."""

    name: str
    values: tuple[tuple[str, str], ...]  # build and what it says


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A trial with everything that was read of it."""

    folder: Path
    manifest: Manifest
    counted: tuple[Counted, ...]
    cells: tuple[Cell, ...]
    differences: tuple[Difference, ...] = ()
    downtime: Downtime | None = None
    predictions: tuple[Tested, ...] = ()
    unread: tuple[Problem, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        return tuple(one.run for one in self.counted)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What limits the answer, of all runs."""
        return (*self.unread, *(problem for run in self.runs for problem in run.problems))

    @property
    def boots(self) -> int:
        """How many boots the runs are made of: one that several runs share counts once."""
        return len({boot.id for run in self.runs for boot in run.boots})

    def rows(self) -> list[tuple[Item, Config]]:
        """The lines of the matrix: items in their order, of each its configurations."""
        configs = {item.id: dict.fromkeys(one.config for one in self.cells if one.item.id == item.id) for item in self.manifest.items}
        return [(item, config) for item in self.manifest.items for config in configs[item.id]]

    def cell(self, item: Item, config: Config, build: str) -> Cell | None:
        return next((c for c in self.cells if (c.item.id, c.config, c.build) == (item.id, config, build)), None)


def read_trial(folder: Path, known: Knowledge, look: Look, *, tz: str = "UTC", year: int | None = None) -> Trial:
    """A trial and all its runs. Raises TrialError for what is wrong with its own files, JournalError for a journal that was changed."""
    manifest = read_manifest(folder)
    folders = run_folders(folder, manifest)
    reader = Reader(manifest, known, look, tz=tz, year=year)
    unread = [Problem(os.fspath(one), f"has no {RUN}, so it is no run: `triage trial add` makes one") for one in strays(folder, manifest)]
    runs = [run for one in folders if (run := _read(reader, one, unread)) is not None]
    every = tuple(counted(run) for run in runs)
    return Trial(
        folder=folder,
        manifest=manifest,
        counted=every,
        cells=cells(manifest, every),
        differences=differences(manifest, runs),
        downtime=_downtime(folder, manifest, runs, look, unread),
        predictions=tested(manifest, runs, folder / JOURNAL),
        unread=tuple(unread),
    )


def _read(reader: Reader, folder: RunFolder, unread: list[Problem]) -> Run | None:
    """One run; where nothing of it can be read, a word about it."""
    from triage.parsers.sorting import NothingToReadError

    try:
        return reader.read(folder)
    except NothingToReadError as error:
        unread.append(Problem(os.fspath(folder.path), str(error)))
        return None


def cells(manifest: Manifest, every: Sequence[Counted]) -> tuple[Cell, ...]:
    """Each item with each configuration that some run of it was meant to have, on each build that it is asked of, or ran on all the same."""
    found = []
    for item in manifest.items:
        own = [one for one in every if one.run.item.id == item.id]
        for config in dict.fromkeys(_config(one.run) for one in own) or [()]:
            here = [one for one in own if _config(one.run) == config]
            asked = item.builds or tuple(build.name for build in manifest.builds)
            builds = dict.fromkeys((*asked, *(one.run.build.name for one in here)))
            found += [cell(item, build, config, [one for one in here if one.run.build.name == build]) for build in builds]
    return tuple(found)


def _config(run: Run) -> Config:
    """What the run's arm is meant to have booted with."""
    return tuple(sorted((name, str(value)) for name, value in run.arm.config.items()))


def differences(manifest: Manifest, runs: Sequence[Run]) -> tuple[Difference, ...]:
    """Where all boots of one build say otherwise than all of another, whatever the arm: versions, facts, what was resolved.

    What some runs of a build say and some do not is no difference between builds.
    """
    said = {build.name: [_said(run) for run in runs if run.build.name == build.name and run.boots] for build in manifest.builds}
    said = {build: told for build, told in said.items() if told}
    asked = {name for arm in manifest.arms for name in arm.config}
    names = dict.fromkeys(name for told in said.values() for one in told for name in one if name not in asked)
    return tuple(different for name in names if (different := _difference(name, said)) is not None)


def _said(run: Run) -> dict[str, str]:
    version = {"version": run.boot.version} if run.boot and run.boot.version else {}
    digest = {"image": run.folder.file.digest} if run.folder.file.digest else {}
    return {**version, **digest, **run.facts, **chosen(run.told)}


def _difference(name: str, said: dict[str, list[dict[str, str]]]) -> Difference | None:
    values = {build: {one.get(name, "-") for one in told} for build, told in said.items()}
    if len(values) < 2 or any(len(found) > 1 for found in values.values()) or len(set.union(*values.values())) < 2:
        return None
    return Difference(name, tuple((build, next(iter(found))) for build, found in values.items()))


def _downtime(folder: Path, manifest: Manifest, runs: Sequence[Run], look: Look, unread: list[Problem]) -> Downtime | None:
    """The outages of the probed service that overlap the runs; None where nothing was probed or nothing ran."""
    from triage.parsers.sorting import NothingToReadError

    times = [at for run in runs for at in (run.began, run.finished) if at is not None]
    if not manifest.probes or not times:
        return None
    try:
        _, findings = look([os.fspath(folder / name) for name in manifest.probes], None, None)
    except NothingToReadError as error:
        unread.append(Problem(", ".join(manifest.probes), str(error)))
        return None
    unread += [problem for problem in findings.problems if problem.lost]
    hit = [outage for outage in findings.outages if _overlaps(outage, min(times), max(times))]
    last = max((source.last.latest for source in findings.sources if source.last), default=max(times))
    return Downtime(
        seconds=sum((outage.ended.earliest if outage.ended else last) - outage.began.earliest for outage in hit),
        outages=len(hit),
        failed=sum(outage.failed for outage in hit),
        open=any(outage.ended is None for outage in hit),
    )


def _overlaps(outage: Outage, start: Seconds, end: Seconds) -> bool:
    return outage.onset.earliest <= end and (outage.ended is None or outage.ended.latest >= start)


def narrowed(trial: Trial, items: Sequence[str]) -> Trial:
    """The trial as if it had only these items."""
    manifest = msgspec.structs.replace(trial.manifest, items=tuple(item for item in trial.manifest.items if item.id in items))
    return msgspec.structs.replace(
        trial,
        manifest=manifest,
        counted=tuple(one for one in trial.counted if one.run.item.id in items),
        cells=tuple(one for one in trial.cells if one.item.id in items),
        predictions=tuple(one for one in trial.predictions if one.prediction.item in items),
    )
