"""What `triage trial plan` prints: how often a build with the fault would pass the plan by luck, and which plans mean nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.report.fitting import fitted_table
from triage.report.trial import fitted
from triage.report.words import clean, number
from triage.trials.planning import Plan

HEADINGS = ("item", "runs", "fails with the fault", "passes by luck", "runs for 95 %", "a pass says")
GIVE = (("item", 14), ("runs for 95 %", 0), ("fails with the fault", 0))


def planned(plans: Sequence[Plan], *, style: str = "simple") -> str:
    """The table and, below it, what each plan can tell and which are refused."""
    table = fitted_table(HEADINGS, [_row(plan) for plan in plans], style, GIVE, right=("runs",))
    return fitted([table, "", *(line for plan in plans for line in _words(plan))], style)


def _row(plan: Plan) -> tuple[str, ...]:
    if plan.share is None or plan.least is None or plan.lucky is None:
        return clean(plan.item), str(plan.runs), "not known", "not known", "-", "nothing"
    enough = plan.enough[1]
    says = "nothing" if plan.flaws or plan.grade == "none" else plan.grade or "-"
    return clean(plan.item), str(plan.runs), f">= {plan.least:.1%}", f"<= {plan.lucky[1]:.1%}", "-" if enough is None else f"{enough:,}", says


def _words(plan: Plan) -> Iterator[str]:
    name = clean(plan.item)
    for flaw in plan.flaws:
        yield f"{name}: refused: {clean(flaw)}"
    if plan.lucky is None or plan.least is None or plan.bits is None:
        return
    bits = "no bound" if plan.bits == float("inf") else f"{plan.bits:.2f} bit"
    runs = number(plan.runs, "run")
    enough = "no number of runs" if plan.enough[1] is None else f"{plan.enough[1]:,} passes"
    yield (
        f"{name}: a build with the fault fails at least {plan.least:.1%} of such runs, and passes all {runs} with up to {plan.lucky[1]:.1%} "
        f"(information of a pass: {bits}); {enough} would bring that to 5 %"
    )
    if plan.means_nothing and not plan.flaws:
        yield f"{name}: refused: every second build with the fault, or more of them, would pass; take {enough}, or force the fault"
    elif plan.apart is not None:
        yield f"{name}: two builds, {runs} each: Fisher's test tells that one from one that never fails with {plan.apart:.0%} probability"
