"""How often the ledger calls a change supported that did nothing, and how long it takes for one that works: ledgers are made up and judged daily.

    python -m benchmarks.ledger --ledgers 2000

Each ledger has some days of faults at one a day with nothing changed, then a change that is registered, claimed and seen in the boot lines. It is
judged by the same code as `triage ledger`, once a day for sixty days, until it is called supported or refuted. `clustered` counts are negative
binomial, day by day; in `regimes` the rate itself drifts, staying for about six days at each value, which no test of daily counts can see.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterable
from itertools import pairwise

from triage.ledger.book import Mitigation, Word
from triage.ledger.entry import Claim, Entry, Falsifier
from triage.ledger.evidence import Death, Evidence, Life
from triage.ledger.silence import LEVEL, conditional_chance, known_rate_e_value
from triage.ledger.standing import standings
from triage.model import Boot

DAY = 86400.0
START = 1_790_000_000.0
LOOKS = 60
REBOOT = 300.0
ALPHA = 0.05
Counts = Callable[[random.Random, int], list[int]]


def poisson(chance: random.Random, days: int) -> list[int]:
    return [_poisson(chance, 1.0) for _ in range(days)]


def clustered(ratio: float) -> Counts:
    """Negative binomial counts a day, mean 1, variance `ratio`."""
    return lambda chance, days: [_poisson(chance, chance.gammavariate(1 / (ratio - 1), ratio - 1)) for _ in range(days)]


def regimes(chance: random.Random, days: int) -> list[int]:
    """The rate is drawn anew (exponential, mean 1) about every six days."""
    counts, rate = [], chance.expovariate(1.0)
    for _ in range(days):
        rate = chance.expovariate(1.0) if chance.random() < 1 / 6 else rate
        counts.append(_poisson(chance, rate))
    return counts


def _poisson(chance: random.Random, mean: float) -> int:
    count, at = 0, chance.expovariate(1.0)
    while at < mean:
        count, at = count + 1, at + chance.expovariate(1.0)
    return count


def times(counts: Iterable[int], chance: random.Random, start: float) -> list[float]:
    """Seconds at which the events of each day came."""
    return sorted(start + (day + chance.random()) * DAY for day, count in enumerate(counts) for _ in range(count))


def outcome(before: list[float], since: list[float], days: int, claim: Claim) -> tuple[str, int]:
    """What the ledger says first, refuted or supported, and after how many days; `open` where neither within sixty."""
    changed = START + days * DAY
    entry = Entry(name="m", fault_class="cublas-fault", claim=claim, changes=("VLLM_X=0",), falsifier=Falsifier(classes=("cublas-fault",)))
    said = Word(said="claimed", written=changed, since=changed)
    mitigation = Mitigation(entry=entry, registered=changed - 60, hash="", words=(said,))
    lives = [*_lives([START, *before, changed], "1"), *_lives([changed, *since, changed + LOOKS * DAY], "0")]
    deaths = [_death(at, life.boot.id) for at, life in zip([*before, changed, *since], lives, strict=False) if at != changed]
    for day in range(1, LOOKS + 1):
        until = changed + day * DAY
        seen = Evidence(
            lives=tuple(Life(boot=life.boot, start=life.start, end=min(life.end, until)) for life in lives if life.start < until),
            deaths=tuple(d for d in deaths if d.at <= until), idle=(), start=START, until=until,
        )  # fmt: skip
        status = standings([mitigation], seen)[0].status
        if status in ("supported", "refuted"):
            return status, day
    return "open", LOOKS


def _lives(edges: list[float], value: str) -> list[Life]:
    boots = (Boot(id=f"{value}-{number}", source="log", engine="vllm", config={"VLLM_X": value}) for number in range(len(edges)))
    spans = ((a if a == edges[0] else min(a + REBOOT, b), b) for a, b in pairwise(edges))
    return [Life(boot=boot, start=start, end=end) for boot, (start, end) in zip(boots, spans, strict=False)]


def _death(at: float, boot: str) -> Death:
    return Death(id=f"{at:.0f}", at=at, fault_class="cublas-fault", fault=True, phase="serving", boot=boot, host="")


def trial(ledgers: int, days: int, counts: Counts, claim: Claim, left: float, seed: int) -> tuple[float, float]:
    """The share that was called supported, and the median of the days that took; `left` is the share of the rate that the change leaves."""
    chance = random.Random(seed)
    found = []
    for _ in range(ledgers):
        before = times(counts(chance, days), chance, START)
        since = [at for at in times(counts(chance, LOOKS), chance, START + days * DAY) if chance.random() < left]
        found.append(outcome(before, since, days, claim))
    taken = [day if status == "supported" else float("inf") for status, day in found]
    return sum(day < float("inf") for day in taken) / ledgers, statistics.median(taken)


def daily_looks(ledgers: int, seed: int) -> dict[str, float]:
    """How often three ways to look every day for sixty days see an improvement where the rate, 1 a day and known by 17 days, is unchanged."""
    from scipy.stats import poisson as law

    chance = random.Random(seed)
    seen = {"known rate, Poisson p <= 0.05": 0, "conditional test, p <= 0.05": 0, "e-process, 20": 0}
    for _ in range(ledgers):
        before = sum(poisson(chance, 17))
        totals = list(_running(poisson(chance, LOOKS)))
        seen["known rate, Poisson p <= 0.05"] += any(law.cdf(n, day) <= ALPHA for day, n in enumerate(totals, 1))
        seen["conditional test, p <= 0.05"] += any(conditional_chance(before, 17.0, n, float(day)) <= ALPHA for day, n in enumerate(totals, 1))
        seen["e-process, 20"] += any(known_rate_e_value(float(day), n, 0.1) >= LEVEL for day, n in enumerate(totals, 1))
    return {name: count / ledgers for name, count in seen.items()}


def _running(counts: Iterable[int]) -> Iterable[int]:
    total = 0
    for count in counts:
        total += count
        yield total


SCENES: dict[str, Counts] = {
    "Poisson": poisson,
    "clustered, variance/mean 2": clustered(2.0),
    "clustered, variance/mean 3": clustered(3.0),
    "regimes of about six days": regimes,
}


def main() -> None:
    """Simulate, and print the tables of docs/ledger.md."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--ledgers", type=int, default=2000)
    ask.add_argument("--seed", type=int, default=1)
    given = ask.parse_args()
    print("| faults | days before | unchanged, called supported | eliminated, called supported | median days to it |\n|---|---|---|---|---|")
    for name, counts in SCENES.items():
        for days in (17, 30):
            wrong, _ = trial(given.ledgers, days, counts, Claim(), 1.0, given.seed)
            right, median = trial(given.ledgers, days, counts, Claim(), 0.0, given.seed + 1)
            print(f"| {name} | {days} | {wrong * 100:.1f} % | {right * 100:.0f} % | {median:g} |")
    print("\n| claim reduces:0.1 | days before | called supported | median days to it |\n|---|---|---|---|")
    for left, what in ((1.0, "unchanged"), (0.1, "a tenth is left")):
        share, median = trial(given.ledgers, 17, poisson, Claim("reduces", 0.1), left, given.seed + 2)
        print(f"| {what} | 17 | {share * 100:.1f} % | {median:g} |")
    print("\n| looked at daily for 60 days, rate unchanged | sees an improvement |\n|---|---|")
    for name, share in daily_looks(given.ledgers, given.seed + 3).items():
        print(f"| {name} | {share * 100:.1f} % |")


if __name__ == "__main__":
    main()
