"""The third question: what does it cost? The stated figure, and the engine's own throughput with and without the change, like with like.

Only whole intervals count: lines at whose end as many requests ran as at the end of the one before. Tokens a second of each request are
compared within bands of running requests and of prefill, between boots that differ in nothing else that their logs tell; where there is
enough work with little prefill, that alone is decode and the rest is left out. Lines of one stretch of work are alike, and so are stretches of
one boot: the interval is the wider of a bootstrap over stretches and Student's t over boots.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

import msgspec

from triage.ledger.answers import COST, Answer, Case, as_shown, carries
from triage.ledger.booted import Booted
from triage.ledger.entry import Cost
from triage.ledger.presence import Presence, differences
from triage.model import Event
from triage.parsers.throughput import Pace

LONGEST_GAP = 60.0  # seconds between two lines of one stretch of work, at most
FEWEST = 3  # stretches of work on each side, below which nothing is said
RESAMPLES = 2000
LEVEL = 0.95
AGREES = 0.01  # of the ratio: what a figure stated in three digits may be off
THROUGHPUT = ("Avg generation throughput", "gen throughput")
PREFILL_BANDS = (200.0, 2000.0)  # tokens a second read in

Band = tuple[int, int]  # of running requests (its lower bound) and of prefill


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Whole intervals of one band in a row: the mean of tokens a second of each request, how many lines, and the first of them."""

    band: Band
    mean: float
    lines: int
    first: Pace


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """With the change against without it: the ratio with its interval, from how many lines, and the band with the most to compare.

    `boots`: how many of each side had such work.
    """

    ratio: float
    low: float
    high: float
    lines: tuple[int, int]
    stretches: tuple[int, int]
    boots: tuple[int, int]
    bands: int
    shown: Band
    before: float
    after: float
    examples: tuple[Pace, Pace]


def cost_answer(case: Case, paces: Mapping[str, Sequence[Pace]]) -> Answer:
    """The stated cost held against what the logs show. `paces`: the lines of each source, by its name."""
    stated = case.entry.cost
    groups = sides(case)
    measured = measure([_work(one, paces) for one in groups[0]], [_work(one, paces) for one in groups[1]])
    if measured is None:
        return Answer(question=COST, verdict="cannot be observed", says=(*_stated(stated), *_why_not(case, groups)))
    says, lines = tuple(_says(stated, measured, groups)), tuple(_lines(measured))
    return Answer(question=COST, verdict=_verdict(stated, measured), says=says, lines=lines, about=THROUGHPUT)


def sides(case: Case) -> tuple[list[Booted], list[Booted]]:
    """The boots without the change and those with it that differ in nothing else that both tell."""
    having = [one for one in case.boots if carries(case.entry, one) == "holds"]
    if not having:
        return [], []
    lacking = [one for one in case.boots if carries(case.entry, one) == "fails"]
    first = as_shown(having[0])
    alike = [one for one in lacking if not differences(as_shown(one), first, ignoring=case.entry.changes)]
    return alike, [one for one in having if not differences(as_shown(one), first, ignoring=case.entry.changes)]


def measure(without: Iterable[Sequence[Pace]], having: Iterable[Sequence[Pace]]) -> Measured | None:
    """The ratio of tokens a second of a request, having to without, over the bands that both have; None where none has enough work on both sides."""
    boots = [_by_band(paces) for paces in without], [_by_band(paces) for paces in having]
    one, other = _joined(boots[0]), _joined(boots[1])
    both = sorted(band for band in one if len(one[band]) >= FEWEST and len(other.get(band, ())) >= FEWEST)
    shared = [band for band in both if band[1] <= 0] or both
    if not shared:
        return None
    ratio = _log_ratio([(one[band], other[band]) for band in shared])
    drawn, worked = _interval(one, other, shared), [_levels(side, shared) for side in boots]
    off = _between(*worked)
    low, high = min(drawn[0], ratio - off), max(drawn[1], ratio + off)
    most = max(shared, key=lambda band: _weight(one[band], other[band]))  # the band that is shown, not the only one that counts
    used = [(one[band], other[band]) for band in shared]
    return Measured(
        ratio=math.exp(ratio), low=math.exp(low), high=math.exp(high), boots=(len(worked[0]), len(worked[1])),
        lines=(sum(s.lines for a, _ in used for s in a), sum(s.lines for _, b in used for s in b)),
        stretches=(sum(len(a) for a, _ in used), sum(len(b) for _, b in used)),
        bands=len(shared), shown=most, before=_mean(one[most]), after=_mean(other[most]), examples=(one[most][0].first, other[most][0].first),
    )  # fmt: skip


def stretches(paces: Sequence[Pace]) -> Iterator[Stretch]:
    """The stretches of whole intervals in the lines of one boot."""
    held: list[Pace] = []
    ordered = sorted(paces, key=lambda pace: (pace.stream, pace.at))
    for before, pace in pairwise(ordered):
        whole = before.stream == pace.stream and pace.at - before.at <= LONGEST_GAP and before.running == pace.running > 0 < pace.generation
        if held and (not whole or _band(held[-1]) != _band(pace)):
            yield _stretch(held)
            held = []
        if whole and before.generation > 0 and not pace.waiting:
            held.append(pace)
    if held:
        yield _stretch(held)


def _stretch(held: Sequence[Pace]) -> Stretch:
    mean = sum(pace.generation / pace.running for pace in held) / len(held)
    return Stretch(band=_band(held[0]), mean=mean, lines=len(held), first=held[0])


def _band(pace: Pace) -> Band:
    running = pace.running if pace.running <= 4 else 1 << (pace.running.bit_length() - 1)
    prefill = sum(pace.prompt >= bound for bound in PREFILL_BANDS) if pace.prompt is not None else -1
    return running, prefill


def _by_band(paces: Sequence[Pace]) -> dict[Band, list[Stretch]]:
    found: dict[Band, list[Stretch]] = defaultdict(list)
    for stretch in stretches(paces):
        found[stretch.band].append(stretch)
    return found


def _joined(boots: Iterable[Mapping[Band, Sequence[Stretch]]]) -> dict[Band, list[Stretch]]:
    found: dict[Band, list[Stretch]] = defaultdict(list)
    for one in boots:
        for band, of in one.items():
            found[band] += of
    return found


def _mean(of: Sequence[Stretch]) -> float:
    return sum(s.mean * s.lines for s in of) / sum(s.lines for s in of)


def _weight(one: Sequence[Stretch], other: Sequence[Stretch]) -> float:
    return 1 / (1 / len(one) + 1 / len(other))


def _log_ratio(pairs: Sequence[tuple[Sequence[Stretch], Sequence[Stretch]]]) -> float:
    """The mean of the bands' log ratios, each by how much work it has on both sides."""
    weights = [_weight(one, other) for one, other in pairs]
    logs = [math.log(_mean(other) / _mean(one)) for one, other in pairs]
    return sum(w * log for w, log in zip(weights, logs, strict=True)) / sum(weights)


def _interval(one: Mapping[Band, Sequence[Stretch]], other: Mapping[Band, Sequence[Stretch]], shared: Sequence[Band]) -> tuple[float, float]:
    """Percentiles of the log ratio over resampled stretches; the same on every run."""
    chance = Random(0)
    made = sorted(
        _log_ratio([(chance.choices(one[b], k=len(one[b])), chance.choices(other[b], k=len(other[b]))) for b in shared]) for _ in range(RESAMPLES)
    )
    tail = round((1 - LEVEL) / 2 * RESAMPLES)
    return made[tail], made[-tail - 1]


def _levels(boots: Sequence[Mapping[Band, Sequence[Stretch]]], shared: Sequence[Band]) -> list[tuple[float, float]]:
    """How far each boot that worked is from its side, as a log ratio within bands, and how many lines tell that."""
    side = _joined(boots)
    told = []
    for one in boots:
        parts = [(sum(s.lines for s in one[band]), math.log(_mean(one[band]) / _mean(side[band]))) for band in shared if one.get(band)]
        if parts:
            lines = sum(count for count, _ in parts)
            told.append((sum(count * log for count, log in parts) / lines, float(lines)))
    return told


def _between(one: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]) -> float:
    """Half of the interval by what differs from boot to boot, pooled over both sides; nothing with one boot on each, which cannot show it."""
    freedom = len(one) + len(other) - 2
    if freedom < 1:
        return 0.0
    from scipy.special import stdtrit

    spread = sum(lines * off**2 * len(side) / sum(n for _, n in side) for side in (one, other) for off, lines in side) / freedom
    inverse = sum(sum(n * n for _, n in side) / sum(n for _, n in side) ** 2 for side in (one, other))  # of the boots that count on each side
    return float(stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(spread * inverse)


def _work(one: Booted, paces: Mapping[str, Sequence[Pace]]) -> list[Pace]:
    """The lines of one boot: of its source and stream, from READY to its end."""
    boot = one.boot
    start = boot.ready or boot.start
    end = boot.end.earliest if boot.end else math.inf
    after = start.earliest if start else -math.inf
    last = min(end, _last_line(one))
    return [pace for pace in paces.get(boot.source, ()) if pace.stream == boot.stream and after <= pace.at < last]


def _last_line(one: Booted) -> float:
    """Where the last event of the boot stands, when nothing ended it and another boot came."""
    if one.boot.end or not one.boot.ended_by.startswith("next boot"):
        return math.inf
    return max((event.at.latest for event in one.boot.events if event.at), default=math.inf)


def _verdict(stated: Cost, measured: Measured) -> Presence:
    claimed = 1 + (stated.change or 0.0)
    if measured.low - AGREES <= claimed <= measured.high + AGREES:
        return "holds"
    return "cannot be observed" if measured.boots == (1, 1) else "fails"


def _says(stated: Cost, measured: Measured, groups: tuple[list[Booted], list[Booted]]) -> Iterator[str]:
    each = " a request" if measured.shown[0] > 1 else ""
    words = f"{_band_words(measured.shown)}: {measured.before:.1f} tokens/s{each} without the change, {measured.after:.1f} with it"
    change = 100 * (measured.ratio - 1)
    low, high = 100 * (measured.low - 1), 100 * (measured.high - 1)
    yield f"measured {change:+.1f} % (95 % {low:+.1f} to {high:+.1f} %) of tokens a second; {words}"
    yield from _stated(stated)
    if (verdict := _verdict(stated, measured)) == "cannot be observed":
        yield "one boot without the change and one with it: whether two boots differ as much without any change cannot be told"
    elif verdict == "fails":
        yield "the stated figure is not what was measured" if stated.change is not None else "no figure was stated, and it is not free"
    elif stated.change is None:
        yield "no cost is seen beyond chance"
    bands = "1 band" if measured.bands == 1 else f"{measured.bands} bands"
    work = f"{measured.stretches[0]} and {measured.stretches[1]} stretches of work, {bands} of running requests and prefill"
    yield f"from {measured.lines[0]:,} and {measured.lines[1]:,} whole intervals in {work}"
    counted = f", of which {measured.boots[0]} and {measured.boots[1]} had such work" if measured.boots != (len(groups[0]), len(groups[1])) else ""
    yield f"boots without the change and with it, that differ in nothing else: {len(groups[0])} and {len(groups[1])}{counted}"


def _stated(stated: Cost) -> Iterator[str]:
    if stated.change is not None:
        yield f"stated: {stated.text} ({100 * stated.change:+.1f} %)"
    elif stated.text:
        yield f"stated: {stated.text}"
    else:
        yield "no cost was stated"


def _why_not(case: Case, groups: tuple[list[Booted], list[Booted]]) -> Iterator[str]:
    told = [carries(case.entry, one) for one in case.boots]
    if "holds" not in told:
        unknown = told.count("cannot be observed")
        yield "nothing measured: no boot is known to have had the change" + (f" ({unknown} do not show it either way)" if unknown else "")
    elif "fails" not in told:
        yield "nothing measured: no boot is known to have been without the change"
    elif not groups[0]:
        yield "nothing measured: every boot without the change differs from those with it in something else, too"
    else:
        yield f"nothing measured: no band of running requests has {FEWEST} stretches of work on both sides"


def _band_words(band: Band) -> str:
    running, prefill = band
    count = f"{running} running" if running <= 4 else f"{running} to {2 * running - 1} running"
    return f"{count}, {('little', 'some', 'much')[prefill]} prefill" if prefill >= 0 else count


def _lines(measured: Measured) -> Iterator[Event]:
    for pace in measured.examples:
        yield Event(kind="progress", rule="", place=pace.place, text=pace.text)
