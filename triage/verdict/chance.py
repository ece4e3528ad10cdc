"""Exact probabilities for hints: what would be seen where nothing joins incidents.

>>> round(most_on_one(3, 3, 8), 4)
0.0156
"""

from __future__ import annotations

import math

RARE = 0.05  # a hint is given where its like comes by chance less than once in twenty times


def at_least(hits: int, of: int, values: int) -> float:
    """The chance that `hits` or more of `of` incidents fall on one given value, were all `values` alike: the binomial tail, in whole numbers."""
    ways = sum(math.comb(of, k) * (values - 1) ** (of - k) for k in range(hits, of + 1))
    return float(ways / values**of)


def most_on_one(hits: int, of: int, values: int) -> float:
    """The chance that some value carries `hits` or more of `of` incidents: at most so many times that of a given one (Bonferroni)."""
    return min(1.0, values * at_least(hits, of, values))


def spoken(chance: float) -> str:
    """A chance as people say it: `3 %`, `0.2 %`, `less than 0.01 %`."""
    percent = 100 * chance
    if percent < 0.01:
        return "less than 0.01 %"
    return f"{percent:.0f} %" if percent >= 1 else f"{percent:.1g} %"
