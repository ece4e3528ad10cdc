"""What `triage classify` prints for people: what was read, the table, and below it what limits the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from triage.model import Findings
from triage.report import words
from triage.report.counts import Row, outage_sentence, rows
from triage.report.fitting import fitted_table, text_columns, wrapped

DEFINITIONS = {
    "onset": "from the onset of the fault to the first death mark, exit or refused probe",
    "progress": "from the last line that shows progress to the first death mark, exit or refused probe",
    "ready": "from READY to the first death mark, exit or refused probe",
    "first-failed-probe": "from the first failed probe to the first death mark, exit or refused probe",
}
HEADINGS = ("class", "family", "n", "time to death", "dump", "probe", "seen")
# What gives way on a narrow terminal, in this order; --format json has everything.
GIVE = (("group", 24), ("probe", 12), ("family", 0), ("group", 12), ("seen", 11), ("dump", 0), ("probe", 0), ("class", 16), ("seen", 0))
MODEL = "~"  # stands before a class that a model named; at the front, where no narrow terminal cuts it off
NOTES_SHOWN = 12
GAPS_SHOWN = 5


def text_table(findings: Findings, by: str = "", *, style: str = "simple", heading: str = "", more: str = "triage explain ID PATH") -> str:
    """The whole answer as text; `style` is a tabulate format (`simple` for terminals, `github` for Markdown).

    `heading` stands in place of the line that says what was read; `more` is the command that tells all of one incident.
    """
    parts = [_wrapped(heading or headline(findings), style), "", _table(rows(findings, by), by, style)]
    below = list(notes(findings, more))
    if below:
        bullet = "- " if style == "github" else ""
        parts += ["", *(_wrapped(bullet + note, style) for note in below)]
    return "\n".join(parts)


def headline(findings: Findings) -> str:
    """One line of what was read: files, bytes, window, boots, coverage."""
    files = sum(len(s.files) for s in findings.sources)
    parts = [f"{words.number(files, 'file')}, {words.size(sum(s.bytes for s in findings.sources))}"]
    coverage = findings.coverage
    if coverage.start is not None and coverage.end is not None:
        parts.append(f"{words.minutes(coverage.start, coverage.end)} UTC")
    parts.append(words.number(len(findings.boots), "boot"))
    if coverage.ratio is not None:
        parts.append(f"coverage {coverage.ratio:.0%}")
    return ", ".join(parts)


def _table(listed: list[Row], by: str, style: str) -> str:
    headings = ((by,) if by else ()) + HEADINGS
    cells = [((words.clean(row.group),) if by else ()) + _cells(row) for row in listed]
    give = [(by if heading == "group" else heading, least) for heading, least in GIVE]
    return fitted_table(headings, cells, style, give, right=("n",))


def _cells(row: Row) -> tuple[str, ...]:
    name = f"{MODEL} {row.fault_class}" if row.by == "model" else row.fault_class
    return (name, row.family if row.fault else "no fault", str(row.count), death_words(row), row.dump, row.first_probe, seen_words(row))


def death_words(row: Row) -> str:
    """The times to death of a class: one where they agree, else the median with low and high."""
    if row.median is None or row.low is None or row.high is None:
        return "-"
    if row.high - row.low < 1.0:
        return words.length(row.median)
    return f"{row.median:.0f} s ({row.low:.0f}-{row.high:.0f})"


def seen_words(row: Row) -> str:
    """When a class was first and last seen."""
    if row.first_seen is None:
        return "-"
    if row.count == 1:
        return words.short(row.first_seen)
    first, last = words.day(row.first_seen), words.day(row.last_seen)
    begun, ended = words.year(row.first_seen), words.year(row.last_seen or row.first_seen)
    return f"{first} .. {last}" if begun == ended else f"{begun}-{first} .. {ended}-{last}"


def notes(findings: Findings, more: str) -> Iterable[str]:
    """What the reader must know, one sentence each: outages, definition, conflicts, gaps, problems, assumptions, and where `more` is told."""
    sentence = outage_sentence(findings)
    if sentence:
        yield sentence
    if any(v.incident.time_to_death for v in findings.verdicts):
        yield f"time to death: {DEFINITIONS[findings.since]}; median (low-high)"
    yield from _by_model(findings)
    yield from _uncollected(findings)
    loops = [v for v in findings.verdicts if v.attempts > 1]
    if loops:
        yield f"{words.number(sum(v.attempts - 1 for v in loops), 'failed restart')} counted as attempts of {words.number(len(loops), 'incident')}"
    yield from _capped([f"hint: {words.in_common(hint)}" for hint in findings.hints], "hint")
    yield from _capped([f"conflict in {v.incident.id}: {words.clean(c)}" for v in findings.verdicts for c in v.conflicts], "conflict")
    yield from _gaps(findings)
    problems = sorted(findings.problems, key=lambda problem: not problem.lost)
    yield from _capped([f"{words.clean(p.file)}: {words.clean(p.what)}" for p in problems], "problem")
    yield from _capped([f"clock: {words.clean(a)}" for a in findings.assumptions], "clock assumption")
    if findings.verdicts:
        yield f"ids: {' '.join(v.incident.id for v in findings.verdicts[:4])}{' ...' if len(findings.verdicts) > 4 else ''} ({more})"


def _by_model(findings: Findings) -> Iterable[str]:
    """The model's share of the table, so that nobody takes it for what a rule has cited a line for."""
    chances = sorted(v.opinion.probability for v in findings.verdicts if v.by == "model" and v.opinion is not None)
    if chances:
        sure = " to ".join(dict.fromkeys(words.chance(chance) for chance in (chances[0], chances[-1])))
        named = words.number(len(chances), "incident")
        yield f"{MODEL} {named} named by a model, not by a rule: no line proves it ({sure} sure; `triage model explain ID PATH`)"
    doubted = [v.incident.id for v in findings.verdicts if v.by == "rules" and v.opinion is not None]
    if doubted:
        which = f"{' '.join(doubted[:4])}{' ...' if len(doubted) > 4 else ''}"
        yield f"the model would have named {words.number(len(doubted), 'incident')} otherwise than the rules, whose word stands ({which})"


def _uncollected(findings: Findings) -> Iterable[str]:
    """Where dumps may exist that were not among what was read: their absence says nothing."""
    if findings.verdicts and not any(s.kind == "engine" for s in findings.sources):
        yield "no engine log was read: what the probes, dumps or kernel lines do not say by themselves stays unclassified"
        return
    faults = [v for v in findings.verdicts if v.fault and v.family in ("hang", "instant", "-")]
    reasons = Counter(v.incident.dump_reason for v in faults if v.incident.dump_state == "not collected")
    for reason, count in reasons.most_common(2):
        yield f"dump not collected for {count} of {words.number(len(faults), 'incident')} ({words.clean(reason)}): that says nothing about them"


def _gaps(findings: Findings) -> Iterator[str]:
    """The longest gaps in order of time, and the others in one line."""
    gaps = sorted(findings.coverage.gaps, key=lambda gap: gap.start - gap.end)
    for gap in sorted(gaps[:GAPS_SHOWN], key=lambda gap: gap.start):
        length = f"{words.stretch(gap.end - gap.start)}, {words.clean(gap.source)}"
        yield f"no coverage {words.minute(gap.start)} to {words.minute(gap.end)} UTC ({length}): a fault in that time would not be seen here"
    if rest := gaps[GAPS_SHOWN:]:
        total = words.stretch(sum(gap.end - gap.start for gap in rest))
        yield f"no coverage in {words.number(len(rest), 'shorter gap')} ({total} in all; --format json has each)"


def _capped(lines: list[str], noun: str) -> list[str]:
    if len(lines) <= NOTES_SHOWN:
        return lines
    return [*lines[:NOTES_SHOWN], f"... and {words.number(len(lines) - NOTES_SHOWN, 'more ' + noun)} (--format json has all)"]


def _wrapped(note: str, style: str) -> str:
    if style == "github":
        return note
    return wrapped(note, text_columns())
