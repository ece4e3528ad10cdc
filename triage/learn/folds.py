"""Splits incidents so that what is asked about came later, and on another host, than what was learnt from; a crash loop is never in both.

Incidents are put in order of time and cut into blocks between episodes. A block is asked of models that know only the blocks before it
and, where there are several hosts, only the other hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.learn.examples import Example, episodes

BLOCKS = 4
HOSTS = 3  # groups of hosts
LEAST = 20  # incidents that a fold must have to learn from


class Fold(NamedTuple):
    """Numbers of the examples that are learnt from, and of those that are asked about."""

    learnt: list[int]
    asked: list[int]


def folds(examples: Sequence[Example]) -> list[Fold]:
    """The folds of the examples; none where there are too few."""
    block, group = _blocks(examples), _groups(examples)
    alone = len(set(group)) < 2
    out = []
    for number in range(1, max(block, default=0) + 1):
        for own in sorted(set(group)):
            learnt = [i for i, b in enumerate(block) if b < number and (alone or group[i] != own)]
            asked = [i for i, b in enumerate(block) if b == number and group[i] == own]
            if len(learnt) >= LEAST and asked:
                out.append(Fold(learnt, asked))
    return out


def _blocks(examples: Sequence[Example]) -> list[int]:
    """For each example the number of its block of time; blocks hold about as many incidents each, and episodes whole."""
    numbers = episodes(examples)
    first: dict[int, float] = {}
    for number, e in zip(numbers, examples, strict=True):
        first[number] = min(e.at, first.get(number, e.at))
    order = sorted(first, key=lambda number: first[number])
    sizes = {number: numbers.count(number) for number in order}
    of_episode, taken = {}, 0
    for number in order:
        of_episode[number] = min(BLOCKS - 1, taken * BLOCKS // len(examples))
        taken += sizes[number]
    return [of_episode[number] for number in numbers]


def _groups(examples: Sequence[Example]) -> list[int]:
    """For each example the number of its group of hosts."""
    hosts = {host: i % HOSTS for i, host in enumerate(sorted({e.host for e in examples}))}
    return [hosts[e.host] for e in examples]
