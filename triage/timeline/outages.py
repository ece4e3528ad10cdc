"""Collapses probes into outages, by the grammar of probe symbols, and says where probes are missing.

`..rrrrr..` is one outage, and so is `..tttttrrrr..`: a dead engine refuses again on every probe of its reboot, and a hang is
followed by one. The first failing symbol tells the kind. `?` is no coverage: it neither opens nor closes anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter, lt

from triage.model import Gap, Instant, Outage, Place, Probe, Seconds

GOOD = frozenset(".s")
NO_COVERAGE = "?"
PLACES_KEPT = 5
SHORTEST_QUIET: Seconds = 120.0

Span = tuple[Seconds, Seconds]


def outages(probes: Sequence[Probe], *, close_after: int = 1, source: str = "") -> list[Outage]:
    """The outages of every target, in order of their beginning.

    An outage closes with `close_after` good probes in a row, and ends with the first of them; 2 damps flapping. Copies of one probe
    count once. Without a good probe before it, the onset is all that is known: the first failing probe itself. A target of which no
    good probe is on record belongs to a log that writes failures only (kubelet events, a proxy's error log): there a silence of three
    usual intervals, and of two minutes at least, is the end.
    """
    found: list[Outage] = []
    for target, own in _by_target(probes).items():
        runs = _runs(own, max(1, close_after)) if any(p.symbol in GOOD for p in own) else _runs_of_failures(own)
        found.extend(_outage(target, source, *run) for run in runs)
    return sorted(found, key=lambda outage: (outage.began.earliest, outage.target))


def gaps(probes: Sequence[Probe], *, factor: float = 3.0) -> list[Gap]:
    """Where no target was probed: silences longer than `factor` times a target's usual interval, in order, without overlap.

    Probes that could not be made (`?`) are silence; where they stand before or after all others, they stretch the time looked at.
    """
    spans = covered(probes, factor=factor)
    return [Gap(end, start, "probes") for (_, end), (start, _) in pairwise(_with_edges(spans, probes, factor))]


def covered(probes: Sequence[Probe], *, factor: float = 3.0) -> list[Span]:
    """The stretches (seconds since the epoch) in which some target was probed at its usual interval, in order, without overlap."""
    spans = (span for own in _by_target(probes).values() for span in _covered_spans(own, factor))
    return _merged(spans)


def coverage(probes: Sequence[Probe], *, factor: float = 3.0) -> Seconds:
    """How long some target was probed, in seconds."""
    return sum(end - start for start, end in covered(probes, factor=factor))


def _by_target(probes: Sequence[Probe]) -> dict[str, list[Probe]]:
    """Each target's probes in order of their start, copies taken out. Probes with one start stay in the order given."""
    starts = [probe.at.earliest for probe in probes]
    if all(map(lt, starts, starts[1:])) and len({probe.target for probe in probes}) == 1:
        return {probes[0].target: list(probes)}
    targets: dict[str, list[Probe]] = {}
    told: dict[str, tuple[Seconds, set[tuple[str, str]]]] = {}
    for probe in sorted(probes, key=attrgetter("at.earliest")):
        own = targets.get(probe.target)
        if own is None:
            targets[probe.target] = [probe]
        elif own[-1].at.earliest != probe.at.earliest or _is_news(probe, own[-1], told):
            own.append(probe)
    return targets


def _is_news(probe: Probe, last: Probe, told: dict[str, tuple[Seconds, set[tuple[str, str]]]]) -> bool:
    """Whether a probe says something else than those before it with the same start, of which `last` is the last; it is noted in `told`."""
    when, said = told.get(probe.target, (None, set()))
    if when != last.at.earliest:
        said = {(last.symbol, last.text)}
    told[probe.target] = last.at.earliest, said
    before = len(said)
    said.add((probe.symbol, probe.text))
    return len(said) > before


Run = tuple[list[Probe], Probe | None, Instant | None]


def _runs(probes: Sequence[Probe], close_after: int) -> Iterator[Run]:
    """Each outage's probes from its first to its last failing one, the good probe before it, and when it ended."""
    run: list[Probe] = []
    before: Probe | None = None
    good: list[Probe] = []
    for probe in probes:
        if not run and probe.symbol in GOOD:
            before = probe
        elif probe.symbol in GOOD:
            good.append(probe)
            run.append(probe)
        elif run or probe.symbol != NO_COVERAGE:
            run.append(probe)
            good = good if probe.symbol == NO_COVERAGE else []
        if run and len(good) == close_after:
            yield _trimmed(run), before, good[0].at
            run, before, good = [], probe, []
    if run:
        yield _trimmed(run), before, None


def _runs_of_failures(probes: Sequence[Probe]) -> Iterator[Run]:
    """Outages of a target of which only failures are on record, parted by silence."""
    failing = [probe for probe in probes if probe.symbol != NO_COVERAGE]
    quiet = max(SHORTEST_QUIET, 3 * _interval(failing))
    run: list[Probe] = []
    for probe in failing:
        if run and probe.at.earliest - run[-1].at.latest > quiet:
            yield run, None, Instant(run[-1].at.latest, probe.at.earliest, "computed")
            run = []
        run.append(probe)
    if run:
        yield run, None, None


def _trimmed(run: list[Probe]) -> list[Probe]:
    """Without what follows the last failing probe."""
    last = max(index for index, probe in enumerate(run) if _fails(probe))
    return run[: last + 1]


def _fails(probe: Probe) -> bool:
    return probe.symbol not in GOOD and probe.symbol != NO_COVERAGE


def _outage(target: str, source: str, run: list[Probe], before: Probe | None, ended: Instant | None) -> Outage:
    failing = [probe for probe in run if _fails(probe)]
    return Outage(
        target=target,
        symbols="".join(probe.symbol for probe in run),
        began=failing[0].at,
        onset=_onset(before, failing[0]),
        ended=ended,
        source=source,
        places=_places(failing),
    )


def _onset(before: Probe | None, first: Probe) -> Instant:
    """From the end of the last good probe to the first failing one: to its start where it waited in vain, else to its end."""
    latest = first.at.earliest if first.symbol == "t" else first.at.latest
    earliest = first.at.earliest if before is None else before.at.latest
    return Instant(min(earliest, latest), latest, "computed")


def _places(failing: Iterable[Probe]) -> tuple[Place, ...]:
    places: list[Place] = []
    for probe in failing:
        if probe.place is not None:
            places.append(probe.place)
            if len(places) == PLACES_KEPT:
                break
    return tuple(places)


def _interval(probes: Sequence[Probe]) -> Seconds:
    """The usual (middle) time from one probe's start to the next one's; 0 for fewer than two."""
    return _usual([probe.at.earliest for probe in probes])


def _usual(starts: Sequence[Seconds]) -> Seconds:
    between = sorted(after - before for before, after in pairwise(starts) if after > before)
    return between[len(between) // 2] if between else 0.0


def _covered_spans(probes: Sequence[Probe], factor: float) -> Iterator[Span]:
    made = [probe.at for probe in probes if probe.symbol != NO_COVERAGE]
    if not made:
        return
    starts = [at.earliest for at in made]
    reached = list(accumulate((at.latest for at in made), max))
    longest = factor * _usual(starts)
    first = 0
    for index in [index for index, (start, end) in enumerate(zip(starts[1:], reached, strict=False), 1) if start - end > longest]:
        yield starts[first], reached[index - 1]
        first = index
    yield starts[first], reached[-1]


def _with_edges(spans: list[Span], probes: Sequence[Probe], factor: float) -> list[Span]:
    """The stretches, and beyond them the first and the last probe that could not be made, where that is a silence too."""
    missed = [probe.at.earliest for probe in probes if probe.symbol == NO_COVERAGE]
    if not missed or not spans:
        return spans
    longest = factor * _interval(sorted(probes, key=attrgetter("at.earliest")))
    first, last = min(missed), max(missed)
    before = [(first, first)] if spans[0][0] - first > longest else []
    after = [(last, last)] if last - spans[-1][1] > longest else []
    return [*before, *spans, *after]


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
