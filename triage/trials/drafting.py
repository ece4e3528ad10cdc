"""Writes the folder of a new trial, and adds a run to one: its logs are copied in, and what the logs cannot say goes into run.toml."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from triage.trials.manifest import RUN, TRIAL, Manifest, RunFile, TrialError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

DRAFT = """question = {question}
stop = "after the planned runs, whatever they show"
limits = ""            # what this trial cannot tell, whatever comes of it
# reserve_mib = 128    # what must stay free at the worst step
# probes = ["probe.log"]

{builds}
[[item]]
id = "first"
question = {question}
# What makes this path run? If the answer is a condition that the runs do not create, they test something else.
path = ""
whole = 0              # how many requests one step must hold; 0: the shape does not matter
faults = []            # the classes that fail it, such as "device-oom"; none: any fault
runs = 3
passes = 3
# How often does a build that has the fault fail like this? `triage trial plan` says what a pass is worth then.
# control = {{ failed = 5, of = 5 }}
# control = {{ per_day = 1, minutes = 10 }}

# [[item.witness]]     # how the logs show that the path ran
# name = "the pool was full"
# pattern = 'KV cache usage: (?P<value>[\\d.]+)%'
# measure = "largest"
# at_least = 99

{arms}"""


def draft(folder: Path, question: str, builds: Sequence[str]) -> Path:
    """Write a trial.toml to fill in. Raises TrialError where there is one already or the folder cannot be written."""
    file = folder / TRIAL
    if file.exists():
        raise TrialError(f"{file}: is there already: edit it, or name another folder")
    told = "".join(f"[[build]]\nname = {_quoted(build)}\nversion = {_quoted(build)}    # what its banner says\n\n" for build in builds)
    arms = "".join(f"[[arm]]\nname = {_quoted(build)}\nbuild = {_quoted(build)}\nconfig = {{ }}\ninstruments = []\n\n" for build in builds)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(DRAFT.format(question=_quoted(question), builds=told, arms=arms), encoding="utf-8")
    except OSError as error:
        raise TrialError(f"{file}: {error.strerror or error}") from error
    return file


def add(folder: Path, manifest: Manifest, name: str, file: RunFile, logs: Sequence[Path]) -> Path:
    """Make the folder of one run: run.toml and a copy of each log, a folder of them with all below it.

    Raises TrialError for a name that is none or is taken, or where something cannot be copied; then nothing of the run is left.
    """
    if not NAME.fullmatch(name):
        raise TrialError(f"{name!r} is no name of a run: letters, digits, `.`, `_` and `-`, such as 03-forced")
    target = folder / manifest.runs / name
    if target.exists():
        raise TrialError(f"{target}: is there already: a run is added once; name another one")
    try:
        target.mkdir(parents=True)
        for log in logs:
            _copied(log, target)
        (target / RUN).write_text(_written(file), encoding="utf-8")
    except (OSError, shutil.Error) as error:
        shutil.rmtree(target, ignore_errors=True)
        raise TrialError(f"{target}: {error}") from error
    return target


def _copied(log: Path, target: Path) -> None:
    if (target / log.name).exists():
        raise OSError(f"two logs are called {log.name}")
    if log.is_dir():
        shutil.copytree(log, target / log.name, symlinks=True)
    else:
        shutil.copy2(log, target / log.name)


def _written(file: RunFile) -> str:
    """run.toml: what is not empty of it."""
    lines = [f"{key} = {_quoted(value)}" for key in ("item", "arm", "outcome", "because", "digest", "since", "until", "independent")
             if (value := str(getattr(file, key)))]  # fmt: skip
    if file.instruments:
        lines.append(f"instruments = [{', '.join(map(_quoted, file.instruments))}]")
    if file.client:
        lines += ["", "[client]", f"requests = {file.client.requests}", f"prompts_each = {file.client.prompts_each}"]
        lines += [f"began = {_quoted(file.client.began)}"] if file.client.began else []
    for key, table in (("environment", file.environment), ("facts", file.facts)):
        lines += ["", f"[{key}]", *(f"{_quoted(name)} = {_quoted(value)}" for name, value in table.items())] if table else []
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A TOML string of one line."""
    escaped = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
