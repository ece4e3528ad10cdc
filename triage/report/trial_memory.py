"""What `triage trial memory` prints: margins by run, the ladder of rungs, where two builds differ, and the rung that leaves the reserve."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.report.fitting import fitted_table
from triage.report.trial import ended_words, fitted
from triage.report.words import clean
from triage.trials.ladder import SETTINGS, Ladder, Pair, Rung
from triage.trials.memory import BootLines, Memory, boot_lines
from triage.trials.runs import Run
from triage.trials.verdicts import Counted

NOTHING = "no run has samples of GPU memory or the figures of an allocation that failed: run `nvidia-smi --query-gpu=timestamp,index,memory.total,"
NOTHING += "memory.used,memory.free --format=csv -l 1` beside the engine and put its output into the run's folder"
HEADINGS = ("build", "setting", "at rest", "step", "free", "KV tokens", "KV", "lived")
FIGURES = ("at rest", "step", "free", "KV tokens", "KV", "lived")


def memory(counted: Sequence[Counted], ladders: Sequence[Ladder], reserve: float | None, *, style: str = "simple") -> str:
    """The whole answer, in MiB; `reserve` must stay free at the worst step, None: nothing was stated."""
    runs = [one.run for one in counted]
    if not any(run.memory for run in runs):
        told = _boot_table(runs, style)
        return fitted([NOTHING, *(["", "by the boots' own lines, GiB", told] if told else [])], style)
    parts = ["device memory in MiB; free: the least that was left at the worst step"]
    for ladder in ladders:
        what = "a ladder" if len(ladder.values) > 1 else "one rung"
        parts += ["", f"{clean(ladder.item)}: {what} of {ladder.setting}", _table(ladder, style), *_conclusions(ladder, reserve)]
    on_a_ladder = {name for ladder in ladders for name in ladder.runs}
    others = [run for run in runs if run.memory and run.name not in on_a_ladder]
    parts += ["", "not on a ladder", _others(others, style)] if others else []
    told = _boot_table(runs, style)
    parts += ["", "by the boots' own lines, GiB", told] if told else []
    parts += ["", *_notes(runs), *_unfit(counted)]
    return fitted(parts, style)


def _table(ladder: Ladder, style: str) -> str:
    rows = [_row(ladder, rung) for value in ladder.values for build in ladder.builds if (rung := ladder.rung(build, value)) is not None]
    return fitted_table(HEADINGS, rows, style, (("KV tokens", 0), ("lived", 0), ("KV", 0)), right=FIGURES)


def _row(ladder: Ladder, rung: Rung) -> tuple[str, ...]:
    change = ladder.kv_change(rung.value)
    return (
        clean(rung.build), f"{rung.value:g}", _figure(rung.memory.own_rest), _figure(rung.memory.step), _free(rung.memory),
        f"{rung.kv_tokens:,.0f}" if rung.kv_tokens else "-", "-" if change is None else f"{change:+.1%}", f"{rung.survived}/{rung.ran}",
    )  # fmt: skip


def _others(runs: Sequence[Run], style: str) -> str:
    rows = [
        (_named(run, one), clean(run.build.name), _figure(one.own_rest), _figure(one.step), _free(one), ended_words(run))
        for run in runs
        for one in run.memory
    ]
    return fitted_table(("run", "build", "at rest", "step", "free", "ended"), rows, style, (("run", 18), ("build", 0)), right=FIGURES)


def _named(run: Run, one: Memory) -> str:
    return clean(run.name) + (f" gpu {clean(one.gpu)}" if len(run.memory) > 1 else "")


def _boot_table(runs: Sequence[Run], style: str) -> str:
    """What the engines say themselves of weights, cache and graphs, each boot that says the same once; nothing where none does."""
    rows = []
    for run in runs:
        lines = boot_lines(run.boot) if run.boot else BootLines()
        if not lines.is_empty:
            setting = next((run.told[name] for name in SETTINGS if name in run.told), "-")
            figures = ("-" if value is None else f"{value:.2f}" for value in (lines.weights, lines.kv_cache, lines.graphs, lines.free))
            rows.append((clean(run.build.name), clean(setting), *figures))
    headings = ("build", "setting", "weights", "KV cache", "graphs", "free after")
    return fitted_table(headings, sorted(dict.fromkeys(rows)), style, (("graphs", 0),), right=headings[2:]) if rows else ""


def _free(one: Memory) -> str:
    """What was left; of a step that failed for memory, by how much at least it failed."""
    if one.short is not None:
        return f"<= {-one.short:.0f}"
    return _figure(one.free)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _conclusions(ladder: Ladder, reserve: float | None) -> Iterator[str]:
    for build, lived, failed in ladder.broken:
        yield (
            f"{clean(build)} lived at {lived:g} and failed at {failed:g}, where it had more room: that refutes memory pressure as the mechanism"
        )
    for old, new in zip(ladder.builds, ladder.builds[1:], strict=False):
        yield from _compared(ladder, old, new)
    if len(ladder.values) < 2:
        return
    if reserve is not None:
        yield chosen(ladder, reserve)
    elif not ladder.broken:
        yield "no reserve was stated (reserve_mib in trial.toml, or --reserve): which rung to take cannot be said"


def _compared(ladder: Ladder, old: str, new: str) -> Iterator[str]:
    """Where the extra cost of a build sits, and at which settings both leave the same."""
    pairs = ladder.pairs(old, new)
    if any(pair.rest is not None or pair.step is not None for pair in pairs):
        yield f"{clean(new)} against {clean(old)}, rung by rung: at rest {_range(pairs, 'rest')}, in the worst step {_range(pairs, 'step')}"
    for value in ladder.values:
        rung = ladder.rung(new, value)
        setting = ladder.setting_for(old, rung.margin) if rung is not None and rung.margin is not None and rung.memory.short is None else None
        if rung is not None and rung.margin is not None and setting is not None:
            yield (
                f"at equal margin, not at equal setting: the {rung.margin:.0f} MiB that {clean(new)} leaves at {value:g} are what {clean(old)} "
                f"leaves at {setting:.4f} (between its rungs)"
            )
            return


def _range(pairs: Sequence[Pair], part: str) -> str:
    values = [value for pair in pairs if (value := getattr(pair, part)) is not None]
    if not values:
        return "not measured on both"
    low, high = min(values), max(values)
    return f"{low:+.0f} MiB" if round(low) == round(high) else f"{low:+.0f} to {high:+.0f} MiB"


def chosen(ladder: Ladder, reserve: float) -> str:
    """Which rung leaves the reserve on every build, and what that costs; or why none is named."""
    if ladder.broken:
        return f"no rung is named for the reserve of {reserve:.0f} MiB: outcomes do not follow the room that is left"
    best = ladder.highest_with(reserve)
    if best is None:
        return f"no rung leaves the reserve of {reserve:.0f} MiB at the worst step on every build"
    left = [f"{rung.margin:.0f} on {clean(build)}" for build in ladder.builds if (rung := ladder.rung(build, best)) and rung.margin is not None]
    change = ladder.kv_change(best)
    cost = f", for a KV cache {-change:.1%} smaller than at {ladder.values[0]:g}" if change else ""
    return f"{best:g} is the highest rung that leaves the reserve of {reserve:.0f} MiB on every build: {', '.join(left)} MiB{cost}"


def _unfit(counted: Sequence[Counted]) -> Iterator[str]:
    """The runs whose worst step may not have been the one in question."""
    names = [one.run.name for one in counted if one.result in ("inconclusive", "void") and one.run.memory]
    if names:
        yield f"no test of what they were made for, so that their worst step may be another one, and on no ladder: {clean(', '.join(names))}"


def _notes(runs: Sequence[Run]) -> Iterator[str]:
    intervals = [one.interval for run in runs for one in run.memory if one.interval is not None]
    if intervals:
        low, high = f"{min(intervals):.3g}", f"{max(intervals):.3g}"
        every = low if low == high else f"{low} to {high}"
        yield f"sampled every {every} s: what was taken and given back between two samples is not seen, so `free` is an upper bound"
    if any(one.short is not None for run in runs for one in run.memory):
        yield "<=: an allocation failed; it lacked so much, and the step may have wanted more after it"
    watched = [run.name for run in runs if run.memory and any(one.weight == "heavy" for one in run.instruments)]
    if watched:
        yield f"carried a heavy instrument, which takes memory itself, and stand on no ladder: {clean(', '.join(watched))}"
    unrested = [run.name for run in runs if any(one.rest is None and one.samples for one in run.memory)]
    if unrested:
        yield f"no sample between READY and the first work: at rest is not known in {clean(', '.join(unrested))}"
