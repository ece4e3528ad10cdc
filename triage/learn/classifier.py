"""Learns one linear weight for each feature and class, and says how likely each class is; asking needs numpy, learning scikit-learn."""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Sequence
from heapq import nlargest
from itertools import accumulate
from typing import Any, NamedTuple

from triage.learn.examples import BACKGROUND, Example
from triage.learn.features import in_order, likeness, shingles
from triage.learn.vectors import Row, Vectors

STRENGTH = 1.0  # of the penalty: LinearSVC's C
MOST_TURNS = 2000
EXEMPLARS, EXEMPLAR_TEXT = 256, 32 << 10  # lines that are kept of one class, and characters of them
PURE = 0.9  # share of the incidents with a line that must be of one class: what others show as well proves nothing of it
TRIED = 16  # of the most like lines: the first of these with its words in order counts
ORDERED = 0.8  # share of their common words that must stand in the same order before two lines are alike


class Exemplar(NamedTuple):
    """A line (masked) of a labelled incident, by which others are found to be like it, and the id of the first such incident."""

    fault_class: str
    line: str
    incident: str


class Answer(NamedTuple):
    """What a classifier says of one incident: the likeliest class (BACKGROUND: none), how likely, and how like its most like labelled line."""

    fault_class: str
    probability: float
    likeness: float
    exemplar: Exemplar | None


class Classifier:
    """Weights as `features x classes`, one bias a class; `temperature` makes of scores probabilities."""

    def __init__(
        self, vectors: Vectors, classes: Sequence[str], weights: Any, bias: Any, exemplars: Sequence[Exemplar], temperature: float = 5.0
    ) -> None:
        self.vectors = vectors
        self.classes = tuple(classes)
        self.weights = weights
        self.bias = bias
        self.exemplars = tuple(exemplars)
        self.temperature = temperature
        self._runs: dict[str, dict[str, list[int]]] = {}  # of each class that was asked about, by run of words the numbers of its exemplars

    def scores(self, example: Example) -> Any:
        """One score a class."""
        return self._scores(self.vectors.row(example))

    def probabilities(self, scores: Any) -> Any:
        """What scores say in probabilities, one a class."""
        import numpy as np

        raised = np.exp(self.temperature * (scores - scores.max(axis=-1, keepdims=True)))
        return raised / raised.sum(axis=-1, keepdims=True)

    def answer(self, example: Example) -> Answer:
        """The likeliest class of an incident, with what speaks for it."""
        chances = self.probabilities(self.scores(example))
        best = int(chances.argmax())
        like, exemplar = self.most_like(example, self.classes[best])
        return Answer(self.classes[best], float(chances[best]), like, exemplar)

    def most_like(self, example: Example, fault_class: str) -> tuple[float, Exemplar | None]:
        """How like the most like line of an incident is to one that was labelled with a class, and that one; mixed words are like nothing."""
        runs, alike = self._runs_of(fault_class), []
        for mask in example.lines:
            own = shingles(mask)
            shared = Counter(number for run in own for number in runs.get(run, ()))
            alike += [(likeness(common, len(own), len(shingles(self.exemplars[number].line))), -number, mask) for number, common in shared.items()]
        for like, number, mask in nlargest(TRIED, alike):
            if in_order(mask, self.exemplars[-number].line) >= ORDERED:
                return like, self.exemplars[-number]
        return 0.0, None

    def _runs_of(self, fault_class: str) -> dict[str, list[int]]:
        if fault_class not in self._runs:
            found = self._runs[fault_class] = {}
            for number, exemplar in enumerate(self.exemplars):
                for run in shingles(exemplar.line) if exemplar.fault_class == fault_class else ():
                    found.setdefault(run, []).append(number)
        return self._runs[fault_class]

    def spoke(self, example: Example, fault_class: str, most: int = 8) -> list[tuple[str, float]]:
        """The features that spoke most for a class against the mean of the others, and how much, the strongest first."""
        at = self.classes.index(fault_class)
        told = {i: value * float(self.weights[i, at] - self.weights[i].mean()) for i, value in self.vectors.row(example).items()}
        strongest = sorted(told, key=lambda i: -told[i])[:most]
        return [(self.vectors.name(i), round(told[i], 4)) for i in strongest if told[i] > 0]

    def _scores(self, row: Row) -> Any:
        import numpy as np

        at = np.fromiter(row, dtype=np.int64, count=len(row))
        values = np.fromiter(row.values(), dtype=np.float32, count=len(row))
        return values @ self.weights[at] + self.bias


def fit(examples: Sequence[Example], known_nothing: Sequence[Example]) -> Classifier:
    """A classifier that knows the examples, and of `known_nothing` that it says nothing. Raises ModuleNotFoundError without scikit-learn."""
    import numpy as np

    svm: Any = importlib.import_module("sklearn.svm")
    exceptions: Any = importlib.import_module("sklearn.exceptions")
    every = [*examples, *known_nothing]
    vectors = Vectors.of(every)
    model = svm.LinearSVC(C=STRENGTH, max_iter=MOST_TURNS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # a weight that is not settled to the last digit names the same
        model.fit(matrix([vectors.row(e) for e in every], vectors.width), [e.label for e in every])
    weights, bias = np.asarray(model.coef_, dtype=np.float32), np.asarray(model.intercept_, dtype=np.float32)
    if len(model.classes_) == 2:  # scikit-learn keeps one row for two classes
        weights, bias = np.vstack([-weights, weights]), np.concatenate([-bias, bias])
    classes = [str(name) for name in model.classes_]
    return Classifier(vectors, classes, np.ascontiguousarray(weights.T), bias, exemplars(examples))


def exemplars(examples: Sequence[Example]) -> list[Exemplar]:
    """The different lines of each class, the most frequent first, as far as they are kept; what other classes have as well is left out."""
    counts: dict[str, dict[str, int]] = {}
    first: dict[tuple[str, str], str] = {}
    for e in examples:
        for mask in e.lines:
            of_line = counts.setdefault(mask, {})
            of_line[e.label] = of_line.get(e.label, 0) + 1
            first.setdefault((e.label, mask), e.id)
    kept: dict[str, list[tuple[int, str]]] = {}
    for mask, by_class in counts.items():
        name, most = max(by_class.items(), key=lambda item: (item[1], item[0]))
        if most >= PURE * sum(by_class.values()) and name != BACKGROUND:
            kept.setdefault(name, []).append((most, mask))
    return [Exemplar(name, mask, first[name, mask]) for name in sorted(kept) for mask in _most_frequent(kept[name])]


def _most_frequent(lines: list[tuple[int, str]]) -> list[str]:
    """Of the lines of one class, with how often each was seen, as many as are kept."""
    masks = [mask for _, mask in sorted(lines, key=lambda item: (-item[0], item[1]))[:EXEMPLARS]]
    return [mask for mask, end in zip(masks, accumulate(map(len, masks)), strict=True) if end <= EXEMPLAR_TEXT]


def matrix(rows: Sequence[Row], width: int) -> Any:
    """The rows as one sparse matrix (scipy CSR)."""
    import numpy as np

    sparse: Any = importlib.import_module("scipy.sparse")
    ends = np.cumsum([0, *(len(row) for row in rows)])
    at = np.fromiter((i for row in rows for i in sorted(row)), dtype=np.int32, count=int(ends[-1]))
    values = np.fromiter((row[i] for row in rows for i in sorted(row)), dtype=np.float32, count=int(ends[-1]))
    return sparse.csr_matrix((values, at, ends), shape=(len(rows), width))
