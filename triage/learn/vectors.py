"""Makes of an incident's features a sparse row of figures: each line a unit vector, of several lines for each n-gram the greatest."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from triage.learn.examples import Example
from triage.learn.features import is_code, line_features

MOST_FEATURES = 30_000
WORDS, LETTERS, FACTS = 0.75, 0.66, 0.3  # what word n-grams, character n-grams and each fact weigh in a row
CODES = 2.0  # by how much more the code of an error weighs than another word: often it alone tells two classes apart
Row = dict[int, float]


class Vectors:
    """A vocabulary with the weight of each n-gram: rare ones tell more. A line's unknown n-grams weigh too, so that a strange line says little."""

    def __init__(self, names: Sequence[str], rarity: Sequence[float], facts: Sequence[str], lines: int) -> None:
        self.names = tuple(names)
        self.rarity = tuple(rarity)
        self.facts = tuple(facts)
        self.lines = lines
        self._at = {name: i for i, name in enumerate(names)}
        self._fact_at = {name: len(names) + i for i, name in enumerate(facts)}
        self._unknown = (math.log(1 + lines) + 1) ** 2
        self._rows: dict[str, Row] = {}

    @classmethod
    def of(cls, examples: Iterable[Example]) -> Vectors:
        """The vocabulary of the examples' lines, the most frequent n-grams where there are too many, and their facts."""
        listed = list(examples)
        masks = dict.fromkeys(mask for e in listed for mask in e.lines)
        frequency: Counter[str] = Counter()
        for mask in masks:
            for group in line_features(mask):
                frequency.update(group)
        names = [name for name, _ in sorted(frequency.items(), key=lambda item: (-item[1], item[0]))[:MOST_FEATURES]]
        facts = sorted({fact for e in listed for fact in e.facts})
        return cls(names, [math.log((1 + len(masks)) / (1 + frequency[name])) + 1 for name in names], facts, len(masks))

    @property
    def width(self) -> int:
        return len(self.names) + len(self.facts)

    def name(self, index: int) -> str:
        return self.names[index] if index < len(self.names) else self.facts[index - len(self.names)]

    def row(self, example: Example) -> Row:
        """The figures of one incident by the number of their feature."""
        row: Row = {}
        for mask in example.lines:
            for i, value in self.of_line(mask).items():
                if value > row.get(i, 0.0):
                    row[i] = value
        row.update((self._fact_at[fact], FACTS) for fact in example.facts if fact in self._fact_at)
        return row

    def of_line(self, mask: str) -> Row:
        """The figures of one line; kept, since lines repeat."""
        known = self._rows.get(mask)
        if known is None:
            known = self._rows[mask] = {}
            for group, weight in zip(line_features(mask), (WORDS, LETTERS), strict=True):
                known.update(self._unit([self._at[n] for n in group if n in self._at], len(group), weight))
        return known

    def _unit(self, found: Sequence[int], count: int, weight: float) -> Row:
        square = sum(self.rarity[i] ** 2 for i in found) + (count - len(found)) * self._unknown
        return {i: weight * self.rarity[i] / math.sqrt(square) * (CODES if is_code(self.names[i]) else 1.0) for i in found}
