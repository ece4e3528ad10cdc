"""The second question: on which side of its gate was the engine when it failed, and would the change move it to the other?

A step is on a side by its traceback, where a frame or its line tells, and by its size against the threshold that was in force. Sizes come
from the scheduler's dump and are not padded; the gate sees padded rows, so a size close below the threshold decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from triage.knowledge.configuration import Gate
from triage.knowledge.load import Knowledge
from triage.knowledge.sides import Condition, ConditionError, Side, compared, condition, side_of
from triage.ledger.answers import GATE, Answer, Case, Fault
from triage.ledger.booted import Booted, setting
from triage.ledger.entry import Entry
from triage.ledger.graph_gate import graph_answer, mode_asked
from triage.ledger.idle_changes import threshold_of
from triage.ledger.presence import Presence, names
from triage.model import Event

PADDED_TO = 16  # rows: between captured sizes, or to a multiple of the ranks where a sequence is split among them
FEWEST_DECODING, MOST_DECODING = 1, 4096


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One failed step against a gate: its side by its frames and by its size, and the threshold that was in force."""

    fault: Fault
    by_frame: Side
    frame: str
    by_size: Side
    threshold: float | None

    @property
    def side(self) -> Side:
        """By the frame, which was there; by the size where no frame tells."""
        return self.by_frame or self.by_size

    @property
    def differs(self) -> bool:
        return bool(self.by_frame and self.by_size and self.by_frame != self.by_size)


def gate_answer(case: Case, known: Knowledge) -> Answer:
    """The side of every step that failed without the change, and what the change makes of it. Raises ConditionError for a user's own gate."""
    gate = gate_of(case.entry, known, case.engine)
    if gate is None and case.engine == "vllm" and (mode := mode_asked(case.entry)):
        return graph_answer(case, mode)
    if gate is None:
        unknown = f"no gate is known that {' or '.join(case.entry.changes)} sets; describe one with --gate, --true-frames and --false-frames"
        return Answer(question=GATE, verdict="cannot be observed", says=(unknown, *_passed(case, known)))
    of = condition(gate.enable)
    faults = case.without or case.faults
    steps = [_step(fault, gate, of) for fault in faults]
    told = [step for step in steps if step.side]
    if not told:
        return _nothing(f"{gate.title}: {_why_not(steps, case)}")
    after = threshold_of(case.entry, gate.set_by) if gate.set_by else threshold_of(case.entry, _own_names(case.entry))
    return _answer(gate, of, told, len(steps), after, case)


def gate_of(entry: Entry, known: Knowledge, engine: str) -> Gate | None:
    """The gate that the user described, else the one that the change sets. Raises ConditionError."""
    if entry.gate.enable:
        condition(entry.gate.enable)
        return _own_gate(entry)
    changed = {name for change in entry.changes for name in names(change)}
    gates = known.gates[engine].gates if engine in known.gates else ()
    return next((gate for gate in gates if changed & set(gate.set_by)), None)


def _passed(case: Case, known: Knowledge) -> Iterator[str]:
    """The gates of the rules that the failed steps went by, whoever sets them."""
    gates = known.gates[case.engine].gates if case.engine in known.gates else ()
    for gate in gates:
        told = [step for fault in case.faults if (step := _step(fault, gate, condition(gate.enable))).by_frame]
        for side, count in Counter(step.by_frame for step in told).items():
            set_by = f", which {' or '.join(gate.set_by)} sets" if gate.set_by else ", which nothing sets"
            yield f"{count} of {len(case.faults)} went by another gate ({gate.id}{set_by}) and are in {gate.on if side == 'on' else gate.off}"


def _own_gate(entry: Entry) -> Gate:
    own = entry.gate
    return Gate(
        id="own", title="your gate", enable=own.enable, set_by=_own_names(entry), on="the enabled branch", off="the other branch",
        on_frames=own.true_frames, off_frames=own.false_frames,
    )  # fmt: skip


def _own_names(entry: Entry) -> tuple[str, ...]:
    return tuple(sorted({name for change in entry.changes for name in names(change)}))


def _step(fault: Fault, gate: Gate, of: Condition) -> Step:
    root, facts = fault.verdict.root, fault.verdict.facts
    version = fault.boot.boot.version if fault.boot else ""
    seen = side_of(gate, root.frames, version) if root is not None else side_of(gate, (), version)
    threshold = of.fixed if of.fixed is not None else _in_force(gate, fault.boot)
    size = _side_by_size(of, facts.tokens, threshold) if threshold is not None and (seen.passed or not gate.through) else ""
    asked = not gate.steps or gate.steps == facts.step
    return Step(fault=fault, by_frame=seen.side, frame=seen.frame, by_size=size if asked else "", threshold=threshold)


def _in_force(gate: Gate, boot: Booted | None) -> float | None:
    """The threshold of a boot: as it shows it, else the default."""
    for name in gate.set_by:
        fact = setting(boot, name) if boot is not None else None
        if fact is not None:
            try:
                return float(str(fact.value))
            except ValueError:
                return None
    return gate.default


def _side_by_size(of: Condition, tokens: int | None, threshold: float) -> Side:
    """The side of a step of so many tokens; none where padding may have taken it over the threshold."""
    if tokens is None or not of.name.endswith("tokens"):
        return ""
    sides: set[Side] = {"on" if compared(of, size, threshold) else "off" for size in (tokens, _padded(tokens))}
    return sides.pop() if len(sides) == 1 else ""


def _padded(tokens: int) -> int:
    return -(-tokens // PADDED_TO) * PADDED_TO


def _answer(gate: Gate, of: Condition, told: Sequence[Step], count: int, after: float | None, case: Case) -> Answer:
    side: Side = Counter(step.side for step in told).most_common(1)[0][0]
    here = [step for step in told if step.side == side]
    shown = min(here, key=lambda step: step.fault.verdict.facts.tokens or 1 << 60)
    then = [_side_by_size(of, step.fault.verdict.facts.tokens, after) if after is not None else "" for step in here]
    stays = any(each == step.side for each, step in zip(then, here, strict=True)) or len(here) < len(told)
    verdict: Presence = "cannot be observed" if after is None else "fails" if stays else "cannot be observed" if "" in then else "holds"
    says = [_headline(gate, of, shown, after, case), *_more(gate, of, told, here, count, after)]
    return Answer(question=GATE, verdict=verdict, says=tuple(says), lines=tuple(_lines(shown)))


def _headline(gate: Gate, of: Condition, shown: Step, after: float | None, case: Case) -> str:
    here, there = (gate.on, gate.off) if shown.side == "on" else (gate.off, gate.on)
    where = f"the faulting frame is in {here} of {_size(shown)}"
    if after is None:
        return f"{where}; the change sets no threshold, so what becomes of it cannot be told"
    tokens = shown.fault.verdict.facts.tokens
    then = _side_by_size(of, tokens, after)
    if not then:
        why = "its size is not known" if tokens is None else f"its {tokens:,} tokens may be padded to {_padded(tokens):,} rows"
        return f"{where}; whether threshold {after:g} would move it cannot be told: {why}"
    if then != shown.side:
        return f"{where}; threshold {after:g} would move it to {there}"
    return f"{where}; threshold {after:g} would not move it{_decoding(of, shown, after, case)}"


def _decoding(of: Condition, shown: Step, after: float, case: Case) -> str:
    """What the change does to decode batches, whose rows are their requests, where that is to send them where the fault is."""
    if shown.threshold is None or not of.name.endswith("tokens"):
        return ""
    largest = _most_requests(case)
    sizes = range(FEWEST_DECODING, min(largest or MOST_DECODING, MOST_DECODING) + 1)
    sent = [size for size in sizes if compared(of, size, shown.threshold) != compared(of, size, after) == (shown.side == "on")]
    if not sent:
        return ""
    if sent[0] > FEWEST_DECODING or largest is None:
        which = f"decode batches of {sent[0]:,} to {sent[-1]:,} requests" if sent[0] > FEWEST_DECODING else "every small decode batch"
    else:
        which = f"every decode batch (up to {sent[-1]:,} requests)"
    return f", and would send {which} into the same path"


def _most_requests(case: Case) -> int | None:
    for one in reversed(case.boots):
        fact = setting(one, "max_num_seqs") or setting(one, "max_running_requests")
        if fact is not None and str(fact.value).isdecimal():
            return int(str(fact.value))
    return None


def _more(gate: Gate, of: Condition, told: Sequence[Step], here: Sequence[Step], count: int, after: float | None) -> Iterator[str]:
    shown = here[0]
    way = "without the change" if any(step.fault.changed == "fails" for step in told) else "in these logs"
    sizes = [step.fault.verdict.facts.tokens for step in here if step.fault.verdict.facts.tokens is not None]
    span = f", steps of {_span(sizes)} tokens" if sizes else ""
    by = ("by its line" if gate.lines else "by its function") if all(step.by_frame for step in here) else "by frame or size"
    yield f"{len(here)} of {count} incidents {way} {'is' if len(here) == 1 else 'are'} on that side ({by}{span})"
    if len(told) > len(here):
        yield f"{len(told) - len(here)} are on the other side: one gate does not explain them all"
    if len(told) < count:
        yield f"{count - len(told)} do not tell their side"
    threshold = f" with THRESHOLD {shown.threshold:g}" if shown.threshold is not None and of.fixed is None else ""
    yield f"the gate: {gate.enable}{threshold}: true is {gate.on}, false is {gate.off}"
    if any(step.differs for step in told):
        yield "the size of a step says another side than its frame: the frame is believed, since a dump may be of the step after"
    if after == 0 and gate.zero:
        yield f"0 means here: {gate.zero}"
    if gate.note:
        yield gate.note


def _span(sizes: Sequence[int]) -> str:
    least, most = min(sizes), max(sizes)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _size(step: Step) -> str:
    facts = step.fault.verdict.facts
    kind = facts.step or "step"
    tokens = facts.chunk if facts.step == "prefill" and facts.chunk is not None else facts.tokens
    if tokens is None:
        return f"a {kind} whose size no line tells" if facts.step else "a step whose size no line tells"
    return f"a {kind} of {tokens:,} tokens"


def _lines(step: Step) -> Iterator[Event]:
    """The root with its frame, and the engine's own word on the step."""
    root, line = step.fault.verdict.root, step.fault.verdict.facts.step_line
    if root is not None:
        yield msgspec.structs.replace(root, frames=(step.frame,) if step.frame else ())
    if line is not None:
        yield line


def _why_not(steps: Sequence[Step], case: Case) -> str:
    if not steps:
        return f"no {case.entry.fault_class} is in these logs, so no frame is"
    versions = sorted({step.fault.boot.boot.version for step in steps if step.fault.boot and step.fault.boot.boot.version})
    frames = sum(bool(step.fault.verdict.root and step.fault.verdict.root.frames) for step in steps)
    said = f"none of {len(steps)} incidents went by it as far as their {frames} tracebacks show" if frames else "no incident left a traceback"
    return f"{said} ({case.engine} {', '.join(versions) or 'of a version that no line tells'})"


def _nothing(says: str) -> Answer:
    return Answer(question=GATE, verdict="cannot be observed", says=(says,))


__all__ = ["ConditionError", "gate_answer", "gate_of"]
