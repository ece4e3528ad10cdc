"""What a trial is, as its folder says: trial.toml (question, items, builds, arms, predictions) and a run.toml for each run.

A folder of a trial, which can lie in git::

    trial.toml
    runs/01-burst/run.toml      which item and arm, and what the log cannot say
    runs/01-burst/engine.log    whatever was kept of the run: logs, probe log, samples of GPU memory
"""

from __future__ import annotations

import math
import os
import tomllib
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

T = TypeVar("T")
Value = str | int | float | bool
Measure = Literal["count", "largest", "smallest", "sum"]
Quantity = Literal["free_at_worst_step", "used_at_rest", "step_cost"]
TRIAL, RUN = "trial.toml", "run.toml"


class TrialError(ValueError):
    """A trial that cannot be used: the message names the file and the key."""


class Build(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One build under trial. `version` is what its banner must say, `digest` that of its image; empty fields ask nothing."""

    name: str
    version: str = ""
    digest: str = ""


class Fact(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that a boot's log tells and by which builds may differ; the regex has a group `value`."""

    name: str
    pattern: str


class Sign(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A condition on a run's log: how many lines match, or the largest, smallest or summed figure of the group `value` in them."""

    name: str
    pattern: str
    measure: Measure = "count"
    at_least: float | None = None
    at_most: float | None = None


class Control(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a build that has the fault failed under the same shape and path: `failed` of `of` runs, or a rate and a run's length."""

    failed: int = 0
    of: int = 0
    per_day: float = 0.0
    minutes: float = 0.0


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"witnesses": "witness", "expects": "expect"}):
    """One line of the acceptance matrix.

    `path` answers "what makes this path run?"; `witnesses` are how the logs show that it did. `whole`: how many requests one step of the
    engine must hold (0: the shape does not matter). `faults`: the classes that fail it (none: any fault). `expects`: what must hold
    besides for a pass. `passes`: how many counting passes make a pass. `runs`: how many are planned in each cell.
    """

    id: str
    question: str
    path: str
    witnesses: tuple[Sign, ...] = ()
    expects: tuple[Sign, ...] = ()
    whole: int = 0
    faults: tuple[str, ...] = ()
    passes: int = 1
    runs: int = 0
    builds: tuple[str, ...] = ()
    control: Control | None = None


class Arm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Build, configuration and instruments under one name. `config` is what the engine must really have booted with."""

    name: str
    build: str
    config: dict[str, Value] = {}
    instruments: tuple[str, ...] = ()


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure (MiB) that was expected of an arm in an item, and why."""

    id: str
    item: str
    arm: str
    quantity: Quantity
    value: float
    because: str = ""


class Manifest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename={"builds": "build", "facts": "fact", "items": "item", "arms": "arm", "predictions": "prediction"},
):
    """trial.toml. `reserve_mib`: what must stay free at the worst step. `probes`: logs of what probed the service that the trial displaced."""

    question: str
    stop: str = ""
    limits: str = ""
    reserve_mib: float | None = None
    runs: str = "runs"
    probes: tuple[str, ...] = ()
    builds: tuple[Build, ...]
    facts: tuple[Fact, ...] = ()
    items: tuple[Item, ...]
    arms: tuple[Arm, ...]
    predictions: tuple[Prediction, ...] = ()

    def item(self, name: str) -> Item:
        return next(item for item in self.items if item.id == name)

    def arm(self, name: str) -> Arm:
        return next(arm for arm in self.arms if arm.name == name)


class Client(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the client did, by its own record: so many requests, each with so many prompts, the first of them at `began`."""

    requests: int
    prompts_each: int = 1
    began: str = ""


class RunFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """run.toml: which item and arm, and what the logs cannot say.

    `outcome` with `because` is used only where the log shows no fault: an answer that was wrong is a failure that no log tells.
    `since` and `until` cut the run out of a longer log. `independent` says why runs that share a boot count as several.
    """

    item: str
    arm: str
    outcome: Literal["", "pass", "fail"] = ""
    because: str = ""
    digest: str = ""
    instruments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    facts: dict[str, str] = {}
    client: Client | None = None
    since: str = ""
    until: str = ""
    independent: str = ""


class RunFolder(msgspec.Struct, frozen=True):
    """One run as it lies on disk."""

    name: str
    path: Path
    file: RunFile


def read_manifest(folder: Path) -> Manifest:
    """The trial.toml of a folder. Raises TrialError."""
    manifest = _read(folder / TRIAL, Manifest)
    for what in _flaws(manifest):
        raise TrialError(f"{folder / TRIAL}: {what}")
    return manifest


def run_folders(folder: Path, manifest: Manifest) -> list[RunFolder]:
    """The runs of a trial by name. Raises TrialError where a run names an item or an arm that the trial does not have."""
    below = folder / manifest.runs
    found = sorted(path for path in _folders(below) if (path / RUN).is_file())
    return [_run(path, manifest) for path in found]


def strays(folder: Path, manifest: Manifest) -> list[Path]:
    """Folders among the runs that nothing says anything of: a run that is not read is one that is missing from the answer."""
    return sorted(path for path in _folders(folder / manifest.runs) if not (path / RUN).is_file())


def _folders(below: Path) -> list[Path]:
    """The folders of runs; one whose name begins with a dot is one that is only being added."""
    try:
        return [path for path in below.iterdir() if not path.name.startswith(".") and path.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TrialError(f"{below}: {error.strerror or error}") from error


def _run(path: Path, manifest: Manifest) -> RunFolder:
    file = _read(path / RUN, RunFile)
    if file.item not in {item.id for item in manifest.items}:
        raise TrialError(f"{path / RUN}: `item` names {file.item!r}, which trial.toml does not have")
    if file.arm not in {arm.name for arm in manifest.arms}:
        raise TrialError(f"{path / RUN}: `arm` names {file.arm!r}, which trial.toml does not have")
    if file.outcome and not file.because.strip():
        raise TrialError(f"{path / RUN}: `outcome` needs `because`: what was seen that the log cannot say")
    return RunFolder(path.name, path, file)


def _read(path: Path, shape: type[T]) -> T:
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), shape)
    except FileNotFoundError as error:
        raise TrialError(f"{path}: no such file: `triage trial new {os.fspath(path.parent)}` makes a trial") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise TrialError(f"{path}: {error}") from error


def _flaws(manifest: Manifest) -> list[str]:
    """What is wrong between the parts of a manifest, worst first."""
    items, builds, arms = [i.id for i in manifest.items], [b.name for b in manifest.builds], [a.name for a in manifest.arms]
    flaws = [f"{key}: {name!r} stands there twice" for key, names in (("item", items), ("build", builds), ("arm", arms)) for name in _twice(names)]
    if Path(manifest.runs).is_absolute() or ".." in Path(manifest.runs).parts:
        flaws.append("`runs` is a folder below the trial's own")
    for item in manifest.items:
        if not item.path.strip():
            flaws.append(f"item {item.id}: `path` is empty: what makes this path run?")
        flaws += [f"item {item.id}: `builds` names {name!r}, which is no build" for name in item.builds if name not in builds]
        flaws += [f"item {item.id}: {what}" for what in _counts(item)]
        flaws += [f"item {item.id}: {what}" for sign in (*item.witnesses, *item.expects) for what in _sign(sign)]
    flaws += [f"fact {fact.name}: {what}" for fact in manifest.facts for what in _pattern(fact.pattern, needs_value=True)]
    flaws += [f"arm {arm.name}: `build` names {arm.build!r}, which is no build" for arm in manifest.arms if arm.build not in builds]
    flaws += [f"prediction {p.id}: `item` or `arm` names nothing" for p in manifest.predictions if p.item not in items or p.arm not in arms]
    flaws += [f"prediction {p.id}: `value` is no figure" for p in manifest.predictions if not math.isfinite(p.value)]
    flaws += [f"prediction: {name!r} stands there twice" for name in _twice([p.id for p in manifest.predictions])]
    if manifest.reserve_mib is not None and not 0 <= manifest.reserve_mib < math.inf:
        flaws.append("`reserve_mib` is what must stay free: 0 or more")
    return flaws


def _counts(item: Item) -> list[str]:
    """Numbers that no run could meet, or that none would have to."""
    flaws = [] if item.passes >= 1 else ["`passes` is at least 1: no pass is none"]
    flaws += [f"`{key}` cannot be negative" for key, value in (("runs", item.runs), ("whole", item.whole)) if value < 0]
    control = item.control
    if control and not (0 <= control.failed <= control.of and 0 <= control.per_day < math.inf and 0 <= control.minutes < math.inf):
        flaws.append("`control` says how many `failed` `of` so many runs, or a rate `per_day` and `minutes`")
    return flaws


def _twice(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})


def _sign(sign: Sign) -> list[str]:
    flaws = _pattern(sign.pattern, needs_value=sign.measure != "count")
    if sign.at_least is None and sign.at_most is None:
        flaws.append("needs `at_least` or `at_most`")
    if any(bound is not None and not math.isfinite(bound) for bound in (sign.at_least, sign.at_most)):
        flaws.append("`at_least` and `at_most` are figures")
    elif sign.measure in ("count", "sum") and sign.at_most is None and sign.at_least is not None and sign.at_least <= 0:
        flaws.append(f"`at_least = {sign.at_least:g}` holds for a log without such a line, too: it shows nothing")
    elif sign.at_least is not None and sign.at_most is not None and sign.at_least > sign.at_most:
        flaws.append("`at_least` lies above `at_most`: nothing holds that")
    return [f"{sign.name}: {what}" for what in flaws]


def _pattern(pattern: str, *, needs_value: bool) -> list[str]:
    import regex

    try:
        groups = regex.compile(pattern).groupindex
    except regex.error as error:
        return [f"`pattern` is no regex: {error}"]
    return ["`pattern` has no group `value`: (?P<value>...)"] if needs_value and "value" not in groups else []
