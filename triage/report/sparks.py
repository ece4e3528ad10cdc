"""The event raster for a terminal: one line of bars a class over the time of the table, one column a stretch of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.model import Findings, Seconds
from triage.report import words
from triage.report.counts import rows, seen_at

WIDE = 100  # columns of a terminal from which on there is room for it
BARS = "▁▂▃▄▅▆▇█"
NONE, UNSEEN = "·", "░"
STRETCHES: tuple[Seconds, ...] = (900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400)
LABEL = 24


def sparks(findings: Findings, width: int) -> str:
    """The raster in `width` columns; nothing where no incident has a date."""
    dated = {name: times for name in _classes(findings) if (times := _times(findings, name))}
    if not dated:
        return ""
    start, end = _window(findings, [at for times in dated.values() for at in times])
    label = min(LABEL, max(map(len, dated)))
    stretch = _stretch(end - start, width - label - 12)
    first = start // stretch * stretch
    count = int((end - first) // stretch) + 1
    binned = {name: _binned(times, first, stretch, count) for name, times in dated.items()}
    most = max(max(bins) for bins in binned.values())
    unseen = _unseen(findings, first, stretch, count)
    lines = [f"{name[:label]:<{label}}  {_bars(bins, unseen, most)}  {sum(bins):,}" for name, bins in binned.items()]
    return "\n".join([*lines, f"{'':<{label}}  {_axis(first, end, count)}", _legend(stretch, most, any(unseen))])


def _classes(findings: Findings) -> list[str]:
    return list(dict.fromkeys(row.fault_class for row in rows(findings) if row.count))


def _times(findings: Findings, name: str) -> list[Seconds]:
    return [at.earliest for v in findings.verdicts if v.fault_class == name and (at := seen_at(v))]


def _window(findings: Findings, times: Sequence[Seconds]) -> tuple[Seconds, Seconds]:
    seen = findings.coverage
    return min(*times, *(t for t in (seen.start,) if t is not None), times[0]), max(*times, *(t for t in (seen.end,) if t is not None), times[0])


def _stretch(length: Seconds, room: int) -> Seconds:
    return next((stretch for stretch in STRETCHES if length / stretch + 2 <= room), max(STRETCHES[-1], length / max(1, room - 2)))


def _binned(times: Sequence[Seconds], first: Seconds, stretch: Seconds, count: int) -> list[int]:
    bins = [0] * count
    for at in times:
        bins[min(count - 1, int((at - first) // stretch))] += 1
    return bins


def _unseen(findings: Findings, first: Seconds, stretch: Seconds, count: int) -> list[bool]:
    """Which columns lie wholly in time that nobody looked at."""
    gaps = findings.coverage.gaps
    return [any(gap.start <= first + n * stretch and gap.end >= first + (n + 1) * stretch for gap in gaps) for n in range(count)]


def _bars(bins: Sequence[int], unseen: Sequence[bool], most: int) -> str:
    return "".join(_bar(count, most) if count else UNSEEN if dark else NONE for count, dark in zip(bins, unseen, strict=True))


def _bar(count: int, most: int) -> str:
    """Full height where one is the most: a single incident must not look small."""
    return BARS[-1] if most == 1 else BARS[round((count - 1) / (most - 1) * (len(BARS) - 1))]


def _axis(first: Seconds, end: Seconds, count: int) -> str:
    begun, ended = (words.minute(at)[5:10] for at in (first, end))
    return f"{begun}{ended:>{count - len(begun)}}" if count > len(begun) + len(ended) + 1 else begun


def _legend(stretch: Seconds, most: int, dark: bool) -> str:
    return ", ".join(_told(stretch, most, dark))


def _told(stretch: Seconds, most: int, dark: bool) -> Iterator[str]:
    yield f"one column is {words.stretch(stretch)}"
    yield f"{BARS[-1]} is {most:,}" if most == 1 else f"{BARS[0]} is 1, {BARS[-1]} is {most:,}"
    if dark:
        yield f"{UNSEEN} nobody looked"
