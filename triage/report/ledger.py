"""How the ledger is shown: a table with one row a mitigation, and below it what each status rests on, what does not count, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.ledger.baseline import Before
from triage.ledger.entry import Entry
from triage.ledger.evidence import Death, Evidence
from triage.ledger.silence import ALPHA, LEAST, LEVEL, bits, clean_chance, conditional_chance, grade, quiet_needed
from triage.ledger.standing import Progress, Standing
from triage.ledger.stretches import total
from triage.model import Seconds
from triage.report import words
from triage.report.fitting import fitted_table, text_columns, wrapped
from triage.report.odds import evidence as e_value_words

DAY: Seconds = 86400.0
HEADINGS = ("mitigation", "class", "claim", "status", "quiet", "intervals")
GIVE = (("class", 15), ("mitigation", 20), ("claim", 0), ("class", 0), ("mitigation", 12))
WATCHING = "unverified, watching cadence"


def ledger_table(standings: Sequence[Standing], evidence: Evidence, *, style: str = "simple", journal: str = "") -> str:
    """The whole ledger as text; `style` is a tabulate format, `journal` the line that says which journal it was."""
    if not standings:
        return "no mitigation was registered: triage mitigation add --help"
    table = fitted_table(HEADINGS, [_row(s) for s in standings], style, GIVE)
    parts = [_heading(evidence), "", table, *(part for s in standings for part in ("", *_told(s, style)))]
    below = [*_merged(standings, evidence), *_limits(evidence), journal]
    return "\n".join([*parts, "", *(_line(text, style) for text in below if text)])


def status_words(of: Standing) -> str:
    """A status as people read it; never more than the evidence says."""
    if of.status == "unverified":
        return WATCHING
    if of.status == "supported":
        return "supported (still falsifiable)"
    return f"refuted by {of.refuted_by.id}" if of.refuted_by is not None else of.status


def refutation(of: Standing, journal: str) -> str:
    """For a mail: what was refuted by which incident, what it still costs, and where to read on; two lines."""
    entry, death = of.mitigation.entry, of.refuted_by
    by = f" by {death.id} ({death.fault_class}, {words.minute(death.at)} UTC)" if death is not None else ""
    cost = f"; cost: {words.clean(entry.cost.text, 80)}" if entry.cost.text else ""
    return f"mitigation {words.clean(of.name)} is refuted{by}: it was to {_infinitive(of)} {entry.fault_class}{cost}\n  triage ledger{journal}"


def _infinitive(of: Standing) -> str:
    claim = of.mitigation.entry.claim
    return "eliminate" if claim.kind == "eliminates" else f"reduce to {claim.ratio:g} or less the rate of"


def _heading(evidence: Evidence) -> str:
    if evidence.start is None or evidence.until is None:
        return "no evidence: nothing was read, and the history is empty"
    return f"evidence {words.minutes(evidence.start, evidence.until)} UTC, {words.number(len(evidence.lives), 'boot')} that served"


def _row(of: Standing) -> tuple[str, ...]:
    entry, now = of.mitigation.entry, of.progress
    quiet = days(now.clean) if now else days(total(of.accrual.since)) if of.accrual.since else "-"
    return words.clean(of.name), words.clean(entry.fault_class), str(entry.claim), status_words(of), quiet, _intervals(of) if now else "-"


def _intervals(of: Standing) -> str:
    now, before = of.progress, of.before
    if now is None or before is None:
        return "-"
    needed = f"{now.needed * before.share * before.rate:.1f}" if now.needed is not None else "?"
    return f"{now.intervals:.1f} of {needed}" if of.status in ("unverified", "supported", "paused") else f"{now.intervals:.1f}"


def days(seconds: Seconds) -> str:
    return f"{seconds / DAY:.1f} d" if seconds >= DAY / 10 else words.stretch(seconds)


def _told(of: Standing, style: str) -> Iterator[str]:
    lines = [*_claimed(of), *_verdict(of), *_watched(of), *_rate(of), *_not_counted(of), *_after(of)]
    name = words.clean(of.name)
    yield f"**{name}**: {status_words(of)}\n" if style == "github" else f"{name}: {status_words(of)}"
    for title, text in lines:
        yield f"- {title}: {_inert(text)}" if style == "github" else wrapped(f"  {title:<12}  {text}", text_columns())


def _claimed(of: Standing) -> Iterator[tuple[str, str]]:
    entry = of.mitigation.entry
    where = f" on {words.clean(', '.join(entry.hosts))}" if entry.hosts else ""
    yield "claim", f"{entry.claim} {entry.fault_class}{where} by {words.clean(' and '.join(entry.changes), 200)}"
    yield "falsifier", f"{falsifier_words(entry)}; frozen {words.minute(of.mitigation.registered)} UTC, {of.mitigation.hash[:12]}"
    if entry.cost.text:
        change = f" ({entry.cost.change * 100:+.0f} %, as stated)" if entry.cost.change is not None else ""
        yield "cost", words.clean(entry.cost.text, 120) + change
    for reference in entry.references:
        yield "reference", words.clean(f"{reference.url}" + (f" ({reference.status})" if reference.status else ""), 200)


def falsifier_words(entry: Entry) -> str:
    """The observation that would refute it, in words."""
    own = entry.falsifier
    what = {
        "class": f"one {' or '.join(own.classes)}", "text": f'an incident whose lines say "{words.clean(own.text, 80)}"',
        "death": "any engine death that nobody asked for", "literal": "any end of the engine, also one that somebody asked for",
    }[own.kind]  # fmt: skip
    after = f" after {words.minute(own.after)} UTC" if own.after is not None else ""
    return what + after + (f" on {words.clean(', '.join(own.hosts))}" if own.hosts else "")


def _verdict(of: Standing) -> Iterator[tuple[str, str]]:
    entry = of.mitigation.entry
    if of.refuted_by is not None:
        yield "refuted", f"{words.minute(of.refuted_by.at)} UTC by incident {_cited(of, of.refuted_by)}" + (f"; {of.reason}" if of.reason else "")
        if entry.claim.kind == "eliminates" and of.before and of.recurrences and of.accrual.since:
            yield "reduction", _reduction(of, of.before)
    elif of.status == "confounded" and of.accrual.confounded is not None:
        yield of.status, f"{words.minute(of.accrual.confounded[0])} UTC: {words.clean(of.reason, 300)}; nothing after that counts: register it anew"
    elif of.reason and of.status != "withdrawn":
        yield of.status, words.clean(of.reason, 300)
    if of.status in ("unverified", "supported") and not of.observable:
        yield "mechanism", "cannot be observed: no boot line tells whether the change is in place; the clock runs on somebody's word"
    if of.spared:
        came, last = words.number(len(of.spared), "recurrence"), _cited(of, of.spared[-1])
        yield "it came", f"{came} in boots that carry it, as the falsifier does not name it (last {last}): not refuted, nor ever supported"
    if of.status in ("unverified", "withdrawn") and of.late:
        yield "evidence", "begins after it was in force: what came before is not seen, and may refute it; so it is not called supported by this"
    if of.unnamed:
        nameless = words.number(of.unnamed, "death")
        yield "unnamed", f"{nameless} in this time that no rule could name: each may be the one, so it is not called supported before they are named"
    if of.jointly:
        with_ = ", ".join(map(words.clean, of.jointly))
        yield "jointly", f"with {with_}, from the same boot on: one evidence for all of them; take the costliest out first"
    if of.earlier and not of.recurrences:
        came = words.number(len(of.earlier), "recurrence")
        yield "earlier", f"{came} in boots that carried it, before it was registered (last {_cited(of, of.earlier[-1])})"


def _cited(of: Standing, death: Death) -> str:
    held = next((c.presence for c in of.accrual.lives if c.life.boot.id == death.boot), None)
    carries = ", whose lines show the change" if held == "holds" else ""
    return f"{death.id} ({death.fault_class}{f', boot {death.boot}{carries}' if death.boot else ''})"


def _reduction(of: Standing, before: Before) -> str:
    """What is left of the claim after a recurrence: fewer, perhaps."""
    own = of.mitigation.entry.fault_class
    seen, quiet = sum(d.fault_class == own for d in (*of.recurrences, *of.spared)), total(of.accrual.since)
    p = conditional_chance(before.events, before.seconds, seen, quiet)  # of its own class, as was counted before
    sign = "no sign of one" if p > ALPHA else "fewer than chance explains"
    return f"not excluded: {seen} in {days(quiet)} since, {before.events} in {days(before.seconds)} before (one-sided p {p:.2g}): {sign}"


def _watched(of: Standing) -> Iterator[tuple[str, str]]:
    now = of.progress
    if now is None:
        if of.accrual.carried and of.contradicted:
            yield "watched", "no rate to hold it against: what was stated is not what was seen"
        elif of.accrual.carried:
            yield "watched", "no rate to hold it against: no such death was seen without the change; state one with --rate 4/17d"
        return
    if of.status in ("proposed", "claimed", "void"):
        return
    yield "watched", _quiet(of, now)
    if of.status == "unverified" and not of.late and not (of.spared and not of.mitigation.entry.claim.ratio):
        yield "not before", _when(of, now)


def _quiet(of: Standing, now: Progress) -> str:
    chance = clean_chance(now.intervals)
    seen = len(of.recurrences) + len(of.spared)
    told = f"{days(now.clean)} = {now.intervals:.1f} fault intervals without it" if not seen or not of.mitigation.entry.claim.ratio else (
        f"{words.number(seen, 'recurrence')} in {days(now.clean)} = {now.intervals:.1f} fault intervals")  # fmt: skip
    if of.refuted_by is not None and of.mitigation.entry.claim.kind == "eliminates":
        return f"{told}, then the recurrence; an unchanged engine is as quiet {_in_a_hundred(chance)}"
    if seen and not of.mitigation.entry.claim.ratio:
        return f"{told}, then it came again"
    if seen:
        return f"{told} (e-value {e_value_words(now.e_value)}; {LEVEL:.0f} needed)"
    said = f"an unchanged engine is as quiet {_in_a_hundred(chance)}: {bits(now.intervals):.2g} bit, {grade(chance)}"
    return f"{told} (e-value {e_value_words(now.e_value)}; {LEVEL:.0f} needed); {said}"


def _in_a_hundred(chance: float) -> str:
    return f"{chance * 100:.0f} times in 100" if chance >= 0.0095 else f"{chance * 1000:.1f} times in 1,000"


def _when(of: Standing, now: Progress) -> str:
    if now.needed is None:
        return "can never be called supported by quiet alone: too few were seen before; it takes a forced test with a path that is witnessed"
    if now.earliest is None:
        return "no date: no evidence says what time it is"
    limit = f"longer than the {days(of.before.bar)} it was quiet by itself" if of.before and of.before.bar >= now.needed - 1 else ""
    told = f"{words.minute(now.earliest)} UTC can it be called supported, if it stays quiet: {days(now.needed)} in all"
    return told + (f", {limit}" if limit else "")


def _rate(of: Standing) -> Iterator[tuple[str, str]]:
    before, given = of.before, of.mitigation.entry.baseline
    if of.contradicted and given is not None:
        told = f"{before.events if before else 0} in {days(total(of.accrual.before))} without the change"
        yield "stated", f"{given.events} in {days(given.seconds)}, where {told} were seen: that is fewer than chance explains, and it does not hold"
    if before is None or of.status == "proposed":
        return
    how = "as stated" if before.stated else "counted"
    yield "rate before", f"{before.events} in {days(before.seconds)}, {before.rate * DAY:.2f} a day ({how}); {_needs(before)}"
    if before.dispersion is not None and before.share < 0.9:
        yield "clustered", f"daily counts vary {before.dispersion:.1f} times as much as by chance: a quiet day counts for {before.share:.2f} of one"
    if before.quiet is not None:
        quiet = before.quiet
        on = f", on {', '.join(map(words.clean, quiet.stack))}" if quiet.stack else ""
        when = f"{words.minutes(quiet.start, quiet.end)}{on}"
        yield "quiet before", f"this stack has gone {days(quiet.seconds)} without it before with nothing changed ({when})"


def _needs(before: Before) -> str:
    needed = quiet_needed(before.events, before.seconds)
    if needed is None:
        return "no quiet time is enough"
    least = max(needed, LEAST / before.rate)
    return f"with so few before, {least * before.rate:.1f} fault intervals are needed, {days(least)}"


def _not_counted(of: Standing) -> Iterator[tuple[str, str]]:
    taken = [f"{days(seconds)} {reason}" for reason, seconds in of.accrual.left_out]
    if of.accrual.confounded is not None and of.status in ("supported", "paused"):
        at, what = of.accrual.confounded
        taken.append(f"everything after {words.minute(at)} UTC ({words.clean('; '.join(what), 160)})")
    if taken and of.status != "proposed":
        yield "not counted", ", ".join(taken)
    if of.others:
        yield "other deaths", ", ".join(f"{count} {kind}" for kind, count in of.others) + ": not what it is against, so they say nothing here"


def _after(of: Standing) -> Iterator[tuple[str, str]]:
    gone = of.mitigation.said("withdrawn")
    if gone is None:
        return
    reason = f" ({words.clean(gone.reason, 120)})" if gone.reason else ""
    yield "withdrawn", f"{words.minute(gone.since)} UTC{reason}"
    control = of.control
    if control is not None:
        came = f"it came back after {days(control.first_after)}" if control.first_after is not None else "quiet without it, too"
        yield "control", f"{words.number(control.events, 'recurrence')} in {days(control.seconds)} without it: {came}"


def _merged(standings: Sequence[Standing], evidence: Evidence) -> Iterator[str]:
    """What merging all classes into one crash would make of the wait."""
    told = set()
    for of in standings:
        before, own = of.before, of.mitigation.entry.fault_class
        if before is None or before.stated or own in told or of.status in ("proposed", "claimed"):
            continue
        told.add(own)
        whole = [d for d in evidence.deaths if d.fault and d.phase != "boot" and d.within(of.accrual.before)]
        one, all_ = quiet_needed(before.events, before.seconds), quiet_needed(len(whole), before.seconds)
        if one and all_ and len(whole) > before.events:
            yield (
                f"as one class ({len(whole)} deaths in {days(before.seconds)}) you would need {days(all_)} of quiet; {own} alone ({before.events}) "
                f"needs {days(one)}: merged, a change is credited or blamed for faults that it is not against"
            )  # fmt: skip


def _limits(evidence: Evidence) -> Iterator[str]:
    if evidence.idle is None:
        yield "idle time is not subtracted: the history keeps no progress lines; give the logs to have it taken off"


def _line(text: str, style: str) -> str:
    return f"- {_inert(text)}" if style == "github" else wrapped(text, text_columns())


def _inert(text: str) -> str:
    """Text in Markdown that no page takes for markup of its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;")
