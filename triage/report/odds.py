"""What `triage exposure` and `triage power` print: what a quiet time or a passed test says, in sentences with their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from triage.ledger import rates, silence
from triage.ledger.entry import Baseline
from triage.model import Seconds
from triage.report.fitting import text_columns, wrapped

DAY: Seconds = 86400.0
MANY = 1000
NEXT = {"none": "none to speak of", "weak": "weak", "some": "some", "strong": "strong", "very strong": "very strong"}


class Exposure(msgspec.Struct, frozen=True, kw_only=True):
    """What `seen` events in `quiet` seconds say against a rate of `events` in `seconds`; probabilities where nothing changed."""

    events: int
    seconds: Seconds
    seen: int
    quiet: Seconds
    expected: float
    clean_if_unchanged: float
    clean_if_rate_uncertain: float
    p_conditional: float
    p_e_test: float | None  # None for counts so large that enumerating them takes long; there the tests agree
    e_value: float
    bits: float
    grade: str
    needed: Seconds | None
    needed_if_rate_known: Seconds
    rate_low: float
    rate_high: float


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """What it says that `runs` of `each` seconds all passed; `acceleration` is how much faster the fault is taken to come in a run."""

    runs: int
    each: Seconds
    acceleration: float
    expected: float
    pass_if_unchanged: float
    bits: float
    grade: str
    run_fails: float
    runs_needed: int
    quiet_needed: Seconds
    not_excluded: float


def exposure(baseline: Baseline, seen: int, quiet: Seconds) -> Exposure:
    """All figures of one question. The rate must rest on at least one event."""
    k, t = baseline.events, baseline.seconds
    m = k / t * quiet
    known = rates.interval(k, t)
    chance = silence.clean_chance(m)
    return Exposure(
        events=k, seconds=t, seen=seen, quiet=quiet, expected=m, clean_if_unchanged=chance,
        clean_if_rate_uncertain=silence.predicted_chance(k, t, quiet), p_conditional=silence.conditional_chance(k, t, seen, quiet),
        p_e_test=rates.e_test(k, t, seen, quiet) if k + seen <= MANY else None,
        e_value=silence.e_value(k, t, seen, quiet), bits=silence.bits(m), grade=silence.grade(chance),
        needed=silence.quiet_needed(k, t), needed_if_rate_known=silence.plug_in_needed(k, t), rate_low=known.low, rate_high=known.high,
    )  # fmt: skip


def power(baseline: Baseline, runs: int, each: Seconds, acceleration: float = 1.0) -> Power:
    """All figures of a test of several runs, each taken for so many times its length on the engine."""
    rate = baseline.events / baseline.seconds * acceleration
    m = rate * runs * each
    fails = silence.run_failure(rate * each)
    chance = silence.clean_chance(m)
    return Power(
        runs=runs, each=each, acceleration=acceleration, expected=m, pass_if_unchanged=chance, bits=silence.bits(m), grade=silence.grade(chance),
        run_fails=fails, runs_needed=silence.runs_needed(fails), quiet_needed=silence.LEAST * baseline.seconds / baseline.events,
        not_excluded=silence.failing_upper(runs),
    )  # fmt: skip


def exposure_text(of: Exposure, *, verbose: bool = False) -> str:
    """What an operator reads: the answer, the figures, what it would take."""
    return _text(_exposure_lines(of, verbose))


def power_text(of: Power, basis: str) -> str:
    """The same of a test; `basis` names what an acceleration rests on."""
    return _text(_power_lines(of, basis))


def as_json(of: Exposure | Power) -> str:
    """One document; times in seconds, rates in events a second."""
    told: dict[str, Any] = {"schema": "triage/1", **msgspec.to_builtins(of)}
    return msgspec.json.format(msgspec.json.encode(told), indent=2).decode()


def _exposure_lines(of: Exposure, verbose: bool) -> Iterator[str]:
    rate = f"{of.events / of.seconds * DAY:.2f} a day"
    yield f"rate before: {of.events} in {span(of.seconds)}, {rate} (95 % interval {of.rate_low * DAY:.2f} to {of.rate_high * DAY:.2f})"
    if of.seen:
        yield f"since: {of.seen} in {span(of.quiet)}, where {of.expected:.2g} were to be expected: an elimination is refuted"
        yield f"a reduction: {_tests(of, verbose)}"
        return
    yield (
        f"since: quiet for {span(of.quiet)}, where {of.expected:.2g} were to be expected. An unchanged engine is as quiet"
        f" {often(of.clean_if_unchanged)} if that rate is exact, {often(of.clean_if_rate_uncertain)} given how few it rests on"
    )  # fmt: skip
    yield f"information: {of.bits:.2g} bit, {NEXT[of.grade]}; e-value {evidence(of.e_value)} of 20, which may be looked at every day"
    yield _tests(of, verbose)
    yield _enough(of)
    if verbose:
        yield f"a rate known exactly would need {span(of.needed_if_rate_known)}; the lower bound of its interval {span(silence.LEAST / of.rate_low)}"
    yield "only if nothing else changed, the engine worked all that time, and the window was chosen before it began"


def _tests(of: Exposure, verbose: bool) -> str:
    further = f", {figure(of.p_e_test)} (E-test)" if verbose and of.p_e_test is not None else ""
    return f"one-sided p {figure(of.p_conditional)} (conditional test){further}"


def _enough(of: Exposure) -> str:
    if of.needed is None:
        return "no quiet time is enough with so few before"
    state = "reached" if of.quiet >= of.needed else f"{span(of.needed - of.quiet)} to go"
    few = " (so few before cost more than the usual three)" if of.needed > 1.15 * silence.LEAST * of.seconds / of.events else ""
    return f"for 95 %: {span(of.needed)} of quiet in all, {of.needed * of.events / of.seconds:.1f} fault intervals{few}: {state}"


def _power_lines(of: Power, basis: str) -> Iterator[str]:
    if of.acceleration != 1:
        yield f"assumed, and nothing here shows it: the fault comes {of.acceleration:g} times as fast in a run{f', per {basis}' if basis else ''}"
    yield (
        f"{of.runs}/{of.runs} passed, {span(of.runs * of.each)} of exposure. An unchanged engine would also pass {often(of.pass_if_unchanged)}"
        f" (expected failures {of.expected:.2g})"
    )
    yield f"information: {of.bits:.2g} bit, {NEXT[of.grade]}"
    yield f"for 95 %: {span(of.quiet_needed)} of quiet in service, or {of.runs_needed:,} such runs ({span(of.runs_needed * of.each)})"
    excluded = f"a fault that fails more than {_percent(of.not_excluded)} of runs"
    passes = f"{of.runs} passes do" if of.runs > 1 else "one pass does"
    yield f"what {passes} exclude (95 %): {excluded}; this one fails {_percent(of.run_fails)}"


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %"


def often(chance: float) -> str:
    """A chance as so many times in so many."""
    if chance > 0.995:
        return f"{chance * 1000:.0f} times in 1,000" if chance < 0.9995 else "practically always"
    if chance >= 0.0995:
        return f"{chance * 100:.0f} times in 100"
    if chance >= 0.00095:
        return f"{chance * 1000:.{0 if chance > 0.01 else 1}f} times in 1,000"
    return f"once in {_round(1 / chance):,}" if chance > 1e-12 else "practically never"


def _round(value: float) -> int:
    scale = 10 ** max(0, math.floor(math.log10(value)) - 1)
    return int(round(value / scale) * scale)


def evidence(e_value: float) -> str:
    """An e-value as a figure that can be read."""
    return f"{e_value:.1f}" if e_value < 100 else f"{e_value:,.0f}" if e_value < 1e6 else "over a million"


def figure(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "below 0.0001"


def span(seconds: Seconds) -> str:
    """A length of time with one figure after the point where it is short of ten units."""
    for unit, name in ((DAY, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:.0f} s"


def _text(lines: Iterator[str]) -> str:
    return "\n".join(wrapped(line, text_columns()) for line in lines)
