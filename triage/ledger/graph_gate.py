"""The graph mode as a gate: with which CUDA graphs the failed steps ran, and with which they would run after a change of the mode.

A batch with a prefill takes the mixed mode, any other the decode mode, and one that is larger than the largest captured size takes none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from triage.ledger.answers import GATE, Answer, Case, Fault
from triage.ledger.booted import Booted, setting
from triage.ledger.entry import Entry
from triage.ledger.modes import PAIRS, graphs, name_of
from triage.ledger.presence import parted
from triage.model import Event

WORDS = {"NONE": "eagerly, without a graph", "FULL": "in a full graph", "PIECEWISE": "in piecewise graphs"}


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One failed step: the graph mode it ran with, the mode it would take after the change, and whether its size alone decides that."""

    fault: Fault
    now: str
    then: str
    oversize: bool


def mode_asked(entry: Entry) -> str:
    """The graph mode that a change sets; nothing where it sets none."""
    for change in entry.changes:
        path, wanted = parted(change)
        if isinstance(wanted, dict) and "cudagraph_mode" in wanted:
            return name_of(wanted["cudagraph_mode"])
        if path[-1] == "cudagraph_mode":
            return name_of(wanted)
        if path == ["enforce_eager"] and str(wanted).casefold() in ("true", "1", "yes"):
            return "NONE"
    return ""


def graph_answer(case: Case, mode: str) -> Answer:
    """The modes of the steps that failed without the change, and what the change makes of them."""
    steps = [step for fault in case.without or case.faults if (step := _ran(fault, mode)) is not None]
    if not steps:
        return Answer(question=GATE, verdict="cannot be observed", says=(f"no step of a {case.entry.fault_class} tells with which graphs it ran",))
    moved = [step for step in steps if step.now != step.then]
    shown = next(iter(moved), min(steps, key=lambda step: step.fault.verdict.facts.tokens or 1 << 60))
    says = (_headline(shown, mode, bool(moved)), *_more(steps, moved, case))
    verdict = "fails" if len(moved) < len(steps) else "holds"
    return Answer(question=GATE, verdict=verdict, says=says, lines=tuple(_lines(shown)))  # type: ignore[arg-type]


def _ran(fault: Fault, mode: str) -> Ran | None:
    facts, one = fault.verdict.facts, fault.boot
    modes = graphs(one) if one is not None else None
    if one is None or modes is None or not facts.step or facts.tokens is None:
        return None
    largest = _largest(one)
    if largest is not None and facts.tokens > largest:
        return Ran(fault=fault, now="NONE", then="NONE", oversize=True)
    which = 1 if facts.step == "prefill" else 0
    now = (modes.decode, modes.mixed)[which]
    return Ran(fault=fault, now=now, then=PAIRS[mode][which], oversize=False) if now else None


def _largest(one: Booted) -> int | None:
    """The largest captured size that the boot printed."""
    found = setting(one, "compilation_config.max_cudagraph_capture_size")
    if found is None or not isinstance(found.value, int):
        sizes = setting(one, "compilation_config.cudagraph_capture_sizes")
        known = [size for size in sizes.value if isinstance(size, int)] if sizes is not None and isinstance(sizes.value, list) else []
        return max(known, default=None)
    return found.value


def _headline(shown: Ran, mode: str, moves: bool) -> str:
    facts = shown.fault.verdict.facts
    size = facts.chunk if facts.step == "prefill" and facts.chunk is not None else facts.tokens
    where = f"the failed step, a {facts.step} of {size:,} tokens, ran {WORDS[shown.now]}"
    if moves:
        return f"{where}; {mode} would run it {WORDS[shown.then]}"
    return f"{where}, and {mode} would not change that{_decode(shown, mode)}"


def _decode(shown: Ran, mode: str) -> str:
    """What the change does to the batches that did not fail."""
    modes = graphs(shown.fault.boot) if shown.fault.boot is not None else None
    if modes is None or not modes.decode or modes.decode == PAIRS[mode][0]:
        return ""
    return f"; it would take pure decode batches, which did not fail, from {modes.decode} to {PAIRS[mode][0]}"


def _more(steps: Sequence[Ran], moved: Sequence[Ran], case: Case) -> Iterator[str]:
    ran = Counter(WORDS[step.now] for step in steps)
    yield f"of {len(steps)} failed steps {', '.join(f'{count} ran {how}' for how, count in ran.most_common())}"
    over = sum(step.oversize for step in steps)
    if over:
        yield f"{over} were larger than the largest captured graph: no mode runs those in one"
    if moved and len(moved) < len(steps):
        yield f"{len(moved)} would run otherwise, {len(steps) - len(moved)} as before"
    if len(steps) < len(case.without or case.faults):
        yield f"{len(case.without or case.faults) - len(steps)} do not tell their step or their mode"


def _lines(shown: Ran) -> Iterator[Event]:
    facts = shown.fault.verdict.facts
    if facts.step_line is not None:
        yield facts.step_line
    modes = graphs(shown.fault.boot) if shown.fault.boot is not None else None
    if modes is not None:
        yield from modes.lines[-1:]
