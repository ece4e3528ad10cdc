"""What a cron run has to tell: three lines an incident, and nothing where there is nothing new."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model import Verdict
from triage.report import words
from triage.report.counts import seen_at

MOST = 10
WIDTH = 160


def news(told: Sequence[tuple[Verdict, str]], *, where: str) -> str:
    """Three lines for each incident: what and when, the line that says so, where to read on.

    Each comes with the class that it was told with before (empty where it is new). `where` is the command that shows one, without the id.
    """
    lines = [line for verdict, before in told[:MOST] for line in _lines(verdict, before, where)]
    if len(told) > MOST:
        lines.append(f"... and {words.number(len(told) - MOST, 'more incident')}: triage history list")
    return "\n".join(lines)


def _lines(verdict: Verdict, before: str, where: str) -> list[str]:
    of = verdict.incident
    seen = seen_at(verdict)
    when = f"{words.minute(seen.earliest)} UTC" if seen else "at a time not known"
    named = f"~ {verdict.fault_class}" if verdict.by == "model" else verdict.fault_class
    what = f"{named} (told as {before} before)" if before else named
    facts = [f"on {words.clean(of.host or of.source, 80)}" if of.host or of.source else "", _death(verdict), _probe(verdict), _dump(verdict)]
    cited = f"{words.clean(verdict.root.place.file)}: {words.clean(verdict.root.text, WIDTH)}" if verdict.root else _silent(verdict)
    return [f"{when} {what}: " + ", ".join(fact for fact in facts if fact), f"  {cited}", f"  {where} {of.id}"]


def _death(verdict: Verdict) -> str:
    of = verdict.incident
    if of.time_to_death is not None:
        return f"dead {words.span(of.time_to_death)} after the fault"
    return "" if of.dead or of.recovered else "still going on"


def _probe(verdict: Verdict) -> str:
    outage = verdict.incident.outage
    if outage is None:
        return ""
    state = "" if outage.ended else " so far"
    return f"{words.number(outage.failed, 'failed probe')}{state}, {words.outage_words(outage)} first"


def _dump(verdict: Verdict) -> str:
    dump = verdict.incident.dump
    named = sorted({s.rank for s in dump.suspects if s.rank >= 0}) if dump else []
    return f"dumps point at rank {', '.join(map(str, named))}" if named else ""


def _silent(verdict: Verdict) -> str:
    model = words.by_model(verdict)
    if model:
        return f"{model}: no line proves it"
    if not verdict.incident.events and verdict.incident.boot is None:
        return "no log of its engine was read, so nothing says why"
    return verdict.missing[0] if verdict.missing else "no line says why"
