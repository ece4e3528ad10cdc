"""One card an incident: when, how long it took to die, dump, probe, where it hit, the lines that say so, and what the evidence lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.model import Event, Hint, Verdict
from triage.report import words
from triage.report.counts import seen_at
from triage.report.dump_evidence import witnesses
from triage.report.explain import INSTALLED
from triage.report.postmortem import downtime
from triage.report.postmortem.parts import Card, Cited, Pairs
from triage.report.postmortem.say import SHOWN, Say
from triage.verdict import facts as facts_of

CONSEQUENCES_SHOWN = 6
IN_FULL = 500
"""Of more incidents than this, cards are brief: where it hit and the line that says why. Thousands in full are too much to read or to load."""
BRIEF_LINE = 240


def card(verdict: Verdict, lane: int, say: Say, *, hints: Sequence[Hint] = (), full: bool = True) -> Card:
    """The card of one incident; `full` with all evidence that `explain` has, else brief."""
    of, seen, down = verdict.incident, seen_at(verdict), downtime.length(verdict)
    span = of.time_to_death
    death = words.span(span)
    when = words.minute(seen.earliest) if seen else "no date"
    return Card(
        id=of.id, lane=lane, fault_class=verdict.fault_class, fault=verdict.fault,
        summary=f"{verdict.fault_class}, {when}" + (f", died after {death}" if span else ""),
        when=when, death=death, dump=of.dump_state, probe=words.outage_words(of.outage), down=_between(down),
        engine=say(" ".join(p for p in (of.engine, of.boot.version if of.boot else "") if p), 60),
        at=seen.earliest if seen else None,
        death_low=span.low if span else None, death_high=span.high if span else None, timeout=of.timeout, hang=verdict.family == "hang",
        full=full,
        down_low=down[0] if down else None, down_high=down[1] if down else None,
        facts=tuple(_facts(verdict, say) if full else _brief(verdict, say)),
        forks=tuple((a.fork, f"{a.answer}: {say.about(a.because)}") for a in verdict.forks) if full else (),
        evidence=tuple(_evidence(verdict, say) if full else _first(verdict, say)), notes=tuple(_notes(verdict, say, hints)) if full else (),
    )  # fmt: skip


def _between(down: tuple[float, float] | None) -> str:
    if down is None:
        return "no end seen"
    low, high = (words.stretch(seconds) for seconds in down)
    return low if low == high else f"{low} to {high}"


def _facts(verdict: Verdict, say: Say) -> Iterator[tuple[str, str]]:
    of, found = verdict.incident, verdict.facts
    yield "onset", say.about(words.full(of.onset) + (f" ({of.onset_from})" if of.onset_from else ""))
    yield "dead", say.about(words.full(of.dead) + (f" ({of.dead_from})" if of.dead_from else ""))
    yield "recovered", words.full(of.recovered)
    if of.time_to_death:
        timeout = f"; timeout in force {words.length(of.timeout)}" if of.timeout and verdict.family == "hang" else ""
        yield "died after", f"{words.span(of.time_to_death)} (since {of.time_to_death.since}){timeout}"
    yield "down for", _between(downtime.length(verdict))
    yield "dump", of.dump_state + (f": {say.about(of.dump_reason)}" if of.dump_reason else "")
    if of.outage:
        yield "probes", f"{of.outage.symbols[:60]} ({words.number(of.outage.failed, 'failed probe')}, first {words.outage_words(of.outage)})"
    yield from _struck(verdict, say)
    if verdict.attempts > 1:
        yield "restarts", f"{words.number(verdict.attempts - 1, 'restart')} after it failed, too"
    yield "evidence", f"{verdict.confidence}, by {'the rules' if verdict.by == 'rules' else 'the model'}, phase {of.phase}" + (
        f"; step {facts_of.words(found)}" if found.step_line is not None else ""
    )


def _struck(verdict: Verdict, say: Say) -> Iterator[tuple[str, str]]:
    of, found = verdict.incident, verdict.facts
    where = ", ".join(p for p in (of.engine, of.host, of.stream and f"stream {of.stream}", of.boot and f"boot {of.boot.id}") if p)
    yield "where", say(where) or "not known"
    told = [f"rank {found.rank}" if found.rank is not None else "", f"GPU {found.gpu}" if found.gpu else ""]
    if any(told):
        yield "on", say(", ".join(t for t in told if t))
    if found.frame:
        yield "frame", say(INSTALLED.sub("…/", found.frame), 200)


def _brief(verdict: Verdict, say: Say) -> Iterator[tuple[str, str]]:
    yield "dead", words.full(verdict.incident.dead)
    yield from _struck(verdict, say)


def _first(verdict: Verdict, say: Say) -> Iterator[Cited]:
    """The line that says why, or the one that is nearest to it."""
    lines = [verdict.root] if verdict.root is not None else list(verdict.best_lines[:1])
    yield from (_cited("root" if verdict.root else "near the end", line, say, BRIEF_LINE) for line in lines)


def _evidence(verdict: Verdict, say: Say) -> Iterator[Cited]:
    if verdict.root is not None:
        yield _cited("root", verdict.root, say)
    for event in verdict.best_lines:
        yield _cited("near the end", event, say)
    for event in verdict.consequences[:CONSEQUENCES_SHOWN]:
        yield _cited("then", event, say)


def _cited(role: str, event: Event, say: Say, width: int = SHOWN) -> Cited:
    rank = f", rank {event.rank}" if event.rank is not None else ""
    line = f":{event.place.line}" if event.place.line else ""
    return Cited(role, f"{say(event.place.file, 160)}{line}", f"{event.rule}{rank}", say(event.text, width))


def _notes(verdict: Verdict, say: Say, hints: Sequence[Hint]) -> Iterator[tuple[str, str]]:
    if verdict.root is None:
        yield "root", "none: nothing that was read says why"
    if verdict.runner_up:
        yield "runner-up", say.about(f"{verdict.runner_up}, lost because {verdict.runner_up_lost}")
    dump = verdict.incident.dump
    for suspect in dump.suspects if dump else ():
        who = f"rank {suspect.rank}" if suspect.rank >= 0 else "no rank"
        yield "the dumps point at", f"{who} ({suspect.strength}): {say.about(suspect.reason)}"
    yield from (("log and dumps", say.about(line)) for line in witnesses(verdict))
    yield from (("conflict", say.about(line)) for line in verdict.conflicts)
    yield from (("hint", say.about(line)) for line in verdict.hints)
    yield from (("hint", say.about(hint.text)) for hint in hints if verdict.incident.id in hint.incidents)
    yield from (("missing", say.about(line)) for line in verdict.missing)


def described(pairs: Pairs, name: str) -> str:
    """The value under a name, or nothing."""
    return next((value for key, value in pairs if key == name), "")
