"""Arithmetic of stretches of time: pairs of seconds since the epoch, kept in order and apart.

Several engines that serve at the same time make several hours of exposure in one. So each engine has an axis of its own: its times are moved by a
multiple of AXIS, far beyond all others, and everything here works on all of them at once. `within` and `less` take plain times and apply them on
every axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triage.model import Seconds

Stretch = tuple[Seconds, Seconds]
AXIS: Seconds = 1e11  # the year 5138


def merged(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same time as stretches in order that do not touch; those of no length are left out."""
    made: list[Stretch] = []
    for start, end in sorted(stretches):
        if end <= start:
            continue
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def without(stretches: Iterable[Stretch], holes: Iterable[Stretch]) -> list[Stretch]:
    """What is left of the stretches outside the holes."""
    left = merged(stretches)
    for low, high in merged(holes):
        left = [part for start, end in left for part in ((start, min(end, low)), (max(start, high), end)) if part[1] > part[0]]
    return left


def origin(at: Seconds) -> Seconds:
    """Where the axis begins that a time lies on."""
    return at // AXIS * AXIS


def within(stretches: Iterable[Stretch], start: Seconds, end: Seconds) -> list[Stretch]:
    """The part of the stretches, on whichever axis, from `start` to `end`."""
    return merged((max(a, origin(a) + start), min(b, origin(a) + end)) for a, b in stretches)


def less(stretches: Iterable[Stretch], holes: Iterable[Stretch]) -> list[Stretch]:
    """What is left of the stretches, on whichever axis, outside the holes."""
    whole, plain = merged(stretches), merged(holes)
    return without(whole, [(base + low, base + high) for base in {origin(start) for start, _ in whole} for low, high in plain])


def total(stretches: Iterable[Stretch]) -> Seconds:
    return sum(end - start for start, end in stretches)


def elapsed(stretches: Sequence[Stretch], at: Seconds) -> Seconds:
    """How much of the stretches (in order, apart) had passed at a time: the clock that runs only while somebody looks."""
    return sum(min(end, at) - start for start, end in stretches if start < at)


def reached(stretches: Sequence[Stretch], length: Seconds) -> Seconds | None:
    """When so much of the stretches had passed; None where they are shorter."""
    for start, end in stretches:
        if length <= end - start:
            return start + length
        length -= end - start
    return None


def holds(stretches: Iterable[Stretch], at: Seconds) -> bool:
    return any(start <= at <= end for start, end in stretches)
