"""Time to death on a log axis, with the timeouts that were in force: what died at once and what a timeout ended stand apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from triage.model import Seconds
from triage.report import words
from triage.report.postmortem.axis import length_ticks, log_share
from triage.report.postmortem.parts import Card, Lane, Postmortem
from triage.report.postmortem.svg import MANY, Plot, across, anchored, drawing, label, line, mark, tag

HEAD, LANE, FOOT = 34, 52, 26
LEAST: Seconds = 0.1
APART = 2.0  # a gap of this factor between two times to death separates groups
TIMEOUTS_SHOWN = 4
KEY = "Solid line: the timeout that ended a hang. Dashed: a timeout in force that nothing reached."


def deaths(of: Postmortem) -> Plot | None:
    """Lengths across, one lane a class. None where no time to death is known."""
    known = [c for c in of.cards if c.death_low is not None and c.fault]
    if not known:
        return None
    limits = _limits(known)
    low, high = _bounds(known, limits)
    lanes = [lane for lane in of.lanes if any(c.lane == lane.lane for c in known)]
    height = HEAD + LANE * len(lanes) + FOOT
    inside = [*_grid(low, high, height), *_timeouts(limits, low, high, height)]
    for number, lane in enumerate(lanes):
        inside += _lane(lane, [c for c in known if c.lane == lane.lane], HEAD + LANE * number, (low, high), first=not number)
    title = "How long it took to die"
    return Plot(
        name="deaths", title=title, says=_says(known, of), svg=drawing("deaths", title, height, inside), key=KEY if limits else "",
        head=("class", "known", "least", "median", "most", "at the timeout in force"), rows=tuple(_row(lane, known) for lane in lanes),
    )  # fmt: skip


def _middle(card: Card) -> Seconds:
    return ((card.death_low or 0.0) + (card.death_high or 0.0)) / 2


def _at_timeout(card: Card) -> bool:
    """Whether a death came when its timeout ran out: within two per cent, or two seconds."""
    return card.hang and card.timeout is not None and abs(_middle(card) - card.timeout) <= max(2.0, 0.02 * card.timeout)


def _limits(known: Sequence[Card]) -> list[tuple[Seconds, int]]:
    """Timeouts in force in seconds and how many hangs each of them ended; those that ended one first."""
    inforce = Counter(c.timeout for c in known if c.timeout)
    ended = Counter(c.timeout for c in known if _at_timeout(c))
    return [(t, ended[t]) for t, _ in sorted(inforce.items(), key=lambda item: (-ended[item[0]], -item[1]))[:TIMEOUTS_SHOWN]]


def _bounds(known: Sequence[Card], limits: Sequence[tuple[Seconds, int]]) -> tuple[Seconds, Seconds]:
    lows = [max(LEAST, c.death_low or 0.0) for c in known]
    highs = [c.death_high or 0.0 for c in known] + [t for t, _ in limits]
    return min(1.0, *lows) if min(lows) < 1 else min(10.0, *lows), max(1000.0, *highs) * 1.15


def _grid(low: Seconds, high: Seconds, height: float) -> Iterator[str]:
    for number, length in enumerate(length_ticks(low, high)):
        place = log_share(length, low, high)
        yield line(across(place), HEAD - 6, across(place), height - FOOT, "grid")
        yield label(across(place), height - 8, words.length(length), "tick minor" if number % 2 else "tick", anchored(place))


def _timeouts(limits: Sequence[tuple[Seconds, int]], low: Seconds, high: Seconds, height: float) -> Iterator[str]:
    for number, (timeout, ended) in enumerate(limits):
        place = log_share(timeout, low, high)
        yield line(across(place), 4, across(place), height - FOOT, "limit reached" if ended else "limit")
        told = f"{words.length(timeout)} timeout" + (f" ended {ended:,}" if ended else "")
        kind, y = ("small strong" if ended else "small"), 11 + 13 * (number % 2)
        yield tag("text", text=told, x=across(place), y=y, dx=-5, class_=kind, text_anchor="end", aria_hidden="true")


def _lane(lane: Lane, mine: Sequence[Card], y: float, bounds: tuple[Seconds, Seconds], *, first: bool) -> Iterator[str]:
    yield label(across(0), y + 11, f"{lane.name} · {len(mine):,}", f"lane k{lane.lane}")
    yield line("0", y + LANE - 4, "100%", y + LANE - 4, "rule")
    seen: Counter[int] = Counter()
    marks = []
    for number, card in enumerate(mine):
        middle = log_share(_middle(card), *bounds)
        seen[round(middle * 160)] += 1
        cy = y + 19 + 6 * ((seen[round(middle * 160)] - 1) % 5)
        marks.append(mark(card, *_shape(card, middle, cy, bounds), first=first and not number))
    yield tag("g", *marks, class_="many" if len(mine) > MANY else None)


def _shape(card: Card, middle: float, cy: float, bounds: tuple[Seconds, Seconds]) -> Iterator[str]:
    low, high = log_share(card.death_low or LEAST, *bounds), log_share(card.death_high or LEAST, *bounds)
    if high - low > 0.01:
        yield line(across(low), cy, across(high), cy, "span")
    yield tag("circle", cx=across(middle), cy=f"{cy:g}", r=4.5)


def groups(lengths: Sequence[Seconds]) -> list[list[Seconds]]:
    """Sorted lengths in groups that lie a factor of APART from one another."""
    made: list[list[Seconds]] = []
    for length in sorted(lengths):
        if made and length <= APART * max(made[-1][-1], LEAST):
            made[-1].append(length)
        else:
            made.append([length])
    return made


def _says(known: Sequence[Card], of: Postmortem) -> str:
    found = groups([_middle(c) for c in known])
    told = "; ".join(f"{len(group):,} died {_within(group)}" for group in found[:6])
    ended, unknown = sum(map(_at_timeout, known)), sum(c.fault for c in of.cards) - len(known)
    parts = [f"{told}."]
    parts += [f"Nothing died between {words.length(found[0][-1])} and {words.length(found[1][0])}."] if len(found) == 2 else []
    parts += [f"{words.number(ended, 'hang')} ended when the timeout in force ran out."] if ended else []
    parts += [f"Not known for {words.number(unknown, 'incident')}."] if unknown else []
    return " ".join(parts)


def _within(group: Sequence[Seconds]) -> str:
    low, high = words.length(group[0]), words.length(group[-1])
    return f"after {low}" if low == high else f"after {low} to {high}"


def _row(lane: Lane, known: Sequence[Card]) -> tuple[str, ...]:
    mine = [c for c in known if c.lane == lane.lane]
    lengths = sorted(_middle(c) for c in mine)
    at = sum(map(_at_timeout, mine))
    return (lane.name, f"{len(mine):,}", *(words.length(x) for x in (lengths[0], median(lengths), lengths[-1])), f"{at:,}")
