"""The trial of fixtures/acceptance-night, as it is and with changes made to a copy; read once for each change."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from triage.knowledge.load import Knowledge, load
from triage.pipeline import gather, judged
from triage.trials.trial import Trial, read_trial
from triage.trials.verdicts import Cell, Counted

NIGHT = Path(__file__).parents[2] / "fixtures" / "acceptance-night"


@cache
def known() -> Knowledge:
    return load()


def look(paths: Sequence[str], since: float | None, until: float | None) -> tuple[Any, Any]:
    evidence = gather(paths, known())
    return evidence.readings, judged(evidence, known(), since=since, until=until)


def read(folder: Path) -> Trial:
    return read_trial(folder, known(), look)


@cache
def night() -> Trial:
    return read(NIGHT)


def copied(tmp: Path, runs: str = "*") -> Path:
    """A copy of the trial with the runs that match."""
    folder = tmp / "trial"
    folder.mkdir()
    for file in ("trial.toml", "predictions.jsonl", "predictions.jsonl.head"):
        shutil.copy2(NIGHT / file, folder / file)
    (folder / "logs").mkdir()
    shutil.copy2(NIGHT / "logs" / "probe.log", folder / "logs" / "probe.log")
    for run in sorted((NIGHT / "logs").glob(runs)):
        if run.is_dir():
            shutil.copytree(run, folder / "logs" / run.name)
    return folder


def edited(file: Path, change: Callable[[str], str]) -> None:
    """Rewrites a file; refuses a change that changes nothing."""
    before = file.read_text(encoding="utf-8")
    after = change(before)
    assert after != before, f"nothing to change in {file}"
    file.write_text(after, encoding="utf-8")


def cell(trial: Trial, item: str, build: str, **config: str) -> Cell:
    """The one cell of an item and a build whose configuration holds these values."""
    (found,) = [c for c in trial.cells if (c.item.id, c.build) == (item, build) and config.items() <= dict(c.config).items()]
    return found


def run(trial: Trial, name: str) -> Counted:
    return next(one for one in trial.counted if one.run.name == name)
