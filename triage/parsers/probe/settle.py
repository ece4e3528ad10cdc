"""Settles what only the whole log can tell: how long unanswered attempts took, which target is which, and the order of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Literal

import msgspec

from triage.model import How, Instant, Probe, Seconds
from triage.parsers.probe.records import Attempt
from triage.parsers.probe.symbols import FAILED

Stamped = Literal["start", "end"]

_SHORTEST_TIMEOUT: Seconds = 1.0
_LONGEST_ATTEMPT: Seconds = 86400.0


def settle(good: Iterable[Probe], attempts: Sequence[Attempt], stamped: Stamped) -> tuple[Probe, ...]:
    """The good probes and the attempts as one, in order of their start. `stamped` says what a script's own stamp means."""
    longest = max((d for a in attempts if a.answer.answerless and (d := _duration(a)) is not None), default=0.0)
    timeout = _timeout(attempts)
    probes = [*good, *(_probe(attempt, stamped, longest, timeout) for attempt in attempts)]
    return tuple(sorted(_with_one_target(probes), key=attrgetter("at.earliest", "at.latest")))


def reach(stamp: Seconds, until: Seconds | None, duration: Seconds | None, at_end: bool, how: How) -> Instant:
    """From the start to the end of an attempt: both where they are given, else over its duration, else the stamp alone."""
    if until is not None and until >= stamp:
        return Instant(stamp, until, how)
    if not duration:
        return Instant(stamp, stamp, how)
    return Instant(stamp - duration, stamp, "computed") if at_end else Instant(stamp, stamp + duration, how)


def _probe(attempt: Attempt, stamped: Stamped, longest: Seconds, timeout: Seconds) -> Probe:
    symbol, duration = attempt.symbol, _duration(attempt)
    if symbol == FAILED and attempt.answer.answerless:
        symbol = _by_duration(duration, longest)
    if duration is None and symbol == "t":
        duration = attempt.answer.timeout or timeout
    at_end = stamped == "end" or attempt.answer.at_end
    return Probe(
        at=reach(attempt.stamp, attempt.until, duration, at_end, attempt.how),
        symbol=symbol,
        target=attempt.answer.target,
        text=attempt.text or attempt.answer.evidence,
        place=attempt.place,
    )


def _by_duration(duration: Seconds | None, longest: Seconds) -> str:
    """No HTTP answer, and no code to say why: whoever refuses does so at once, a client's patience ends on the second or with the longest wait."""
    if duration is None:
        return FAILED
    waited = duration >= _SHORTEST_TIMEOUT and (duration >= 0.95 * longest or duration % 1.0 <= 0.05)
    return "t" if waited else "r"


def _duration(attempt: Attempt) -> Seconds | None:
    duration = attempt.answer.duration
    if duration is None and attempt.until is not None and attempt.how != "carried":
        duration = attempt.until - attempt.stamp
    return duration if duration is not None and 0 <= duration <= _LONGEST_ATTEMPT else None


def _timeout(attempts: Sequence[Attempt]) -> Seconds:
    """The timeout that unanswered attempts of this log ran into, as far as any of them tells; 0 where none does."""
    told = [_duration(attempt) or attempt.answer.timeout for attempt in attempts if attempt.symbol == "t"]
    known = sorted(seconds for seconds in told if seconds)
    return known[len(known) // 2] if known else 0.0


def _with_one_target(probes: list[Probe]) -> list[Probe]:
    """Where a log names one target only, the lines that name none (a client's error seldom does) belong to it too."""
    named = {probe.target for probe in probes}
    if len(named) != 2 or "" not in named:
        return probes
    only = (named - {""}).pop()
    return [probe if probe.target else msgspec.structs.replace(probe, target=only) for probe in probes]
