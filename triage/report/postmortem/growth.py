"""Incidents added up over engine-hours: a straight line is a constant rate, a bend is a change; the band says how straight chance is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.report.postmortem.axis import count_ticks, share
from triage.report.postmortem.exposure import Clock, constant_rate_band
from triage.report.postmortem.parts import Card, Postmortem
from triage.report.postmortem.svg import INSET, Plot, across, anchored, drawing, label, line, mark, tag

TOP, TALL, FOOT = 14, 230, 26
PLACES = 120
KEY = "Line: all faults. Band: where a constant rate would have it in 95 of 100 cases at any one place, given the total."


def growth(of: Postmortem) -> Plot | None:
    """Engine-hours across, incidents up. None without engine-hours or with fewer than two dated faults."""
    clock = Clock(of.lives)
    faults = [c for c in of.cards if c.fault and c.at is not None]
    if clock.total <= 0 or len(faults) < 2:
        return None
    hours = [clock.at(c.at or 0.0) for c in faults]
    bands = [constant_rate_band(len(faults), n / PLACES) for n in range(PLACES + 1)]
    points = [(hour / clock.total, number) for number, hour in enumerate(hours, 1)]
    inside = [*_grid(clock.total, len(faults)), _shape(bands, points, len(faults)), *_marks(faults, points)]
    title, height = f"Incidents over {of.exposure}", TOP + TALL + FOOT
    return Plot(
        name="growth", title=title, says=_says(clock.total, of.exposure, points, bands), svg=drawing("growth", title, height, inside), key=KEY,
        head=(of.exposure, "incidents", "a constant rate (95 %)"), rows=tuple(_rows(clock.total, points, bands)),
    )  # fmt: skip


def _y(count: float, total: int) -> float:
    return TOP + TALL * (1 - count / total)


def _grid(hours: float, total: int) -> Iterator[str]:
    for count in count_ticks(total):
        y = _y(count, total)
        yield line("0", y, "100%", y, "grid")
        yield label(across(0), y - 4, f"{count:g}", "small")
    for number, hour in enumerate(count_ticks(hours, 6)):
        place = share(hour, 0, hours)
        yield label(across(place), TOP + TALL + 18, f"{hour:,.0f} h", "tick minor" if number % 2 else "tick", anchored(place))


def _shape(bands: Sequence[tuple[int, int]], points: Sequence[tuple[float, int]], total: int) -> str:
    """Band and step line, drawn in a box of 1000 by 1000 that stretches to the plot."""
    upper = "".join(f"H{1000 * n / PLACES:.0f}V{1000 * (1 - high / total):.0f}" for n, (_, high) in enumerate(bands))
    lower = "".join(f"V{1000 * (1 - low / total):.0f}H{1000 * n / PLACES:.0f}" for n, (low, _) in reversed(list(enumerate(bands))))
    steps = "".join(f"H{1000 * at:.1f}V{1000 * (1 - count / total):.1f}" for at, count in points)
    return tag(
        "svg",
        tag("path", d=f"M0 1000{upper}{lower}Z", class_="band"),
        tag("path", d=f"M0 1000{steps}H1000", class_="curve"),
        x=f"{INSET}%", y=TOP, width=f"{100 - 2 * INSET}%", height=TALL, viewBox="0 0 1000 1000", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def _marks(faults: Sequence[Card], points: Sequence[tuple[float, int]]) -> Iterator[str]:
    for number, (card, (at, count)) in enumerate(zip(faults, points, strict=True)):
        yield mark(card, tag("circle", cx=across(at), cy=f"{_y(count, len(faults)):.1f}", r=4), first=not number)


def _outside(points: Sequence[tuple[float, int]], bands: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The places (number, count there) at which the curve is outside the band."""
    counts = [sum(at <= n / PLACES for at, _ in points) for n in range(PLACES + 1)]
    return [(n, count) for n, count in enumerate(counts) if not bands[n][0] <= count <= bands[n][1]]


def _says(hours: float, unit: str, points: Sequence[tuple[float, int]], bands: Sequence[tuple[int, int]]) -> str:
    total, left = len(points), _outside(points, bands)
    rate = f"{total:,} faults in {hours:,.0f} {unit}, one in {hours / total:,.1f} h."
    if not left:
        return f"{rate} The line stays within the band: a constant rate would look like this, and nothing here shows that it changed."
    place, count = max(left, key=lambda found: max(bands[found[0]][0] - found[1], found[1] - bands[found[0]][1]))
    low, high = bands[place]
    side = "more" if count > high else "fewer"
    return (
        f"{rate} The line leaves the band, farthest after {hours * place / PLACES:,.0f} h: {count:,} by then, {side} than the {low:,} to {high:,} of"
        " a constant rate. Somewhere along the line chance alone does that more often than in 5 of 100 cases."
    )


def _rows(hours: float, points: Sequence[tuple[float, int]], bands: Sequence[tuple[int, int]]) -> Iterator[tuple[str, ...]]:
    for n in range(0, PLACES + 1, PLACES // 10):
        low, high = bands[n]
        yield f"{hours * n / PLACES:,.0f}", f"{sum(at <= n / PLACES for at, _ in points):,}", f"{low:,} to {high:,}"
