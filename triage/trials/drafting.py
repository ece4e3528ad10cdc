"""Writes the folder of a new trial, and adds a run to one: its logs are copied in, and what the logs cannot say goes into run.toml."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from triage.trials.manifest import RUN, TRIAL, Manifest, RunFile, TrialError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

TAKEN = "is there already: a run is added once; name another one"

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
    text = DRAFT.format(question=_quoted(question), builds=told, arms=arms)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except OSError as error:
        raise TrialError(f"{file}: {error.strerror or error}") from error
    return file


def add(folder: Path, manifest: Manifest, name: str, file: RunFile, logs: Sequence[Path]) -> Path:
    """Make the folder of one run: run.toml and a copy of each log, a folder of them with all below it.

    Raises TrialError for a name that is none or is taken, or where something cannot be copied; then nothing of the run is left.
    """
    if not NAME.fullmatch(name):
        raise TrialError(f"{name!r} is no name of a run: letters, digits, `.`, `_` and `-`, such as 03-forced")
    below = folder / manifest.runs
    target = below / name
    if os.path.lexists(target):
        raise TrialError(f"{target}: {TAKEN}")
    for log in logs:
        _fits(log, below)
    text = _written(file)
    try:
        below.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=below))
    except OSError as error:
        raise TrialError(f"{below}: {error.strerror or error}") from error
    try:
        making.chmod(0o777 & ~_umask())
        for log in logs:
            _copied(log, making)
        (making / RUN).write_text(text, encoding="utf-8")
        making.rename(target)  # whole, or not there: who reads the trial meanwhile meets no half of a run
    except (OSError, shutil.Error) as error:
        raise TrialError(f"{target}: {TAKEN if os.path.lexists(target) else error}") from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return target


def _umask() -> int:
    old = os.umask(0)
    os.umask(old)
    return old


def _fits(log: Path, below: Path) -> None:
    """Raises TrialError for a log that cannot be kept: a device, the name of what is written beside it, a folder in which the runs lie."""
    if _name(log) == RUN:
        raise TrialError(f"{log}: what is called {RUN} is written here: name the logs, or the folder that holds them")
    if not (log.is_dir() or log.is_file()):
        raise TrialError(f"{log}: is no file and no folder: write what it gives into a file first")
    if log.is_dir() and below.resolve().is_relative_to(log.resolve()):
        raise TrialError(f"{log}: the runs of the trial lie in it: name the logs of this run")


def _name(log: Path) -> str:
    """What the copy is called: as the log; `.` as the folder that it is."""
    return log.resolve().name if log.name in ("", "..") else log.name


def _copied(log: Path, target: Path) -> None:
    copy = target / _name(log)
    if copy.exists():
        raise shutil.Error(f"two logs are called {copy.name}")
    if log.is_dir():
        shutil.copytree(log, copy, symlinks=True)
    else:
        shutil.copy2(log, copy)


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
    """A TOML string of one line. Raises TrialError for bytes that are no text."""
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise TrialError(f"{text.encode('utf-8', 'surrogateescape')!r} is no UTF-8: write it in UTF-8")
    escaped = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'
