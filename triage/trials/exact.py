"""Exact statistics for few runs: Fisher's and Boschloo's tests, bounds on a share, and how often a plan would be passed by luck.

Fisher: the probability, with all margins fixed, of a table at most as likely as the one seen. Boschloo (1970): Fisher's p as the statistic of an
unconditional test, never less powerful. Bounds on a share: Clopper and Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import comb

ALPHA = 0.05
GRID = 1000
MANY = 200  # runs above which sums of exact terms are slow, and above 1,000 too large for a double
STEPS = 60  # of a bisection: finer than a double shows


def fisher(passed: tuple[int, int], runs: tuple[int, int]) -> float:
    """Two-sided p of the table of passes in two groups of runs.

    >>> round(fisher((2, 0), (3, 5)), 3)
    0.107
    """
    total, wins = sum(runs), sum(passed)
    ways = {k: comb(runs[0], k) * comb(runs[1], wins - k) for k in range(max(0, wins - runs[1]), min(runs[0], wins) + 1)}
    seen = ways[passed[0]]
    return min(1.0, sum(way for way in ways.values() if way <= seen) / comb(total, wins))


def boschloo(passed: tuple[int, int], runs: tuple[int, int]) -> float:
    """Two-sided p of the same table by Boschloo's test: twice the smaller of the one-sided ones, the size of each group held, not the passes.

    >>> round(boschloo((2, 0), (3, 5)), 3)
    0.093
    """
    more = _unconditional(passed, runs)
    fewer = _unconditional((runs[0] - passed[0], runs[1] - passed[1]), runs)
    return min(1.0, 2 * min(more, fewer))


def _unconditional(passed: tuple[int, int], runs: tuple[int, int]) -> float:
    """The largest probability, over all shares that both groups may have, of a table as telling for the first group as the one seen."""
    every = sum(runs)
    seen = _one_sided(*passed, runs)
    ways = [_as_telling(total, runs, seen) for total in range(every + 1)]
    logs = [(total, math.log(way)) for total, way in enumerate(ways) if way]

    def curve(share: float) -> float:
        if share in (0.0, 1.0):
            return float(ways[round(share) * every])
        return math.fsum(math.exp(log + total * math.log(share) + (every - total) * math.log1p(-share)) for total, log in logs)

    return _highest(curve)


def _as_telling(total: int, runs: tuple[int, int], seen: Fraction) -> int:
    """How many ways lead to a table of so many passes whose one-sided p is at most `seen`; the more the first group passes, the less it is."""
    kept, all_of_them = 0, comb(sum(runs), total)
    for a in range(min(runs[0], total), max(0, total - runs[1]) - 1, -1):
        more = kept + comb(runs[0], a) * comb(runs[1], total - a)
        if more * seen.denominator > seen.numerator * all_of_them:
            break
        kept = more
    return kept


def _one_sided(a: int, b: int, runs: tuple[int, int]) -> Fraction:
    """Fisher's one-sided p that the first group passes more often: a fraction, so that equal ones are equal."""
    most = min(runs[0], a + b)
    return Fraction(sum(comb(runs[0], k) * comb(runs[1], a + b - k) for k in range(a, most + 1)), comb(sum(runs), a + b))


def _highest(curve: Callable[[float], float]) -> float:
    """The maximum of a smooth curve over shares from 0 to 1: the best of a grid, then between its neighbours."""
    best = max(range(GRID + 1), key=lambda step: curve(step / GRID))
    low, high = max(0, best - 1) / GRID, min(GRID, best + 1) / GRID
    for _ in range(STEPS):
        third = (high - low) / 3
        low, high = (low + third, high) if curve(low + third) < curve(high - third) else (low, high - third)
    return curve((low + high) / 2)


def at_most(events: int, runs: int, alpha: float = ALPHA) -> float:
    """The largest share that is not refuted, one-sided, by so many events in so many runs.

    >>> round(at_most(0, 5), 3)
    0.451
    """
    if events < runs and runs > MANY:
        from scipy.special import betaincinv

        return float(betaincinv(events + 1, runs - events, 1 - alpha))
    return 1.0 if events >= runs else _bisected(lambda share: tail(runs, share, events), alpha)


def at_least(events: int, runs: int, alpha: float = ALPHA) -> float:
    """The smallest share that is not refuted, one-sided: of 5 in 5 it is 0.549."""
    return 0.0 if events <= 0 else 1 - at_most(runs - events, runs, alpha)


def tail(runs: int, share: float, most: int) -> float:
    """The probability of `most` events or fewer in so many runs."""
    return math.fsum(comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(most + 1))


def _bisected(falling: Callable[[float], float], alpha: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > alpha else (low, middle)
    return (low + high) / 2


def luck(share: float, runs: int) -> float:
    """The probability that a build which fails so large a share of its runs passes all of them."""
    return float((1 - share) ** runs)


def runs_needed(share: float, alpha: float = ALPHA) -> int | None:
    """How many passes in a row such a build shows with a probability of `alpha` at most; None where no number does.

    >>> runs_needed(0.549), runs_needed(0.0069)
    (4, 433)
    """
    if share <= 0:
        return None
    return 1 if share >= 1 else math.ceil(math.log(alpha) / math.log1p(-share) - 1e-12)


def power(shares: tuple[float, float], runs: tuple[int, int], alpha: float = ALPHA) -> float:
    """The probability that Fisher's test tells two groups of runs apart that fail with these shares."""
    found = 0.0
    for a in range(runs[0] + 1):
        for b in range(runs[1] + 1):
            if fisher((a, b), runs) <= alpha:
                found += _exactly(runs[0], shares[0], a) * _exactly(runs[1], shares[1], b)
    return found


def _exactly(runs: int, share: float, events: int) -> float:
    return comb(runs, events) * share**events * (1 - share) ** (runs - events)


def signs(positive: int, negative: int) -> float:
    """Two-sided p of so many differences in either direction where both are equally likely.

    >>> signs(0, 4)
    0.125
    """
    runs, fewer = positive + negative, min(positive, negative)
    return min(1.0, 2 * tail(runs, 0.5, fewer)) if runs else 1.0
