"""What `triage rate` prints: one row a class, and below it what the figures mean and what they do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from triage.ledger.evidence import Evidence
from triage.ledger.frequency import ALL, Frequency
from triage.ledger.silence import slowed
from triage.model import Seconds
from triage.report import inert, words
from triage.report.fitting import fitted_table, text_columns, wrapped
from triage.report.odds import figure, span

DAY: Seconds = 86400.0
HEADINGS = ("class", "n", "a day", "95 % interval", "var/mean", "trend", "quiet for 95 %", "last")
GIVE = (("last", 0), ("trend", 0), ("class", 16), ("var/mean", 0))
SIGNIFICANT = 0.05


def rate_table(found: Sequence[Frequency], evidence: Evidence, *, style: str = "simple") -> str:
    """The table and the sentences below it; `style` is a tabulate format."""
    if evidence.start is None or evidence.until is None or not evidence.lives:
        return "no boot that served: without exposure there is no rate (probes alone show outages: triage outages)"
    seconds = found[0].seconds if found else 0.0
    head = f"{words.minutes(evidence.start, evidence.until)} UTC"
    if not found:
        return f"{head}: no fault"
    head += f", {span(seconds)} of engine time served and seen"
    table = fitted_table(HEADINGS, [_row(f) for f in found], style, GIVE, right=("n", "a day"))
    bullet = "- " if style == "github" else ""
    return "\n".join([head, "", table, "", *(_line(bullet + note, style) for note in _notes(found, evidence))])


def as_json(found: Sequence[Frequency], evidence: Evidence) -> str:
    """One document; rates in events a second, times in seconds or ISO 8601."""
    told: dict[str, Any] = {
        "schema": "triage/1",
        "evidence": {
            "from": words.iso(evidence.start) if evidence.start is not None else None,
            "to": words.iso(evidence.until) if evidence.until is not None else None,
            "idle_known": evidence.idle is not None,
        },
        "rates": [{**_renamed(f), "last": words.iso(f.last) if f.last is not None else None} for f in found],
    }
    return inert.as_json(told)


def _renamed(of: Frequency) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(of)
    return {"class": told.pop("fault_class"), **told}


def _row(of: Frequency) -> tuple[str, ...]:
    low_high = f"{of.interval.low * DAY:.2f} to {of.interval.high * DAY:.2f}" if of.interval else "-"
    rate = f"{of.interval.rate * DAY:.2f}" if of.interval else "-"
    clustered = f"{of.clustering.dispersion:.1f}" if of.clustering else "-"
    needed = span(of.needed) if of.needed is not None else "-"
    last = words.minute(of.last)[5:] if of.last is not None else "-"
    return words.clean(of.fault_class), str(of.events), rate, low_high, clustered, _trend(of), needed, last


def _trend(of: Frequency) -> str:
    if of.trend is None:
        return "-"
    if of.trend.p > SIGNIFICANT:
        return "none shown"
    return "more often" if of.trend.u > 0 else "less often"


def _notes(found: Sequence[Frequency], evidence: Evidence) -> Iterator[str]:
    yield "quiet for 95 %: how long it must stay away after a change to tell, by the conditional test; var/mean: of the counts a day, 1 by chance"
    one = next((f for f in found if f.fault_class == ALL), None)
    rarest = next((f for f in reversed(found) if f.fault_class != ALL and f.needed is not None), None)
    if one is not None and rarest is not None and one.needed is not None and rarest.needed is not None:
        yield (
            f"as one class you would need {span(one.needed)} of quiet; {rarest.fault_class} alone needs {span(rarest.needed)}: merged, a change is "
            "credited or blamed for faults that it is not against"
        )  # fmt: skip
    for of in found:
        if of.clustering is not None and of.clustering.p <= SIGNIFICANT and of.clustering.dispersion > 1:
            times = 1 / slowed(of.clustering.dispersion)
            yield (
                f"{of.fault_class}: counts are clustered (variance/mean {of.clustering.dispersion:.1f}, p {figure(of.clustering.p)}): the "
                f"interval is too narrow, and the quiet needed is {times:.1f} times as long"
            )  # fmt: skip
        if of.trend is not None and of.trend.p <= SIGNIFICANT:
            yield f"{of.fault_class}: {_trend(of)} with time (Laplace p {figure(of.trend.p)}): one rate does not describe it"
    outside = sum(f.outside for f in found if f.fault_class != ALL)
    engines = len({life.axis for life in evidence.lives})
    if engines > 1:
        yield f"{engines} engines: their times are added, so a rate is that of one engine"
    if outside:
        yield f"{words.number(outside, 'fault')} not counted: while starting, or when no boot could be seen serving"
    if evidence.idle is None:
        yield "idle time is not subtracted: the history keeps no progress lines; give the logs to have it taken off"
    elif evidence.idle:
        yield f"{span(sum(b - a for a, b in evidence.idle))} with nothing to do taken off"


def _line(text: str, style: str) -> str:
    return text if style == "github" else wrapped(text, text_columns())
