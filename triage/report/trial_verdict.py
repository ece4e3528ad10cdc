"""What `triage trial verdict` prints: the acceptance matrix, why each cell is no pass, what a pass is worth, predictions, differences, the outage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from triage.report.fitting import fitted_table
from triage.report.trial import blindness, config_words, fitted, head, notes, title
from triage.report.words import clean, number
from triage.trials.comparing import against
from triage.trials.exact import at_most, luck
from triage.trials.manifest import Item
from triage.trials.planning import share_of
from triage.trials.predictions import UNITS, Tested, lean
from triage.trials.trial import Config, Trial
from triage.trials.verdicts import Cell, Counted


def verdict(trial: Trial, *, style: str = "simple") -> str:
    """The whole answer; `style` as in `report.trial`."""
    parts = [*head(trial), "", matrix(trial, style), ""]
    parts += [_why(cell) for cell in trial.cells if cell.result != "pass"]
    parts += list(_refused(trial))
    parts += ["", *_worth(trial)] if any(cell.result == "pass" for cell in trial.cells) else []
    told = predictions(trial.predictions, style)
    parts += ["", *told] if told else []
    parts += ["", *_around(trial)]
    return fitted(parts, style)


def _why(cell: Cell) -> str:
    """Why a cell is no pass; where its path did not run, also what would make it run."""
    quiet = cell.result == "inconclusive" and any(not shown.holds for s in cell.clean for one in s.counted for shown in one.run.witnesses)
    asked = f" What makes this path run? {clean(cell.item.path)}." if quiet else ""
    return f"{title(cell)}: {cell.result}{f': {clean(cell.reason)}' if cell.reason else ''}.{asked}"


def matrix(trial: Trial, style: str) -> str:
    """Items and configurations against builds."""
    builds = [build.name for build in trial.manifest.builds]
    headings = ("item", "booted with", *(clean(build) for build in builds))
    rows = [
        (clean(item.id), _short(trial, item, config), *(_cell(trial.cell(item, config, build)) for build in builds)) for item, config in trial.rows()
    ]
    return fitted_table(headings, rows, style, (("booted with", 16), ("booted with", 8), *((heading, 10) for heading in headings[2:])))


def _short(trial: Trial, item: Item, config: Config) -> str:
    """A configuration, what differs between the lines of an item first."""
    others = [other for one, other in trial.rows() if one.id == item.id]
    ordered = sorted(config, key=lambda pair: all(pair in other for other in others))
    return config_words(ordered).removeprefix(", ") or "-"


def _cell(cell: Cell | None) -> str:
    if cell is None:
        return "not asked"
    if cell.result == "fail":
        classes = dict.fromkeys(one.run.fault_class for stratum in cell.clean for one in stratum.of("fail") if one.run.fault_class)
        return f"fail ({', '.join(classes)})" if classes else "fail"
    return f"pass ({sum(len(stratum.of('pass')) for stratum in cell.clean)})" if cell.result == "pass" else cell.result


def _refused(trial: Trial) -> Iterator[str]:
    """What must not be concluded from runs that were watched, raced or never asked."""
    for cell in trial.cells:
        for one in against(cell):
            survived, ran = sum(one.survived), sum(one.ran)
            yield (
                f"{title(cell)}: {one.survived[1]} of {one.ran[1]} survived with {clean(one.other)}, {one.survived[0]} of {one.ran[0]} with "
                f"{clean(one.one)} (Fisher p = {one.fisher:.3f}): not pooled to {survived} of {ran}; the verdict is that of the engine without."
            )
    yield from (f"{told}." for told in blindness(trial))
    raced = [cell.item for cell in trial.cells if cell.result == "inconclusive" and any(_raced(one) for s in cell.clean for one in s.counted)]
    for item in dict.fromkeys(item.id for item in raced):
        whole = next(one.whole for one in raced if one.id == item)
        yield f"{clean(item)}: clients that race do not make a step whole; one request that carries all {whole} prompts does."


def _raced(one: Counted) -> bool:
    """Whether several clients' requests reached the engine in pieces."""
    client = one.run.folder.file.client
    return one.run.shape.state == "arrived in pieces" and client is not None and client.requests > 1


def _worth(trial: Trial) -> Iterator[str]:
    """What the passes of an item exclude."""
    for item in trial.manifest.items:
        passes = [sum(len(stratum.of("pass")) for stratum in cell.clean) for cell in trial.cells if cell.item.id == item.id and cell.result == "pass"]
        if passes:
            fewest = min(passes)
            told = f"{clean(item.id)}: {number(fewest, 'pass')} in a cell excludes only a failure rate above {at_most(0, fewest):.0%} (at 95 %)"
            yield told + _lucky(item, fewest)
            yield _controlled(trial, item)


def _controlled(trial: Trial, item: Item) -> str:
    """Whether the trial itself shows that an item can fail."""
    failed = [cell for cell in trial.cells if cell.item.id == item.id and cell.result == "fail"]
    if not failed:
        return f"{clean(item.id)}: no run of it failed anywhere in this trial: nothing here shows that it can"
    return f"{clean(item.id)}: it can fail: {'; '.join(f'{title(cell)} ({clean(cell.reason)})' for cell in failed)}"


def _lucky(item: Item, passes: int) -> str:
    """How often a build with the fault would have passed so, by the item's control."""
    shares = share_of(item.control) if item.control else None
    if shares is None:
        return ""
    return f"; a build with the fault fails at least {shares[1]:.0%} of such runs and would pass with up to {luck(shares[1], passes):.0%}"


def predictions(found: Sequence[Tested], style: str) -> list[str]:
    """Predicted and measured, with what was written too late, and to which side they missed."""
    if not found:
        return []
    rows = [
        (
            clean(one.prediction.id), clean(one.prediction.arm), UNITS[one.prediction.quantity], f"{one.prediction.value:+.0f}",
            _signed(one.measured, one.is_bound), _signed(one.residual, one.is_bound), _registered(one),
        )
        for one in found
    ]  # fmt: skip
    headings = ("prediction", "arm", "MiB", "predicted", "measured", "off by", "written")
    give = (("MiB", 0), ("arm", 0), ("prediction", 12), ("written", 8))
    lines = [fitted_table(headings, rows, style, give, right=("predicted", "measured", "off by"))]
    late = [clean(one.prediction.id) for one in found if one.registered is not None and not one.is_before and not one.undated]
    lines += [f"written after the first run that they speak of, so no predictions: {', '.join(late)}"] if late else []
    undated = [clean(one.prediction.id) for one in found if one.registered is not None and one.undated]
    lines += [f"nothing dates some run that they speak of, so whether they came before is not known: {', '.join(undated)}"] if undated else []
    unwritten = [clean(one.prediction.id) for one in found if one.registered is None]
    lines += [f"not registered (`triage trial predict`), so nothing shows when they were made: {', '.join(unwritten)}"] if unwritten else []
    edited = [clean(one.prediction.id) for one in found if one.edited]
    lines += [f"trial.toml says otherwise now; what was registered counts: {', '.join(edited)}"] if edited else []
    return lines + _leaning(found)


def _leaning(found: Sequence[Tested]) -> list[str]:
    leans = lean(found)
    if leans is None:
        return []
    if not leans.is_one_sided:
        return [f"predictions missed to both sides ({leans.above} measured above, {leans.below} below)"]
    side = "below" if leans.below else "above"
    count = leans.above + leans.below
    far = f"by {leans.least:.0f} to {leans.largest:.0f} MiB (one side by chance: p = {leans.chance:.3f})"
    return [f"all {count} measured {side} what was predicted, {far}: look first for a cost that the predictions left out, not for scatter"]


def _signed(value: float | None, is_bound: bool) -> str:
    return "-" if value is None else f"{'<= ' if is_bound else ''}{value:+.0f}"


def _registered(one: Tested) -> str:
    if one.registered is None:
        return "not registered"
    when = datetime.fromtimestamp(one.registered, UTC).strftime("%m-%d %H:%M")
    return f"before, {when}" if one.is_before else f"unknown, {when}" if one.undated else f"LATE, {when}"


def _around(trial: Trial) -> Iterator[str]:
    """What differs between the builds, and what the trial itself cost."""
    for one in trial.differences:
        yield f"differs between builds: {clean(one.name)} {', '.join(f'{clean(value)} on {clean(build)}' for build, value in one.values)}"
    if trial.downtime is not None:
        minutes = round(trial.downtime.seconds / 60)
        span = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
        still = ", and it had not come back when the probes end" if trial.downtime.open else ""
        told = f"{number(trial.downtime.outages, 'outage')}, {number(trial.downtime.failed, 'failed probe')}"
        yield f"the probed service was down for {span} while the trial ran ({told}{still})" if trial.downtime.outages else "the probed service was up"
    if trial.manifest.stop:
        yield f"stop rule, as the trial states it: {clean(trial.manifest.stop)}"
    yield from _beyond_plan(trial)
    yield from (note for note in notes(trial) if not note.startswith("blind: "))


def _beyond_plan(trial: Trial) -> Iterator[str]:
    """Where more or fewer runs were made than were planned; what was watched was not planned as such."""
    off = []
    for cell in trial.cells:
        made = sum(len(stratum.replicates) for stratum in cell.clean)
        if cell.item.runs and made and made != cell.item.runs:
            off.append((made > cell.item.runs, f"{title(cell)} ({made} of {cell.item.runs})"))
    if more := [told for is_more, told in off if is_more]:
        yield f"more runs than planned: {'; '.join(more)}: where they were added after a look at the others, every p is too small"
    if fewer := [told for is_more, told in off if not is_more]:
        yield f"fewer runs than planned: {'; '.join(fewer)}"
