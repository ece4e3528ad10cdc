"""The event raster: one lane a class over calendar time, configuration epochs as shades, hatching where nobody looked, mitigations above."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.report import words
from triage.report.postmortem.axis import share, time_ticks
from triage.report.postmortem.given import Mitigation
from triage.report.postmortem.parts import Card, Lane, Postmortem
from triage.report.postmortem.say import Say
from triage.report.postmortem.svg import MANY, Plot, across, anchored, box, drawing, label, line, mark, tag, wide

HEAD, LANE, FOOT, MEASURE = 20, 40, 26, 36
EPOCHS_NAMED = 14
TITLE = "When each kind came"
MEASURES_SHOWN = 12
HINT = "Hover or use the arrow keys for an incident; click or Enter for its card."


def raster(of: Postmortem, mitigations: Sequence[Mitigation], say: Say) -> Plot:
    """Calendar time across. Needs at least one dated incident to be worth a look; draws an empty calendar otherwise."""
    shown = [lane for lane in of.lanes if lane.count]
    told = mitigations[:MEASURES_SHOWN]
    top = HEAD + MEASURE * len(told) + (8 if told else 0)
    height = top + LANE * max(1, len(shown)) + FOOT
    inside = [_defs(), *_epochs(of, height - FOOT), *_gaps(of, height - FOOT), *_axis(of, height), *_measures(of, told, say)]
    first = True
    for number, lane in enumerate(shown):
        y = top + LANE * number
        named = f"{lane.name} · {lane.count:,}"
        inside += [line("0", y + LANE - 4, "100%", y + LANE - 4, "rule"), label(across(0), y + 11, named, f"lane k{lane.lane}")]
        mine = [c for c in of.cards if c.lane == lane.lane and c.at is not None]
        events = (_event(c, of, y + 16, first=first and c is mine[0]) for c in mine)
        inside.append(tag("g", *events, transform="translate(-2 0)", class_="many" if len(mine) > MANY else None))
        first = first and not mine
    return Plot(
        name="raster", title=TITLE, says=_says(of), svg=drawing("raster", TITLE, height, inside), key=_key(of, mitigations),
        hint=HINT if of.cards else "",
        head=("class", "incidents", "first", "last", "days with one"), rows=tuple(_rows(of)),
    )  # fmt: skip


def _event(card: Card, of: Postmortem, y: float, *, first: bool) -> str:
    return mark(card, tag("rect", x=across(share(card.at or 0.0, of.start, of.end)), y=f"{y:g}", width=4, height=17, rx=1.5), first=first)


def _defs() -> str:
    stripe = tag("path", d="M0 6L6 0M-1 1L1 -1M5 7L7 5", class_="stripe")
    return tag("defs", tag("pattern", stripe, id="hatch", width=6, height=6, patternUnits="userSpaceOnUse"))


def _epochs(of: Postmortem, bottom: float) -> Iterator[str]:
    for number, epoch in enumerate(of.epochs):
        low, high = share(epoch.start, of.start, of.end), share(epoch.end, of.start, of.end)
        kind = "unknown" if not epoch.observed else "shade" if number % 2 else "plain"
        told = f"{epoch.name}: {epoch.engine}, {words.number(epoch.boots, 'boot')} from {epoch.when}"
        yield box(across(low), 0, wide(high - low), bottom, f"epoch {kind}", told + ("" if epoch.observed else ", configuration not observed"))
        if 1 < len(of.epochs) <= EPOCHS_NAMED and (high - low > 0.05 or not number):
            yield label(across(low), 13, f" {epoch.name}", "small")


def _gaps(of: Postmortem, bottom: float) -> Iterator[str]:
    for gap in of.gaps:
        low, high = share(gap.start, of.start, of.end), share(gap.end, of.start, of.end)
        told = f"no coverage {words.minute(gap.start)} to {words.minute(gap.end)} UTC ({words.stretch(gap.end - gap.start)}, {gap.what})"
        yield box(across(low), 0, wide(high - low), bottom, "gap", told)


def _axis(of: Postmortem, height: float) -> Iterator[str]:
    for number, (at, text) in enumerate(time_ticks(of.start, of.end)):
        place = share(at, of.start, of.end)
        yield line(across(place), HEAD, across(place), height - FOOT, "grid")
        yield label(across(place), height - 8, text, "tick minor" if number % 2 else "tick", anchored(place))


def _measures(of: Postmortem, told: Sequence[Mitigation], say: Say) -> Iterator[str]:
    for number, entry in enumerate(told):
        y = HEAD + MEASURE * number + 22
        steps = [("△", entry.claimed, "claimed"), ("▲", entry.since, "in effect"), ("✕", entry.refuted, "refuted"), ("▫", entry.until, "ended")]
        placed = [(symbol, at, what) for symbol, at, what in steps if at is not None]
        begun = min((at for _, at, _ in placed), default=of.start)
        ended = min(t for t in (entry.until, entry.refuted, of.end) if t is not None)
        yield line(across(share(begun, of.start, of.end)), y, across(share(ended, of.start, of.end)), y, "measure")
        for symbol, at, what in placed:
            if not of.start <= at <= of.end:
                continue  # at the edge it would tell another time
            here = label(across(share(at, of.start, of.end)), y + 4, symbol, f"step {what.replace(' ', '-')}", "middle")
            yield here.replace("</text>", tag("title", text=f"{say(entry.name, 60)}: {what} {words.minute(at)}") + "</text>")
        yield label(across(0), y - 11, f"{say(entry.name, 40)}: {say(entry.status, 40)}", "small strong")


def _key(of: Postmortem, mitigations: Sequence[Mitigation]) -> str:
    """What the signs mean that are there."""
    told = ["Shades: configuration epochs."] if len(of.epochs) > 1 else []
    told += ["Hatched: nobody looked."] if of.gaps else []
    told += ["△ claimed, ▲ in effect, ✕ refuted, ▫ ended."] if mitigations else []
    return " ".join(told)


def _says(of: Postmortem) -> str:
    faults = [lane for lane in of.lanes if lane.fault and lane.count]
    if not faults:
        return "No fault in this time."
    gaps = f" Nobody looked for {words.stretch(sum(g.end - g.start for g in of.gaps))}." if of.gaps else ""
    return f"{'; '.join(_kind(lane, of.cards) for lane in faults)}.{gaps}"


def _kind(lane: Lane, cards: Sequence[Card]) -> str:
    days = sorted(c.when[:10] for c in cards if c.lane == lane.lane and c.at is not None)
    times = "once" if lane.count == 1 else f"{lane.count:,} times"
    return f"{lane.name} {times}" + (f", {days[0]}" + (f" to {days[-1]}" if days[-1] != days[0] else "") if days else "")


def _rows(of: Postmortem) -> Iterator[tuple[str, ...]]:
    for lane in of.lanes:
        whens = sorted(c.when for c in of.cards if c.lane == lane.lane and c.at is not None)
        days = len({when[:10] for when in whens})
        yield lane.name, f"{lane.count:,}", whens[0] if whens else "-", whens[-1] if whens else "-", f"{days:,}"
