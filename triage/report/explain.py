"""`triage explain`: why one incident got its class: forks with their becauses, root and consequences with file:line, and what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from triage.knowledge.load import Knowledge
from triage.model import Event, Facts, Hint, Verdict
from triage.report import words
from triage.report.dump_evidence import witnesses
from triage.report.fitting import columns, wrapped
from triage.report.numbers import numbered_lines
from triage.verdict import facts
from triage.verdict.whynot import why_not

LINE_WIDTH = 160
CONSEQUENCES_SHOWN = 8
FRAMES_SHOWN = 6
INSTALLED = re.compile(r"^\S*/(?:site|dist)-packages/")


def explain(verdict: Verdict, knowledge: Knowledge, *, joined: Iterable[Hint] = ()) -> str:
    """The explanation of one verdict as text, as wide as the terminal. `joined` are hints that join incidents; those that name this one are told."""
    common = tuple(hint for hint in joined if verdict.incident.id in hint.incidents)
    return "\n".join(wrapped(line, columns()) for line in _lines(verdict, knowledge, common, _cut()))


def explain_why_not(verdict: Verdict, fault_class: str, knowledge: Knowledge) -> str:
    """Which condition a class lacked in one incident, as text. Raises KeyError where the rules know no such class."""
    reasons = why_not(verdict, fault_class, knowledge)
    numbered = iter(numbered_lines([line for reason in reasons for line in reason.lines]))
    out = [f"{verdict.incident.id}  {verdict.fault_class}; why not {fault_class}:"]
    for reason in reasons:
        out.append(f"  - {words.clean(reason.text)}")
        out += [f"  {line}" for _ in reason.lines for line in _cited(next(numbered), _cut())]
    return "\n".join(wrapped(line, columns()) for line in out)


def _cut() -> int:
    """How much of a cited line is shown: two lines of it on a narrow terminal, all that fits on a wide one."""
    return max(LINE_WIDTH, columns() - 4)


def _lines(verdict: Verdict, knowledge: Knowledge, common: tuple[Hint, ...], width: int) -> Iterator[str]:
    of, known = verdict.incident, knowledge.classes.get(verdict.fault_class)
    yield f"{of.id}  {verdict.fault_class} ({verdict.family}, phase {of.phase}, {verdict.confidence} evidence)"
    if known:
        yield f"  {known.title}"
    if verdict.by == "model" and verdict.opinion is not None:
        said = verdict.opinion
        yield f"  {words.by_model(verdict)}; most like {words.clean(said.incident)}, which is labelled so"
    if verdict.attempts > 1:
        yield f"  {words.number(verdict.attempts - 1, 'restart')} after it failed, too: counted as attempts of this incident"
    yield from _times(verdict)
    yield from _place(verdict.facts)
    yield ""
    yield "forks"
    for answer in verdict.forks:
        yield f"  {answer.fork:14} {answer.answer:8} {words.clean(answer.because)}"
    yield from _evidence(verdict, width)
    yield from _suspects(verdict)
    yield from _listed("log and dumps", witnesses(verdict))
    yield from _listed("conflicts", verdict.conflicts)
    yield from _listed("hints", (*verdict.hints, *(words.in_common(hint) for hint in common)))
    yield from _listed("evidence that is missing", verdict.missing)
    yield from _listed("what to do next", known.next if known else ())


def _times(verdict: Verdict) -> Iterator[str]:
    of = verdict.incident
    where = ", ".join(p for p in (of.engine, of.host, of.stream and f"stream {of.stream}", of.boot and f"boot {of.boot.id}") if p)
    yield f"  where      {words.clean(where) or 'not known'}"
    yield f"  onset      {words.full(of.onset)}" + (f" ({words.clean(of.onset_from)})" if of.onset_from else "")
    yield f"  dead       {words.full(of.dead)}" + (f" ({words.clean(of.dead_from)})" if of.dead_from else "")
    yield f"  recovered  {words.full(of.recovered)}"
    if of.time_to_death:
        timeout = f"; timeout in force {words.length(of.timeout)}" if of.timeout and verdict.family == "hang" else ""
        yield f"  died after {words.span(of.time_to_death)} (since {of.time_to_death.since}){timeout}"
    yield f"  dump       {of.dump_state}: {words.clean(of.dump_reason)}"
    if of.outage:
        yield f"  probes     {of.outage.symbols[:60]} ({words.number(of.outage.failed, 'failed probe')}, first {words.outage_words(of.outage)})"


def _place(found: Facts) -> Iterator[str]:
    """Where in the engine it struck, as far as its lines tell."""
    if found.step_line is not None:
        yield f"  step       {facts.words(found)} ({words.where(found.step_line.place)})"
    if found.frame:
        yield _frame("  frame      ", found.frame)
    told = ([f"rank {found.rank}"] if found.rank is not None else []) + ([f"GPU {found.gpu}"] if found.gpu else [])
    if told:
        yield f"  on         {words.clean(', '.join(told))}"


def _evidence(verdict: Verdict, width: int) -> Iterator[str]:
    yield ""
    yield "root"
    if verdict.root is None:
        yield "  none: nothing that was read says why"
        if verdict.best_lines:
            yield "best lines: they look like trouble and stand nearest to the end; nothing known says that they are the cause"
        for event in verdict.best_lines:
            yield from _cited(event, width)
    else:
        yield from _cited(verdict.root, width)
        yield from (_frame("      at ", frame) for frame in verdict.root.frames[-FRAMES_SHOWN:])
    if verdict.consequences:
        yield "consequences"
        for event in verdict.consequences[:CONSEQUENCES_SHOWN]:
            yield from _cited(event, width)
        if len(verdict.consequences) > CONSEQUENCES_SHOWN:
            yield f"  ... and {len(verdict.consequences) - CONSEQUENCES_SHOWN} more kinds of line"
    if verdict.runner_up:
        yield f"runner-up: {verdict.runner_up}, lost because {words.clean(verdict.runner_up_lost)}"


def _cited(event: Event, width: int) -> Iterator[str]:
    rank = f", rank {event.rank}" if event.rank is not None else ""
    yield f"  {words.where(event.place)} [{event.rule}{rank}]"
    yield f"    {words.clean(event.text.strip(), width)}"


def _frame(title: str, frame: str) -> str:
    """A frame behind its title; where it is too long without the folder that packages are installed in."""
    shown = words.clean(frame)
    return title + (shown if len(title) + len(shown) <= columns() else INSTALLED.sub("…/", shown))


def _suspects(verdict: Verdict) -> Iterator[str]:
    dump = verdict.incident.dump
    if dump is None or not dump.suspects:
        return
    yield "ranks the dumps point at"
    for suspect in dump.suspects:
        who = f"rank {suspect.rank}" if suspect.rank >= 0 else "no rank"
        yield f"  {who} ({suspect.strength}): {words.clean(suspect.reason)}"


def _listed(title: str, lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield title
        yield from (f"  - {words.clean(line)}" for line in lines)
