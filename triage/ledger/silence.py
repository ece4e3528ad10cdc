"""What a quiet time says, in closed forms that need no library: the chance of it where nothing changed, its information, and how much is needed.

Throughout, `events` came in `seconds` of exposure before (the rate), `seen` came in `quiet` seconds since, and m is the number that was to be
expected in that time at the rate before. Sources: Poisson process; the rule of three; Przyborowski and Wilenski's conditional test (1940) for two
rates; the conditional likelihood ratio of two Poisson rates as e-process (for a rate that is known it is that of a test martingale, Ville 1939).
"""

from __future__ import annotations

import math

from triage.model import Seconds

ALPHA = 0.05
LEVEL = 1 / ALPHA  # an e-value this high comes by chance in at most one of twenty ledgers, however often one looks
LEAST = -math.log(ALPHA)  # fault intervals, 3.00 of them: what an unchanged engine stays quiet for in one case of twenty


def clean_chance(m: float) -> float:
    """The chance of no event where `m` are expected: e^-m."""
    return math.exp(-m)


def bits(m: float) -> float:
    """The information of a time without an event: the logarithm of its likelihood ratio, in bits."""
    return m / math.log(2)


def grade(chance: float) -> str:
    """How much a clean time says, by the chance that it would be as clean with nothing changed."""
    if chance >= 0.50:
        return "none" if chance >= 0.90 else "weak"
    if chance > 0.05:
        return "some"
    return "strong" if chance > 0.01 else "very strong"


def predicted_chance(events: int, seconds: Seconds, quiet: Seconds) -> float:
    """The chance of no event in `quiet`, the rate known by `events` in `seconds` only: Gamma(k + 1/2, T) predictive."""
    return float((seconds / (seconds + quiet)) ** (events + 0.5))


def conditional_chance(events: int, seconds: Seconds, seen: int, quiet: Seconds) -> float:
    """One-sided p of the conditional test that the rate has not fallen: of all events so few or fewer fall into the time since."""
    total = events + seen
    since, before = math.log(quiet) - math.log(seconds + quiet), math.log(seconds) - math.log(seconds + quiet)

    def log_chance(i: int) -> float:
        return math.lgamma(total + 1) - math.lgamma(i + 1) - math.lgamma(total - i + 1) + i * since + (total - i) * before

    return min(1.0, math.fsum(math.exp(log_chance(i)) for i in range(seen + 1)))


def e_value(events: int, seconds: Seconds, seen: int, quiet: Seconds, ratio: float = 0.0) -> float:
    """Evidence for `ratio` times the rate before, against the same rate: may be looked at as often as one likes.

    ratio^n ((T + t) / (T + ratio t))^(k + n): the likelihood ratio of how all events fell before and since, so the rate itself need not be known.
    With a rate known exactly it becomes ratio^n e^((1 - ratio) m). Against `eliminates` (ratio 0) one event makes it 0 for good.
    """
    if seen and not ratio:
        return 0.0
    told = seen * math.log(ratio) if seen else 0.0
    exponent = told + (events + seen) * (math.log1p(quiet / seconds) - math.log1p(ratio * quiet / seconds))
    return math.exp(min(exponent, 700.0))


def known_rate_e_value(m: float, seen: int, ratio: float = 0.0) -> float:
    """The same where the rate before is known exactly: ratio^n e^((1 - ratio) m)."""
    return (ratio**seen if seen else 1.0) * math.exp(min((1 - ratio) * m, 700.0))


def quiet_needed(events: int, seconds: Seconds, *, seen: int = 0, ratio: float = 0.0, level: float = LEVEL) -> Seconds | None:
    """How long it must have been quiet in all, with `seen` events, for the e-value to reach `level`; None where no time is long enough."""
    if events <= 0 or (seen and not ratio):
        return None
    if not ratio:
        return seconds * math.expm1(math.log(level) / events) if math.log(level) / events < 700 else None
    high = seconds
    while e_value(events, seconds, seen, high, ratio) < level:
        high *= 2
        if high > 1e6 * seconds:
            return None
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if e_value(events, seconds, seen, middle, ratio) >= level else (middle, high)
    return high


def plug_in_needed(events: int, seconds: Seconds, alpha: float = ALPHA) -> Seconds:
    """How long it must be quiet if the rate before were known exactly: -ln(alpha) mean intervals."""
    return -math.log(alpha) * seconds / events


def predictive_needed(events: int, seconds: Seconds, alpha: float = ALPHA) -> Seconds:
    """How long it must be quiet by the Gamma-Poisson predictive."""
    return float(seconds * (alpha ** (-1 / (events + 0.5)) - 1))


def all_pass_chance(failing: float, runs: int) -> float:
    """The chance that all runs pass where each fails with probability `failing`."""
    return float((1 - failing) ** runs)


def runs_needed(failing: float, alpha: float = ALPHA) -> int:
    """How many runs must all pass so that an unchanged fault would let them pass with probability `alpha` at most."""
    return math.ceil(math.log(alpha) / math.log1p(-failing) - 1e-9) if failing < 1 else 1


def run_failure(m: float) -> float:
    """The chance that one run fails in which `m` events are expected: 1 - e^-m."""
    return -math.expm1(-m)


def failing_upper(runs: int, alpha: float = ALPHA) -> float:
    """After so many passes without a failure, the probability of failing that is still not excluded: 1 - alpha^(1/n)."""
    return float(1 - alpha ** (1 / runs))


def slowed(dispersion: float) -> float:
    """What part of a quiet time counts where events cluster: ln(phi) / (phi - 1), by the negative binomial's chance of nothing; at most 1."""
    return math.log(dispersion) / (dispersion - 1) if dispersion > 1 + 1e-9 else 1.0


def longest_quiet_chance(events: int, seconds: Seconds, stretch: Seconds) -> float:
    """The chance, at most, that some quiet stretch among `events` evenly strewn events was as long by itself: (k + 1)(1 - g/T)^k."""
    return min(1.0, (events + 1) * max(0.0, 1 - stretch / seconds) ** events)


def some_quiet_chance(rate: float, seconds: Seconds, stretch: Seconds) -> float:
    """The chance that a Poisson process of `rate` a second has a quiet stretch that long somewhere in `seconds`; exact, alternating series."""
    if stretch > seconds:
        return 0.0
    quiet, whole, j = [], rate * seconds, 1
    while j * stretch <= seconds and j < 400:
        left = whole - j * rate * stretch
        log = -j * rate * stretch + (j - 1) * math.log(left) - math.lgamma(j) if left > 0 else -math.inf
        quiet.append((-1) ** (j + 1) * math.exp(log) * (1 + left / j) if left > 0 else (-1) ** (j + 1) * math.exp(-j * rate * stretch) * (j == 1))
        j += 1
    return min(1.0, max(0.0, math.fsum(quiet)))
