"""What each run counts for, and what the runs of one cell say together: pass, fail, inconclusive, void or not run; never pooled over instruments.

A run counts in this order: nothing ran, the build or the configuration was another one (void), another class of fault came first, the path
did not run, the burst was not whole (inconclusive), else pass or fail. A fault of the class in question is a failure whatever its shape was:
it was seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from triage.trials.booted import differs, unobserved
from triage.trials.instruments import heavy, light
from triage.trials.manifest import Item
from triage.trials.runs import Run

Result = Literal["pass", "fail", "inconclusive", "void", "not run"]


class Counted(msgspec.Struct, frozen=True):
    """One run and what it counts for, with the reason."""

    run: Run
    result: Result
    reason: str = ""


class Stratum(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a cell that carry the same instruments. Runs in one boot are one replicate."""

    heavy: frozenset[str]
    light: frozenset[str]
    counted: tuple[Counted, ...]

    @property
    def name(self) -> str:
        return " + ".join(sorted(self.heavy)) if self.heavy else "no heavy instrument"

    @property
    def replicates(self) -> tuple[Counted, ...]:
        """One for each boot: where its runs differ, the worst of them."""
        kept: dict[str, Counted] = {}
        for one in self.counted:
            known = kept.get(one.run.replicate)
            if known is None or _worse(one, known):
                kept[one.run.replicate] = one
        return tuple(kept.values())

    @property
    def survived(self) -> int:
        return sum(one.run.ended == "survived" for one in self.ran)

    @property
    def ran(self) -> tuple[Counted, ...]:
        """The replicates of which it is known whether the engine lived, whatever they are a test of; void ones left out."""
        return tuple(one for one in self.replicates if one.run.ended in ("survived", "died") and one.result != "void")

    def of(self, result: Result) -> tuple[Counted, ...]:
        return tuple(one for one in self.replicates if one.result == result)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One item on one build with one configuration: its strata, and what those without a heavy instrument say."""

    item: Item
    build: str
    config: tuple[tuple[str, str], ...]
    strata: tuple[Stratum, ...] = ()
    result: Result = "not run"
    reason: str = ""

    @property
    def clean(self) -> tuple[Stratum, ...]:
        return tuple(stratum for stratum in self.strata if not stratum.heavy)


def counted(run: Run, *, asked: bool = True) -> Counted:
    """What one run counts for. Not `asked`: it was made for no item, so that nothing has to show that a path ran."""
    wanted = [f"booted {run.boot.version or 'without a version'}, not {run.build.version}"] if _other_version(run) and run.boot else []
    wanted += [f"image {run.folder.file.digest}, not {run.build.digest}"] if _other_digest(run) else []
    if run.ended == "nothing ran":
        return Counted(run, "inconclusive", "no boot in its logs")
    if strange := wanted + differs(run.told, run.arm.config):
        return Counted(run, "void", "; ".join(strange))
    if run.ended == "died":
        return _died(run)
    if run.ended == "not started":
        return Counted(run, "inconclusive", "the engine never said that it was ready, and nothing says why")
    if missing := unobserved(run.told, run.arm.config):
        return Counted(run, "inconclusive", f"booted configuration not observed: {', '.join(missing)}")
    return _lived(run, asked=asked)


def _died(run: Run) -> Counted:
    if run.fault is not None and run.item.faults and run.fault_class not in run.item.faults:
        return Counted(run, "inconclusive", f"died of {run.fault_class} before it could tell ({' or '.join(run.item.faults)} is in question)")
    if run.fault is None:
        return Counted(run, "fail", f"by hand: {run.by_hand}")
    whole = run.item.whole and run.shape.state == "arrived in pieces"
    return Counted(run, "fail", run.fault_class + (f", though the burst {run.shape.state}: it does not need a whole one" if whole else ""))


def _lived(run: Run, *, asked: bool) -> Counted:
    """What a run counts for in which nothing failed: no pass unless path and shape are shown."""
    if asked and not run.item.witnesses and not run.item.whole:
        return Counted(run, "inconclusive", "path not shown: the item has no witness, so nothing in the logs can show that it ran")
    if quiet := [shown.words for shown in run.witnesses if not shown.holds]:
        return Counted(run, "inconclusive", f"path not run: {'; '.join(quiet)}")
    if run.item.whole and not run.shape.is_whole:
        return Counted(run, "inconclusive", f"{_in_shape(run)}: {run.shape.because}")
    if broken := [shown.words for shown in run.expects if not shown.holds]:
        held = [shown.words for shown in run.expects if shown.holds]
        return Counted(run, "fail", "; ".join(broken) + (f" (held: {'; '.join(held)})" if held else ""))
    return Counted(run, "pass", f"by hand: {run.by_hand}" if run.by_hand else "")


def _in_shape(run: Run) -> str:
    return "the burst arrived in pieces" if run.shape.state == "arrived in pieces" else "shape unknown"


def _other_version(run: Run) -> bool:
    """Whether another version booted. 0.29 is any release of 0.29, and no release candidate or build of its own."""
    wanted = run.build.version
    return bool(wanted and run.boot and not re.fullmatch(rf"{re.escape(wanted)}(?:\.\d+)*", run.boot.version))


def _other_digest(run: Run) -> bool:
    return bool(run.build.digest and run.folder.file.digest and run.folder.file.digest != run.build.digest)


def _worse(one: Counted, other: Counted) -> bool:
    order: tuple[Result, ...] = ("fail", "inconclusive", "void", "pass", "not run")
    return order.index(one.result) < order.index(other.result)


def strata(runs: Iterable[Counted]) -> tuple[Stratum, ...]:
    """The runs by what they carry, those without a heavy instrument first."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[Counted]] = {}
    for one in runs:
        groups.setdefault((heavy(one.run.instruments), light(one.run.instruments)), []).append(one)
    ordered = sorted(groups.items(), key=lambda group: (len(group[0][0]), sorted(group[0][0]), len(group[0][1]), sorted(group[0][1])))
    return tuple(Stratum(heavy=heavies, light=lights, counted=tuple(own)) for (heavies, lights), own in ordered)


def cell(item: Item, build: str, config: tuple[tuple[str, str], ...], runs: Sequence[Counted]) -> Cell:
    """What the runs of one cell say."""
    found = strata(runs)
    result, reason = _together(item, found)
    return Cell(item=item, build=build, config=config, strata=found, result=result, reason=reason)


def _together(item: Item, found: Sequence[Stratum]) -> tuple[Result, str]:
    clean = [stratum for stratum in found if not stratum.heavy]
    if not found:
        return "not run", ""
    if not clean:
        return "inconclusive", f"every run carried {' or '.join(stratum.name for stratum in found)}: nothing is known of the engine without"
    fails = [one for stratum in clean for one in stratum.of("fail")]
    if fails:
        return "fail", f"{_share(len(fails), clean)}: {_reasons(fails)}"
    passes = max(len(stratum.of("pass")) for stratum in clean)
    if passes >= item.passes:
        return "pass", _share(passes, clean)
    others = [one for stratum in clean for one in stratum.replicates if one.result != "pass"]
    if passes:
        return "inconclusive", f"{passes} of the {item.passes} passes that count" + (f"; {_reasons(others)}" if others else "")
    if all(one.result == "void" for one in others):
        return "void", _reasons(others)
    return "inconclusive", _reasons([one for one in others if one.result != "void"])


def _share(count: int, found: Sequence[Stratum]) -> str:
    every = sum(len(stratum.replicates) for stratum in found)
    return f"{count} of {every} run{'s' if every != 1 else ''}"


def _reasons(runs: Iterable[Counted]) -> str:
    """Each reason once, in the order in which they came."""
    return "; ".join(dict.fromkeys(one.reason for one in runs if one.reason))
