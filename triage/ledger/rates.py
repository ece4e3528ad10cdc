"""Exact intervals and tests for counts that came in a time of exposure; scipy is loaded by the function that needs it.

Formulas: Garwood (1936) for the interval of a rate; the conditional test of two rates; Krishnamoorthy and Thomson's E-test (2004); Fisher's
dispersion test of counts; Laplace's trend test and the Crow-AMSAA slope as in MIL-HDBK-189.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from triage.model import Seconds

DAY: Seconds = 86400.0
FEW = 10  # events below which clustering is not looked for
FEW_BINS = 5


class Interval(msgspec.Struct, frozen=True):
    """A rate in events a second with the bounds of its 95 % interval."""

    rate: float
    low: float
    high: float


class Trend(msgspec.Struct, frozen=True):
    """Whether events became more or fewer: Laplace's U with its two-sided p, and the Crow-AMSAA slope (1: constant, below: fewer)."""

    u: float
    p: float
    slope: float


class Clustering(msgspec.Struct, frozen=True):
    """How much more counts vary than chance makes them: variance over mean of the counts in `bins` of `width` seconds, and its p."""

    dispersion: float
    bins: int
    width: Seconds
    p: float


def interval(events: int, seconds: Seconds, level: float = 0.95) -> Interval:
    """The exact interval of a rate."""
    from scipy.stats import chi2

    tail = (1 - level) / 2
    low = float(chi2.ppf(tail, 2 * events)) / (2 * seconds) if events else 0.0
    return Interval(events / seconds, low, float(chi2.ppf(1 - tail, 2 * events + 2)) / (2 * seconds))


def upper(events: int, seconds: Seconds, level: float = 0.95) -> float:
    """The one-sided upper bound of a rate; for no event it is close to 3 / T."""
    from scipy.stats import chi2

    return float(chi2.ppf(level, 2 * events + 2)) / (2 * seconds)


def conditional_test(events: int, seconds: Seconds, seen: int, quiet: Seconds) -> tuple[float, float]:
    """One- and two-sided p of the conditional test that two rates are the same, against a lower one since."""
    from scipy.stats import binomtest

    share = quiet / (seconds + quiet)
    sides = (binomtest(seen, events + seen, share, alternative=side).pvalue for side in ("less", "two-sided"))
    one, two = map(float, sides)
    return one, two


def e_test(events: int, seconds: Seconds, seen: int, quiet: Seconds) -> float:
    """One-sided p of the E-test that the rate since is no lower than the rate before."""
    from scipy.stats import poisson_means_test

    return float(poisson_means_test(seen, quiet, events, seconds, alternative="less").pvalue)


def ratio_interval(events: int, seconds: Seconds, seen: int, quiet: Seconds, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of the rate since over the rate before."""
    from scipy.stats import binomtest

    bounds = binomtest(events, events + seen, 0.5).proportion_ci(level, "exact")

    def ratio(share: float) -> float:
        return math.inf if share <= 0 else (1 - share) / share * seconds / quiet

    return ratio(float(bounds.high)), ratio(float(bounds.low))


def share_interval(part: int, whole: int, level: float = 0.95) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a proportion."""
    from scipy.stats import binomtest

    bounds = binomtest(part, whole).proportion_ci(level, "exact")
    return float(bounds.low), float(bounds.high)


def conservative_needed(events: int, seconds: Seconds, alpha: float = 0.05) -> Seconds:
    """How long it must be quiet if the rate before were only as high as the lower bound of its interval."""
    return -math.log(alpha) / interval(events, seconds).low


def clustering(times: Sequence[Seconds], seconds: Seconds) -> Clustering | None:
    """Fisher's dispersion test of the counts a day (of rarer events: in as many days as one takes on average); None for fewer than ten.

    `times`: seconds of exposure at which the events came, from 0 to `seconds`.
    """
    from scipy.stats import chi2

    measured = dispersion(times, seconds)
    if measured is None:
        return None
    phi, bins, width = measured
    return Clustering(phi, bins, width, float(chi2.sf(phi * (bins - 1), bins - 1)))


def dispersion(times: Sequence[Seconds], seconds: Seconds) -> tuple[float, int, Seconds] | None:
    """Variance over mean of those counts, the number of bins and their width in seconds; needs no library. None for fewer than ten events."""
    if len(times) < FEW:
        return None
    width = DAY * max(1, round(seconds / len(times) / DAY))
    bins = int(seconds // width)
    if bins < FEW_BINS:
        return None
    counts = [0] * bins
    for at in times:
        if 0 <= at < bins * width:
            counts[int(at // width)] += 1
    mean = sum(counts) / bins
    return (math.fsum((count - mean) ** 2 for count in counts) / (bins - 1) / mean if mean else 1.0), bins, width


def trend(times: Sequence[Seconds], seconds: Seconds) -> Trend | None:
    """Laplace's test of a trend; None for fewer than four events."""
    inside = [at for at in times if 0 < at < seconds]
    if len(inside) < 4:
        return None
    from scipy.stats import norm

    count = len(inside)
    u = (math.fsum(inside) / count - seconds / 2) / (seconds / math.sqrt(12 * count))
    return Trend(u, float(2 * norm.sf(abs(u))), count / math.fsum(math.log(seconds / at) for at in inside))
