"""What `triage trial show` prints: every run with what it carries, its shape, how it ended and what it counts for; then strata beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triage.report.fitting import columns, fitted_table, wrapped
from triage.report.words import clean, minutes, number, stretch
from triage.trials.comparing import Against, against, by_shape
from triage.trials.instruments import Carried
from triage.trials.runs import Run
from triage.trials.trial import Trial
from triage.trials.verdicts import Cell, Counted, Stratum

HEADINGS = ("run", "arm", "carries", "shape", "ended", "counts as")
# What gives way on a narrow terminal, in this order.
GIVE = (("run", 18), ("arm", 12), ("carries", 14), ("arm", 0), ("run", 12), ("carries", 8), ("shape", 6))
PIECES = {"forced": "forced", "arrived whole": "whole", "arrived in pieces": "pieces", "unknown": "unknown"}


def shown(trial: Trial, *, style: str = "simple") -> str:
    """The whole answer; `style` is a format of tabulate (`github`: Markdown, which is not wrapped)."""
    runs = fitted_table(HEADINGS, [_row(one) for one in trial.counted], style, GIVE) if trial.counted else "no run yet: `triage trial add`"
    parts = [*head(trial), "", runs]
    for cell in trial.cells:
        lines = list(_strata(cell, style))
        parts += ["", *lines] if lines else []
    parts += ["", *notes(trial)]
    return fitted(parts, style)


def fitted(parts: Iterable[str], style: str) -> str:
    """Lines no wider than the terminal. What has several lines is a table and fits already; Markdown is never wrapped."""
    return "\n".join(part if style == "github" or "\n" in part else wrapped(part, columns()) for part in parts)


def head(trial: Trial) -> Iterator[str]:
    """The question, and what was read."""
    yield clean(trial.manifest.question)
    times = [at for run in trial.runs for at in (run.began, run.finished) if at is not None]
    when = f", {minutes(min(times), max(times))} UTC" if times else ""
    yield f"{number(len(trial.runs), 'run')} in {number(trial.boots, 'boot')}, {' and '.join(_builds(trial))}{when}"


def notes(trial: Trial) -> Iterator[str]:
    """What limits the answer, and where the rest of it is."""
    yield from blindness(trial)
    for run in trial.runs:
        if run.by_hand and run.fault is not None:
            yield f"conflict in {run.name}: {clean(run.by_hand)}: the log counts"
    shared = _shared(trial)
    if shared:
        yield f"{number(len(shared), 'boot')} shared by several runs: those are one replicate each ({clean(', '.join(shared))})"
    served = sum(run.serving or 0.0 for run in trial.runs)
    yield f"exposure: {stretch(served)} of service in {number(sum(run.serving is not None for run in trial.runs), 'run')}"
    if trial.manifest.limits:
        yield f"limits, as the trial states them: {clean(trial.manifest.limits)}"
    for problem in trial.problems:
        if problem.lost:
            yield f"{clean(problem.file)}: {clean(problem.what)}"


def blindness(trial: Trial) -> Iterator[str]:
    """Each instrument that was there when a run died and has nothing of it."""
    by_name: dict[str, list[tuple[Run, Carried]]] = {}
    for run in trial.runs:
        for one in run.instruments:
            if run.fault is not None and one.recorded is not None:
                by_name.setdefault(one.id, []).append((run, one))
    for name, found in by_name.items():
        blind = [run.name for run, one in found if one.is_blind]
        if blind:
            of = f"{len(blind)} of the {len(found)} runs that died under it" if len(found) > 1 else "the one run that died under it"
            yield f"blind: {clean(name)} recorded nothing at the moment of the fault in {of} ({clean(', '.join(blind))})"


def _builds(trial: Trial) -> list[str]:
    return [f"build {clean(build.name)}" for build in trial.manifest.builds]


def _shared(trial: Trial) -> list[str]:
    names: dict[str, list[str]] = {}
    for run in trial.runs:
        names.setdefault(run.replicate, []).append(run.name)
    return ["+".join(own) for own in names.values() if len(own) > 1]


def _row(one: Counted) -> tuple[str, ...]:
    run = one.run
    carries = " ".join(carried.id for carried in run.instruments if carried.weight == "heavy") or "-"
    return clean(run.name), clean(run.arm.name), clean(carries), shape_words(run), ended_words(run), one.result


def shape_words(run: Run) -> str:
    """The shape, and the most prompts that a step held of those that it was asked to hold."""
    if not run.item.whole:
        return "-"
    state = PIECES[run.shape.state]
    return f"{state}, {run.shape.held} of {run.shape.asked}" if run.shape.held is not None else state


def ended_words(run: Run) -> str:
    return run.fault_class or ("failed, by hand" if run.ended == "died" else run.ended)


def title(cell: Cell) -> str:
    """Item, build and configuration of a cell."""
    return f"{clean(cell.item.id)} on {clean(cell.build)}{config_words(cell.config)}"


def config_words(config: Iterable[tuple[str, str]]) -> str:
    told = " ".join(f"{clean(name)}={clean(value)}" for name, value in config)
    return f", {told}" if told else ""


def _strata(cell: Cell, style: str) -> Iterator[str]:
    """The strata of one cell where there are several, side by side, with what the tests say and what they do not."""
    if len(cell.strata) < 2:
        return
    yield f"{title(cell)}: {len(cell.strata)} strata, not pooled"
    rows = [_stratum(stratum, cell) for stratum in cell.strata]
    headings = ("instruments", "survived", "of", "burst whole", "95 % bounds")
    give = (("instruments", 20), ("95 % bounds", 0), ("instruments", 12))
    yield fitted_table(headings, rows, style, give, right=("survived", "of"))
    for one in against(cell):
        yield from tests(one)
    told = [f"{PIECES[one.state]}: {one.survived} of {one.ran} survived" for one in by_shape(cell)]
    if len(told) > 1:
        yield f"by shape, over all strata: {'; '.join(told)}"
    yield from _moved(cell)


def _stratum(stratum: Stratum, cell: Cell) -> tuple[str, ...]:
    from triage.trials.exact import ALPHA, at_least, at_most

    ran, survived = len(stratum.ran), stratum.survived
    whole = sum(one.run.shape.is_whole for one in stratum.ran)
    asked = any(one.run.item.whole for one in stratum.counted)
    bounds = f"{at_least(survived, ran, ALPHA / 2):.0%}-{at_most(survived, ran, ALPHA / 2):.0%}" if ran else "-"
    twins = sum(other.heavy == stratum.heavy for other in cell.strata) > 1
    name = f"{stratum.name} ({', '.join(sorted(stratum.light)) or 'nothing light'})" if twins else stratum.name
    return clean(name), str(survived), str(ran), f"{whole} of {ran}" if asked else "-", bounds


def tests(one: Against) -> Iterator[str]:
    """What two exact tests say of a difference between two strata; neither answer allows adding them up."""
    both = f"Fisher p = {one.fisher:.3f}, Boschloo p = {one.boschloo:.3f}"
    pooled = f"{sum(one.survived)} of {sum(one.ran)}"
    if one.is_shown:
        yield f"{both}: a difference is shown. What the runs with {clean(one.other)} say holds for an engine that carries it, and for no other."
        return
    yield (
        f"{both}: a difference is not shown, and equality is not shown either. This is no licence to pool: {pooled} would describe an engine "
        "that nobody runs."
    )


def _moved(cell: Cell) -> Iterator[str]:
    """Where the burst met the engine in another shape once it was watched: the instrument changed what it was there to watch."""
    clean_runs = [one for stratum in cell.strata if not stratum.heavy for one in stratum.ran]
    for stratum in (stratum for stratum in cell.strata if stratum.heavy and cell.item.whole):
        pieces, without = _in_pieces(stratum.ran), _in_pieces(clean_runs)
        lived = [one for one in pieces if one.run.ended == "survived"]
        if pieces and clean_runs and not without:
            yield (
                f"with {clean(stratum.name)} the burst arrived in pieces in {len(pieces)} of {len(stratum.ran)} runs, without it in 0 of "
                f"{len(clean_runs)}: {_all(len(lived), stratum.survived)} that survived with it were no test of a whole burst"
            )


def _all(count: int, of: int) -> str:
    return f"all {of}" if count == of else f"{count} of the {of}"


def _in_pieces(runs: Sequence[Counted]) -> list[Counted]:
    return [one for one in runs if one.run.shape.state == "arrived in pieces"]


def added(trial: Trial, name: str) -> str:
    """What one run counts as, for who has just added it."""
    one = next((one for one in trial.counted if one.run.name == name), None)
    if one is None:
        return f"{clean(name)}: added, and nothing of it could be read"
    run = one.run
    lines = [f"{clean(name)}: {one.result}{f' ({clean(one.reason)})' if one.reason else ''}", f"  ended     {ended_words(run)}"]
    lines += [f"  booted    {clean(run.boot.version)}, configuration {run.config}"] if run.boot else []
    lines += [f"  shape     {shape_words(run)}: {clean(run.shape.because)}"] if run.item.whole else []
    lines += [f"  path      {clean(shown.words)}: {'shown' if shown.holds else 'NOT SHOWN'}" for shown in run.witnesses]
    lines += [f"  carries   {clean(carried.id)} ({carried.weight}; {clean(', '.join(carried.found))})" for carried in run.instruments]
    return fitted(lines, "simple")
