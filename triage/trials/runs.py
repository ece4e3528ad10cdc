"""One run of a trial as `classify` and its other evidence tell it: how it ended, what it booted with, what watched it, what it was a test of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from triage.knowledge.load import Knowledge
from triage.model import LOGS, Boot, Findings, Problem, Seconds, Verdict
from triage.parsers.reading import Reading
from triage.trials import instruments, path, shape
from triage.trials.booted import booted, config_hash
from triage.trials.instruments import Carried
from triage.trials.lines import Lines, Seen, Sought, Window
from triage.trials.manifest import RUN, Arm, Build, Item, Manifest, RunFolder, TrialError
from triage.trials.memory import Memory, measured
from triage.trials.path import Shown
from triage.trials.shape import Shape

Ended = Literal["survived", "died", "not started", "nothing ran"]
# Reads some paths as `classify` does: the readings of the sources, and what was found in them, within bounds (seconds since the epoch).
Look = Callable[[Sequence[str], Seconds | None, Seconds | None], tuple[Sequence[Reading], Findings]]
TOKENS = Sought("tokens", r"\bAvg prompt throughput: (?P<value>[\d.]+) tokens/s, ", r"Avg prompt throughput: \d")
STATISTICS: Seconds = 10.0  # what a line of statistics tells was done in the seconds before it


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of one run. `serving`: seconds from READY to the end; `replicate`: what it shares with runs in the same boot."""

    name: str
    item: Item
    arm: Arm
    build: Build
    folder: RunFolder
    boots: tuple[Boot, ...] = ()
    ended: Ended
    by_hand: str = ""
    fault: Verdict | None = None
    told: dict[str, str] = {}
    facts: dict[str, str] = {}
    config: str = ""
    serving: Seconds | None = None
    began: Seconds | None = None
    finished: Seconds | None = None
    instruments: tuple[Carried, ...] = ()
    shape: Shape
    witnesses: tuple[Shown, ...] = ()
    expects: tuple[Shown, ...] = ()
    memory: tuple[Memory, ...] = ()
    replicate: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def fault_class(self) -> str:
        return self.fault.fault_class if self.fault else ""

    @property
    def boot(self) -> Boot | None:
        return self.boots[0] if self.boots else None


class Reader:
    """Reads the runs of one trial. Raises TrialError where a pattern of the trial cannot be looked for."""

    def __init__(self, manifest: Manifest, known: Knowledge, look: Look, *, tz: str = "UTC", year: int | None = None) -> None:
        self._manifest, self._known, self._look = manifest, known, look
        self._tz, self._year = tz, year
        facts = [Sought(f"fact {fact.name}", fact.pattern) for fact in manifest.facts]
        every = [*shape.SOUGHT, TOKENS, *instruments.sought(known.instruments), *path.sought(manifest.items), *facts]
        self._lines = _lines({one.name: one for one in every}.values(), known)

    def read(self, folder: RunFolder) -> Run:
        """One run. Raises TrialError for a time that is none, and whatever `look` raises where nothing can be read."""
        file, manifest = folder.file, self._manifest
        window = Window(_moment(folder, "since", file.since), _moment(folder, "until", file.until))
        readings, findings = self._look([os.fspath(folder.path)], window.since, window.until)
        seen = self._lines.look([s for s in findings.sources if s.kind in LOGS], tz=self._tz, year=self._year, window=window)
        item, arm = manifest.item(file.item), manifest.arm(file.arm)
        lives = tuple(boot for boot in findings.boots if window.holds(boot.start) or window.holds(boot.end))
        fault = next(iter(sorted((v for v in findings.verdicts if v.fault), key=_onset)), None)
        told = booted(lives[0]) if lives else {}
        ended, by_hand = _ended(lives, fault, file.outcome, file.because)
        return Run(
            name=folder.name, item=item, arm=arm, folder=folder, boots=lives, ended=ended, by_hand=by_hand, fault=fault, told=told,
            build=next(build for build in manifest.builds if build.name == arm.build),
            facts=_facts(manifest, seen) | file.facts,
            config=config_hash(told) if told else "",
            serving=_serving(lives, findings, window),
            began=min((boot.start.earliest for boot in lives if boot.start), default=None),
            finished=_finished(findings, window),
            instruments=instruments.carried(
                self._known.instruments, environment=_environment(told) | file.environment, arguments=_watching(told, arm),
                files=_files(folder.path), seen=seen, named=(*arm.instruments, *file.instruments), fault=_moments(fault),
            ),
            shape=shape.shape(item.whole, seen, tuple(findings.verdicts), told, file.client),
            witnesses=path.shown(item, item.witnesses, seen), expects=path.shown(item, item.expects, seen),
            memory=measured(readings, lives, fault, _work(folder, seen), window),
            replicate=f"run {folder.name}" if file.independent else lives[0].id if lives else f"run {folder.name}",
            problems=findings.problems,
        )  # fmt: skip


def _lines(every: Iterable[Sought], known: Knowledge) -> Lines:
    from triage.knowledge.load import RuleError

    try:
        return Lines(every, known)
    except RuleError as error:
        raise TrialError(f"trial.toml: {str(error).removeprefix('rule ')}") from error


def _onset(verdict: Verdict) -> Seconds:
    at = verdict.incident.onset or verdict.incident.dead
    return at.earliest if at else float("inf")


def _moments(fault: Verdict | None) -> tuple[Seconds, Seconds] | None:
    """From when to when a fault lasted; None where there was none or nothing tells when."""
    times = [at for at in (fault.incident.onset, fault.incident.dead) if at] if fault else []
    return (min(at.earliest for at in times), max(at.latest for at in times)) if times else None


def _ended(lives: Sequence[Boot], fault: Verdict | None, outcome: str, because: str) -> tuple[Ended, str]:
    """How a run ended, and why where only a person says so. A fault in the log stands over the word of a person."""
    if not lives and fault is None:
        return "nothing ran", ""
    if fault is not None:
        return "died", f"run.toml says pass ({because}), the log says otherwise" if outcome == "pass" else ""
    if not any(boot.ready or any(event.serves for event in boot.events) for boot in lives):
        return "not started", ""
    return ("died", because) if outcome == "fail" else ("survived", because if outcome == "pass" else "")


def _serving(lives: Sequence[Boot], findings: Findings, window: Window) -> Seconds | None:
    """How long it served, from READY to its end, the end of its log, or that of the run."""
    last = _finished(findings, window)
    spans = [(boot.ready.latest, boot.end.earliest if boot.end else last) for boot in lives if boot.ready]
    return sum(max(0.0, end - ready) for ready, end in spans if end is not None) if spans and last is not None else None


def _finished(findings: Findings, window: Window) -> Seconds | None:
    ends = [source.last.latest for source in findings.sources if source.kind in LOGS and source.last]
    if window.until is not None:
        ends = [min(end, window.until) for end in ends] or [window.until]
    return max(ends, default=None)


def _facts(manifest: Manifest, seen: Mapping[str, Seen]) -> dict[str, str]:
    firsts = {fact.name: seen[f"fact {fact.name}"].first for fact in manifest.facts}
    return {name: sighting.groups["value"] for name, sighting in firsts.items() if sighting and "value" in sighting.groups}


def _environment(told: Mapping[str, str]) -> dict[str, str]:
    """The variables that a boot's lines tell."""
    return {name: value for name, value in told.items() if name.isupper()}


def _watching(told: Mapping[str, str], arm: Arm) -> dict[str, str]:
    """What the engine was given that the arm does not name: what an arm names is under trial, and watches nothing."""
    return {name: value for name, value in told.items() if name not in arm.config}


def _files(folder: Path) -> list[str]:
    """The names of a run's own files below its folder; a link that leads out of it is one of them and is not followed."""
    found = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return sorted(Path(file).relative_to(folder).as_posix() for file in found if os.path.basename(file) != RUN)


def _work(folder: RunFolder, seen: Mapping[str, Seen]) -> Seconds | None:
    """When the engine was given work for the first time, as early as anything tells."""
    times = [_moment(folder, "client.began", folder.file.client.began) if folder.file.client else None]
    times += [first.at.earliest for name in (shape.ITERATION.name, shape.PREFILL.name) if (first := seen[name].first) and first.at]
    times += [busy.at.earliest - STATISTICS for busy in seen[TOKENS.name].kept if busy.value and busy.at][:1]
    return min((at for at in times if at is not None), default=None)


def _moment(folder: RunFolder, key: str, text: str) -> Seconds | None:
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError) as error:
        raise TrialError(f"{folder.path / RUN}: `{key}` is no time: write 2026-10-10T01:02:03Z") from error
