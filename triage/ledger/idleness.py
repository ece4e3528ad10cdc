"""When an engine had nothing to do: an engine without work is as quiet as one that is repaired, so that time is no evidence.

An engine prints a line every few seconds while it makes tokens and none, or only zeros, while it has no requests. So a long silence between two
such lines of one life is taken for idle time, where lines otherwise come much more often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from triage.ledger.stretches import Stretch, merged
from triage.model import Boot, Event, Seconds
from triage.parsers.reading import Reading

SHORTEST: Seconds = 1800.0
SLICE: Seconds = 6 * 3600.0
MUCH = 10.0


def idle(readings: Iterable[Reading], boots: Sequence[Boot]) -> list[Stretch]:
    """The stretches in which engines that were up made no token for half an hour and more."""
    return merged(stretch for reading in readings for boot in boots if boot.source == reading.info.name for stretch in _idle(reading, boot))


def _idle(reading: Reading, boot: Boot) -> Iterator[Stretch]:
    last = boot.end or reading.info.last
    if reading.pulse is None or boot.ready is None or last is None:
        return
    start, end = boot.ready.earliest, last.earliest
    times = sorted({event.at.earliest for event in _lines(reading, start, end) if event.at and event.makes_tokens and event.stream == boot.stream})
    steps = [b - a for a, b in pairwise(times)]
    if len(steps) < MUCH:
        return
    usual = median(steps)
    for a, b in pairwise([start, *times, end]):
        if b - a >= max(SHORTEST, MUCH * usual):
            yield (a, b)


def _lines(reading: Reading, start: Seconds, end: Seconds) -> Iterator[Event]:
    at = start
    while at < end and reading.pulse is not None:
        yield from reading.pulse.between(at, min(at + SLICE, end))
        at += SLICE
