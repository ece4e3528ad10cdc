"""The ladder of margins: the memory left at the worst step for each build and setting, and whether its runs passed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.report.postmortem.axis import count_ticks, share
from triage.report.postmortem.given import Rung, Trial
from triage.report.postmortem.say import Say
from triage.report.postmortem.svg import Plot, across, anchored, drawing, label, line, tag

HEAD, LANE, FOOT = 8, 58, 26
KEY = "Filled: all runs passed. Cross: a run failed. Hollow: no run says (inconclusive, or none made)."


def ladder(trial: Trial, number: int, say: Say) -> Plot | None:
    """MiB left across, one lane a build. None where no rung's margin was measured."""
    measured = [rung for rung in trial.rungs if rung.margin_mib is not None]
    if not measured:
        return None
    builds = list(dict.fromkeys(rung.build for rung in measured))
    low, high = min(0.0, *(r.margin_mib or 0.0 for r in measured)), max(1.0, *(r.margin_mib or 0.0 for r in measured)) * 1.05
    height = HEAD + LANE * len(builds) + FOOT
    inside = list(_axis(low, high, height))
    for row, build in enumerate(builds):
        inside += _lane(build, [r for r in measured if r.build == build], HEAD + LANE * row, (low, high), say)
    title = f"Margins: {say(trial.name, 60)}"
    name = f"ladder{number}"
    return Plot(
        name=name, title=title, says=_says(measured, say), svg=drawing(name, title, height, inside), key=KEY,
        head=("build", "setting", "MiB left", "passed", "failed", "inconclusive"), rows=tuple(_row(rung, say) for rung in trial.rungs),
    )  # fmt: skip


def outcome(rung: Rung) -> str:
    """What the runs of a rung say together: one failure is a failure."""
    return "fail" if rung.failed else "pass" if rung.passed and not rung.inconclusive else "unsaid"


def _axis(low: float, high: float, height: float) -> Iterator[str]:
    for number, mib in enumerate(count_ticks(high, 5)):
        place = share(mib, low, high)
        yield line(across(place), HEAD, across(place), height - FOOT, "limit" if not mib else "grid")
        yield label(across(place), height - 8, f"{mib:,.0f} MiB", "tick minor" if number % 2 else "tick", anchored(place))


def _lane(build: str, rungs: Sequence[Rung], y: float, bounds: tuple[float, float], say: Say) -> Iterator[str]:
    yield label(across(0), y + 12, say(build, 60), "lane")
    for at, rung in enumerate(sorted(rungs, key=lambda r: r.margin_mib or 0.0)):
        place, cy = share(rung.margin_mib or 0.0, *bounds), y + 34
        x, kind = across(place), outcome(rung)
        told = tag("title", text=" · ".join(_row(rung, say)))
        if kind == "fail":
            yield tag("text", told, text="✕", x=x, y=f"{cy + 5:g}", class_="rung fail", text_anchor="middle")
        else:
            yield tag("circle", told, cx=x, cy=f"{cy:g}", r=5.5, class_=f"rung {kind}")
        yield label(x, cy - 9 if at % 2 else cy + 18, say(rung.setting, 16), "small", anchored(place))


def _says(measured: Sequence[Rung], say: Say) -> str:
    told = []
    for build in dict.fromkeys(rung.build for rung in measured):
        mine = [r for r in measured if r.build == build]
        passed = [r.margin_mib or 0.0 for r in mine if outcome(r) == "pass"]
        failed = [r.margin_mib or 0.0 for r in mine if outcome(r) == "fail"]
        parts = [f"passes down to {min(passed):,.0f} MiB"] if passed else ["passes nowhere"]
        parts += [f"fails up to {max(failed):,.0f} MiB"] if failed else []
        mixed = passed and failed and min(passed) < max(failed)
        parts += ["and some with less left passed, so the margin alone does not decide"] if mixed else []
        told.append(f"{say(build, 60)} {', '.join(parts)}")
    return ". ".join(told) + "."


def _row(rung: Rung, say: Say) -> tuple[str, ...]:
    margin = "not measured" if rung.margin_mib is None else f"{rung.margin_mib:,.0f}"
    return (say(rung.build, 60), say(rung.setting, 40), margin, str(rung.passed), str(rung.failed), str(rung.inconclusive))
