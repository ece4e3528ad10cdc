"""Tries rules on lines that are made to be slow, and on ones in which a scan pattern could be reported at every byte.

Logs hold users' words, so such lines come. What is measured is CPU time, the best of several tries, against bounds far from what any
rule of ours needs; how often a pattern is reported is a count and exact.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from triage.knowledge.flaws import Flaw, quoted
from triage.knowledge.scanner import Scanner
from triage.knowledge.table import Rule, RuleTable

LONGEST_LINE = 1 << 14  # characters of a line that an exact pattern is ever tried on
SLOWEST_MATCH = 0.1  # CPU seconds for such a line
SLOWEST_SCAN = 400e-9  # CPU seconds a byte, for all rules together; ours need 0.2 to 90 ns, by text
SLOW_PART = 0.25  # of that, what one rule alone may take
MOST_REPORTS = 48  # for one match with text after it
MOST_PER_CHARACTER = 0.25
TRIES = 3

FILLERS = ("a", " ", "9", "(", "a ", "[1] ", "Error: ", "a.b.", "\\", "'", "a_9", "é", ": ", "a=b,", "/a", "[a]")
WEAK_SPOTS = ("a", " ", "9", "(", "a.b.", "a=b,", "[1] ")
TAIL = " x1y2z3 word word word" * 10


def scan_flaws(table: RuleTable, rules: Sequence[Rule]) -> Iterator[tuple[Rule, Flaw]]:
    """Rules that the scanner would report far too often, or that slow down the scan of all."""
    told: set[str] = set()
    for text, most in _texts(rules):
        for rule in _reported_often(table, text, most):
            if rule in rules and rule.id not in told:
                told.add(rule.id)
                what = f"the scanner reports it more than {most} times in {len(text):,} characters of {quoted(text[:40])}: "
                yield rule, Flaw(check="reports", what=what + "end `scan` on a literal or one `\\d`")
        if _seconds(partial(table.scanner.run, text.encode()), SLOWEST_SCAN * len(text)) > SLOWEST_SCAN * len(text):
            yield from _slow_ones(rules, text, told)


def _texts(rules: Iterable[Rule]) -> Iterator[tuple[str, int]]:
    """Texts to scan, and how often one rule may be reported in each: samples with more text after them, and one thing over and over."""
    for rule in rules:
        yield from ((sample + TAIL, MOST_REPORTS) for sample in rule.definition.samples)
    units = (*FILLERS, *(part for rule in rules for part in _parts(rule)))
    for unit in dict.fromkeys(units):
        text = unit * (LONGEST_LINE // len(unit))
        yield text, int(MOST_PER_CHARACTER * len(text))


def _reported_often(table: RuleTable, text: str, most: int) -> list[Rule]:
    counts = Counter(index for _, index in table.scanner.scan(text.encode()))
    return [table[index] for index, count in counts.items() if count > most]


def _slow_ones(rules: Iterable[Rule], text: str, told: set[str]) -> Iterator[tuple[Rule, Flaw]]:
    data, most = text.encode(), SLOW_PART * SLOWEST_SCAN * len(text)
    for rule in (rule for rule in rules if rule.id not in told):
        took = _seconds(partial(Scanner([rule.scan_pattern], keep=False).run, data), most)
        if took > most:
            told.add(rule.id)
            what = f"scans slowly: {1e9 * took / len(data):.0f} ns a byte on text made of {quoted(text[:24])}; shorten its repeats"
            yield rule, Flaw(check="slow", what=what)


def match_flaws(rule: Rule) -> Iterator[Flaw]:
    """Whether the exact pattern is slow on the longest lines that the scanner may hand to it."""
    for unit in (*WEAK_SPOTS, *_parts(rule)):
        for place in ("before", "after", "inside"):
            took = _match_seconds(rule, unit, place)
            if took > SLOWEST_MATCH:
                what = f"`pattern` takes {1000 * took:.0f} ms or more for a line of {LONGEST_LINE >> 10} KiB with many {quoted(unit[:24])} {place} "
                yield Flaw(check="slow", what=what + "a sample: anchor it, or bound its repeats")
                return


def _match_seconds(rule: Rule, unit: str, place: str) -> float:
    """CPU seconds for the longest line; none where a quarter of it shows that even a quadratic pattern would do."""
    quarter = partial(_match, rule, _line(rule, unit, place, LONGEST_LINE // 4))
    if _seconds(quarter, SLOWEST_MATCH / 16) <= SLOWEST_MATCH / 16:
        return 0.0
    return _seconds(partial(_match, rule, _line(rule, unit, place, LONGEST_LINE)), SLOWEST_MATCH)


def _line(rule: Rule, unit: str, place: str, length: int) -> str:
    sample = rule.definition.samples[0] if rule.definition.samples else ""
    filler = unit * (max(0, length - len(sample)) // len(unit))
    cut = {"before": 0, "inside": len(sample) // 2}.get(place, len(sample))
    return sample[:cut] + filler + sample[cut:]


def _match(rule: Rule, text: str) -> None:
    try:
        rule.match(text)
    except TimeoutError:
        return


def _seconds(call: Callable[[], object], enough: float) -> float:
    """CPU seconds of one call: the best of several, as soon as one is quick enough, or too slow to be an accident."""
    best = float("inf")
    for _ in range(TRIES):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
        if best <= enough or best > 4 * enough:
            break
    return best


def _parts(rule: Rule) -> Iterator[str]:
    """Of a sample: all of it, its halves, its first word."""
    for sample in rule.definition.samples[:1]:
        yield from filter(None, (sample, sample[: len(sample) // 2], sample[len(sample) // 2 :], f"{sample.split(' ')[0]} "))
