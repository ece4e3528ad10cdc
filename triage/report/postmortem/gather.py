"""Gathers findings, mitigations and trials into the parts of a postmortem: every text redacted and cleaned here, once, for all formats."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from triage.knowledge.load import Knowledge
from triage.model import Findings, Seconds, Verdict
from triage.report import words
from triage.report.counts import Row, outage_sentence, rows, seen_at
from triage.report.postmortem import downtime, exposure
from triage.report.postmortem.cards import IN_FULL, card, described
from triage.report.postmortem.epochs import epochs
from triage.report.postmortem.given import Mitigation, Trial
from triage.report.postmortem.parts import Card, Epoch, Lane, Moment, Pairs, Postmortem, Stretch
from triage.report.postmortem.say import Say
from triage.report.table import DEFINITIONS, death_words, headline, notes, seen_words

DAY = 86400.0
TIMELINE_SHOWN = 120
STRUCK_SHOWN = 4
ENGINE_HOURS, COVERED = "engine-hours", "hours covered"


def gather(
    findings: Findings,
    known: Knowledge,
    say: Say,
    *,
    mitigations: Sequence[Mitigation] | None = None,
    trials: Sequence[Trial] | None = None,
    title: str = "",
    heading: str = "",
    only: Sequence[str] = (),
    limits: Sequence[str] = (),
    now: Seconds | None = None,
) -> Postmortem:
    """The postmortem of findings. `heading` stands in place of what was read; `now` is when it is made, in seconds since the epoch.

    `only` are the classes that findings were narrowed to, `limits` what else cannot be said of them.
    `mitigations` and `trials` are None where nobody looked for any: then nothing is said of them.
    """
    say.meet(findings)
    start, end = _window(findings)
    counted = [row for row in rows(findings) if row.count or not only]
    lane_of = {(row.fault_class, row.family): number for number, row in enumerate(counted)}
    full = len(findings.verdicts) <= IN_FULL
    cards = [card(v, lane_of[v.fault_class, v.family], say, hints=findings.hints, full=full) for v in _in_order(findings)]
    found_epochs = epochs(findings.boots, findings.verdicts, end, say)
    up = exposure.lives(findings, start, end)
    return Postmortem(
        title=say(title, 120), sentence=_sentence(counted, only), window=_dates(start, end, only),
        made=words.minute(time.time() if now is None else now), rules=findings.rules, start=start, end=end,
        figures=tuple(_figures(findings, up, end - start)), lanes=tuple(_lane(row, lane_of, cards, findings, known) for row in counted),
        cards=tuple(cards), timeline=tuple(_timeline(cards, found_epochs, mitigations or (), say)), epochs=tuple(found_epochs),
        gaps=tuple(Stretch(g.start, g.end, say(g.source, 80)) for g in findings.coverage.gaps), lives=tuple(up),
        exposure=ENGINE_HOURS if findings.boots else COVERED,
        limits=(*limits, *_limits(findings, cards, full, say)), definitions=(_read(findings, heading, say), *_definitions(findings)),
        mitigations=None if mitigations is None else tuple(_mitigation(entry, say) for entry in mitigations),
        trials=None if trials is None else tuple(_trial(trial, say) for trial in trials),
        hints=tuple(say.about(words.in_common(hint)) for hint in findings.hints),
        redacted=tuple((kind, f"{count:,}") for kind, count in sorted(say.redactor.counts.items())),
    )  # fmt: skip


def _window(findings: Findings) -> tuple[Seconds, Seconds]:
    seen = [at.earliest for v in findings.verdicts if (at := seen_at(v))]
    start, end = findings.coverage.start, findings.coverage.end
    if start is None or end is None:
        return (min(seen), max(seen) + 1) if seen else (0.0, 0.0)
    return min([start, *seen]), max([end, *seen])


def _in_order(findings: Findings) -> list[Verdict]:
    return sorted(findings.verdicts, key=lambda v: (at.earliest if (at := seen_at(v)) else float("inf"), v.incident.id))


def _dates(start: Seconds, end: Seconds, only: Sequence[str]) -> str:
    return (f"{words.minutes(start, end)} UTC" if end > start else "no dates") + (f", only {', '.join(only)}" if only else "")


def _sentence(counted: Sequence[Row], only: Sequence[str]) -> str:
    """What happened in one sentence: the faults by class, most frequent first, and what was no fault."""
    faults = [row for row in counted if row.fault and row.count]
    others = sum(row.count for row in counted if not row.fault)
    rest = f" {words.number(others, 'other event')} {'was' if others == 1 else 'were'} no fault." if others else ""
    if not faults:
        return f"No {'fault' if not only else ' or '.join(only)} was found.{rest}"
    total = sum(row.count for row in faults)
    counts = Counter[str]()
    for row in faults:
        counts[row.fault_class] += row.count
    return f"{words.number(total, 'incident')}: {', '.join(f'{count:,} {name}' for name, count in counts.items())}.{rest}"


def _figures(findings: Findings, up: Sequence[Stretch], length: Seconds) -> Iterator[tuple[str, str]]:
    faults = [v for v in findings.verdicts if v.fault]
    yield "incidents", f"{len(faults):,}"
    least, most, unended = downtime.total(faults)
    if len(faults) > unended:
        shown = [f"{seconds / 60:,.0f}" for seconds in (least, most)]
        yield "minutes down", shown[0] if shown[0] == shown[1] else f"{shown[0]}–{shown[1]}"
    spans = [span for v in faults if (span := downtime.length(v))]
    if spans:
        yield "longest outage", words.stretch(max(high for _, high in spans))
    if findings.outages:
        yield "outages by probe", f"{len(findings.outages):,}"
    hours = exposure.Clock(up).total
    if hours:
        yield ("engine-hours up" if findings.boots else COVERED), f"{hours:,.0f}"
    if findings.boots:
        yield "boots", f"{len(findings.boots):,}"
    if findings.coverage.ratio is not None:
        yield "time covered", _percent(findings.coverage.ratio)
    if length:
        yield "window", words.stretch(length)


def _percent(ratio: float) -> str:
    """A share that never reads as all or nothing where it is not."""
    return f"{ratio:.0%}" if ratio in (0.0, 1.0) or 0.005 <= ratio < 0.995 else f"{ratio:.2%}" if ratio < 0.9999 else "> 99.9%"


def _lane(row: Row, lane_of: dict[tuple[str, str], int], cards: Sequence[Card], findings: Findings, known: Knowledge) -> Lane:
    number = lane_of.get((row.fault_class, row.family), len(lane_of))
    rule, mine = known.classes.get(row.fault_class), [c for c in cards if c.lane == number]
    least, most, unended = downtime.total(v for v in findings.verdicts if (v.fault_class, v.family) == (row.fault_class, row.family))
    low, high = f"{least / 60:,.0f}", f"{most / 60:,.0f}"
    down = "-" if len(mine) <= unended else f"{low} min" if low == high else f"{low}–{high} min"
    return Lane(
        lane=number, name=_name(row, lane_of), fault_class=row.fault_class, family=row.family if row.fault else "no fault", fault=row.fault,
        count=row.count, death=death_words(row), dump=row.dump, probe=row.first_probe, seen=seen_words(row), down=down,
        title=rule.title if rule else UNNAMED, meaning=_flat(rule.meaning if rule else ""), decides=_flat(rule.decides if rule else ""),
        confused=rule.not_to_be_confused_with if rule else (), next=rule.next if rule else UNNAMED_NEXT, references=rule.references if rule else (),
        struck=tuple(_struck(mine)), ids=tuple(c.id for c in mine),
    )  # fmt: skip


def _name(row: Row, lane_of: dict[tuple[str, str], int]) -> str:
    several = sum(name == row.fault_class for name, _ in lane_of) > 1
    return f"{row.fault_class} ({row.family})" if several else row.fault_class


UNNAMED = "Something died or stopped answering and the evidence does not say why"
UNNAMED_NEXT = ("`triage unknown PATH` clusters these incidents by their best lines and drafts a rule for each cluster.",)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _struck(mine: Sequence[Card]) -> Iterator[tuple[str, str]]:
    """Where the incidents of a class hit, as far as their lines tell, most frequent first."""
    for name, title in (("on", "hit on"), ("frame", "failing frame"), ("where", "engine")):
        told = Counter(value for c in mine if (value := described(c.facts, name)))
        if name == "where":
            told = Counter(value.rpartition(", boot ")[0] or value for value in told.elements())
        shown = [f"{value} ({count} of {len(mine)})" for value, count in told.most_common(STRUCK_SHOWN)]
        shown += [f"and {len(told) - STRUCK_SHOWN} more"] if len(told) > STRUCK_SHOWN else []
        if shown:
            yield title, ", ".join(shown)


def _timeline(cards: Sequence[Card], found: Sequence[Epoch], mitigations: Sequence[Mitigation], say: Say) -> list[Moment]:
    """What happened, in order; of a great many incidents one line a day, or a month."""
    dated = [c for c in cards if c.at is not None]
    lines = [Moment(c.at or 0.0, c.when, _told(c), c.lane, c.id) for c in dated] if len(dated) <= TIMELINE_SHOWN else _together(dated)
    lines += [Moment(e.start, e.when, f"configuration {e.name}: {'; '.join(e.changes)}") for e in found if e.changes]
    for entry in mitigations:
        named, of = say(entry.name, 60), say(entry.fault_class, 60)
        steps = (("claimed", entry.claimed), ("in effect", entry.since), ("ended", entry.until), ("refuted", entry.refuted))
        lines += [Moment(at, words.minute(at), f"mitigation {named} ({of}): {what}") for what, at in steps if at is not None]
    return sorted(lines, key=lambda line: line.at)


def _told(of: Card) -> str:
    died = f" after {of.death}" if of.death != "-" else ""
    return f"{of.fault_class}{f', died{died}' if died else ''}; down {of.down}" if of.fault else f"{of.fault_class} (no fault)"


def _together(dated: Sequence[Card]) -> list[Moment]:
    days = {of.when[:10] for of in dated}
    part = len("2026-11-12" if len(days) <= TIMELINE_SHOWN else "2026-11")
    found: dict[str, list[Card]] = defaultdict(list)
    for of in dated:
        found[of.when[:part]].append(of)
    return [Moment(mine[0].at or 0.0, when, _kinds(mine)) for when, mine in found.items()]


def _kinds(cards: Sequence[Card]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in Counter(c.fault_class for c in cards).most_common())


def _read(findings: Findings, heading: str, say: Say) -> str:
    return f"read: {say.about(heading or headline(findings))}"


def _definitions(findings: Findings) -> Iterator[str]:
    if any(v.incident.time_to_death for v in findings.verdicts):
        yield f"time to death: {DEFINITIONS[findings.since]}; median (low-high)"
    yield downtime.DEFINITION
    if findings.boots:
        yield f"{ENGINE_HOURS}: from READY to the end of each life, engines added up"
    else:
        yield f"{COVERED}: no boot was seen, so calendar time"
    if sentence := outage_sentence(findings):
        yield sentence


def _limits(findings: Findings, cards: Sequence[Card], full: bool, say: Say) -> Iterator[str]:
    """What cannot be said, and why: one sentence each."""
    told = [note for note in notes(findings, "") if not note.startswith(("ids:", "time to death:", "hint:"))]
    yield from (say.about(note) for note in told if note != outage_sentence(findings))
    if not cards and findings.coverage.start is None:
        yield "nothing that was read tells a time, so no time was seen in which a fault would have shown"
    unclassified = sum(c.fault_class == "unclassified" for c in cards)
    if unclassified:
        yield f"{words.number(unclassified, 'incident')} unclassified: the evidence does not say why"
    if undated := sum(c.at is None for c in cards):
        yield f"{words.number(undated, 'incident')} without a date: in the tables, and on no plot of time"
    blind = [boot for boot in findings.boots if not boot.config]
    if blind:
        yield f"configuration not observed for {len(blind)} of {words.number(len(findings.boots), 'boot')}: their banner is not in what was read"
    unended = sum(c.fault and c.down_low is None for c in cards)
    if unended:
        yield f"{words.number(unended, 'incident')} without a seen end: not in the minutes down"
    if not full:
        yield f"more than {IN_FULL} incidents: their cards say where it hit and why; `triage explain ID` has the rest"


def _mitigation(entry: Mitigation, say: Say) -> Pairs:
    steps = (("claimed", entry.claimed), ("in effect", entry.since), ("ended", entry.until))
    times = [f"{what} {words.minute(at)}" for what, at in steps if at is not None]
    if entry.refuted is not None:
        times.append(f"refuted {words.minute(entry.refuted)}" + (f" by {entry.refuted_by}" if entry.refuted_by else ""))
    told = (("mitigation", entry.name), ("class", entry.fault_class), ("claim", entry.claim), ("cost", entry.cost), ("status", entry.status),
            ("when", ", ".join(times)), ("note", entry.note))  # fmt: skip
    return tuple((name, say(value)) for name, value in told)


def _trial(trial: Trial, say: Say) -> Pairs:
    told = (("trial", trial.name), ("question", trial.question), ("verdict", trial.verdict), ("note", trial.note))
    return tuple((name, say.about(value)) for name, value in told)
