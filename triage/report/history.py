"""How the history is shown: a list with one line an incident, and one incident with all that was kept and said of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from triage.history.query import Entry, Label
from triage.model import Event, Findings, Seconds
from triage.report import words
from triage.report.counts import seen_at
from triage.report.fitting import columns, fitted_table, wrapped

GIVE = (("host or log", 14), ("note", 8), ("dump", 0), ("probe", 0), ("host or log", 0), ("class", 16))  # on a narrow terminal, in this order
HEADINGS = ("id", "seen", "class", "time to death", "dump", "probe", "host or log", "note")


def listed(entries: Sequence[Entry], *, style: str = "simple") -> str:
    """One row an incident, oldest first."""
    if not entries:
        return "no incident in the history in this time"
    return fitted_table(HEADINGS, [_row(entry) for entry in entries], style, GIVE)


def shown(entry: Entry, labels: Sequence[Label]) -> str:
    """One incident: what it is, when, by which rules, the lines that were kept, and what people have said of it."""
    verdict, of = entry.verdict, entry.verdict.incident
    lines = [
        f"{entry.id}  {entry.fault_class}" + (f" (judged {entry.judged})" if entry.judged != entry.fault_class else ""),
        f"  onset      {words.full(of.onset)}" + (f" ({of.onset_from})" if of.onset_from else ""),
        f"  dead       {words.full(of.dead)}" + (f" ({of.dead_from})" if of.dead_from else ""),
        f"  recovered  {words.full(of.recovered)}",
        f"  death took {words.span(of.time_to_death)}",
        f"  dump       {of.dump_state}" + (f" ({words.clean(of.dump_reason)})" if of.dump_reason else ""),
    ]
    lines += [f"  probes     {of.outage.symbols}, {words.outage_words(of.outage)} first"] if of.outage else []
    lines += [f"  boot       {of.boot.id} {words.clean(of.boot.engine)} {words.clean(of.boot.version)}"] if of.boot else []
    lines += [f"  {a.fork:<10} {a.answer}: {words.clean(a.because)}" for a in verdict.forks]
    lines += [f"  root       {_cited(verdict.root)}"] if verdict.root else ["  root       none: no line says why"]
    lines += [f"  then       {_cited(event)}" for event in verdict.consequences]
    lines += [f"  conflict   {words.clean(conflict)}" for conflict in verdict.conflicts]
    lines += [f"  {_day(label.at)} {_said(label)}: {words.clean(label.reason)}" for label in labels]
    lines.append(f"  recorded {_day(entry.recorded)}, last changed {_day(entry.changed)}, rules {entry.rules}")
    return "\n".join(wrapped(line, columns()) for line in lines)


def heading(findings: Findings) -> str:
    """One line of what the history saw: the time, the boots, how much of that time some log or probe covers."""
    seen = findings.coverage
    if seen.start is None or seen.end is None:
        return "the history, which has seen nothing of this time"
    missed = sum(gap.end - gap.start for gap in seen.gaps)
    hours = f"{(seen.end - seen.start - missed) / 3600:,.1f} h seen"
    unseen = f", {words.stretch(missed)} not" if missed else ""
    boots = words.number(len(findings.boots), "boot")
    return f"the history, {words.minutes(seen.start, seen.end)} UTC, {boots}, {hours}{unseen}"


def findings_of(entries: Sequence[Entry], **parts: object) -> Findings:
    """The entries as findings, so that every report can be made of the history too."""
    rules = entries[-1].rules if entries else ""
    return Findings(rules=rules, verdicts=tuple(entry.verdict for entry in entries), **parts)  # type: ignore[arg-type]


def _row(entry: Entry) -> tuple[str, ...]:
    of = entry.verdict.incident
    seen = seen_at(entry.verdict)
    note = "dismissed" if entry.dismissed else f"judged {entry.judged}" if entry.judged != entry.fault_class else ""
    return (
        entry.id, words.minute(seen.earliest) if seen else "-", entry.fault_class, words.span(of.time_to_death), of.dump_state,
        words.outage_words(of.outage), words.clean(of.host or of.source, 40), note,
    )  # fmt: skip


def _said(label: Label) -> str:
    return f"{label.action} {label.fault_class}" if label.fault_class else label.action


def _cited(event: Event) -> str:
    line = f":{event.place.line}" if event.place.line else ""
    return f"{words.clean(event.place.file)}{line}: {words.clean(event.text, 200)}"


def _day(at: Seconds) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
