"""Runs that belong to no trial: some folders or logs of which only the memory is asked. Each is a run, its build is the version that booted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from triage.knowledge.load import Knowledge
from triage.trials.manifest import Arm, Build, Item, Manifest, RunFile, RunFolder
from triage.trials.runs import Look, Reader
from triage.trials.verdicts import Counted, counted

_NAME = "runs"
_MANIFEST = Manifest(
    question="", builds=(Build(name="unknown"),), items=(Item(id=_NAME, question="", path="any"),), arms=(Arm(name=_NAME, build="unknown"),)
)


def loose_runs(paths: Sequence[str], known: Knowledge, look: Look, *, tz: str = "UTC", year: int | None = None) -> list[Counted]:
    """One run for each path. Raises NothingToReadError where nothing can be read in one of them."""
    reader = Reader(_MANIFEST, known, look, tz=tz, year=year)
    return [_run(reader, path) for path in paths]


def _run(reader: Reader, path: str) -> Counted:
    run = reader.read(RunFolder(Path(path).name or path, Path(path), RunFile(item=_NAME, arm=_NAME)))
    version = run.boot.version if run.boot and run.boot.version else "unknown"
    return counted(msgspec.structs.replace(run, build=Build(name=version)), asked=False)
