"""Learns one linear weight for each feature and class, and says how likely each class is; asking needs numpy, learning scikit-learn."""

from __future__ import annotations

import importlib
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from triage.learn.examples import BACKGROUND, Example
from triage.learn.features import likeness, shingles
from triage.learn.vectors import Row, Vectors

STRENGTH = 1.0  # of the penalty: LinearSVC's C
MOST_TURNS = 2000
EXEMPLARS = 256  # lines that are kept of one class


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
        self._runs: dict[tuple[str, str], list[int]] = {}  # by class and run of words the numbers of the exemplars that have it
        self._lengths = [len(shingles(exemplar.line)) for exemplar in self.exemplars]
        for number, exemplar in enumerate(self.exemplars):
            for run in shingles(exemplar.line):
                self._runs.setdefault((exemplar.fault_class, run), []).append(number)

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
        """How like the most like line of an incident is to one that was labelled with a class, and that one."""
        best: tuple[float, Exemplar | None] = (0.0, None)
        for mask in example.lines:
            own = shingles(mask)
            shared = Counter(number for run in own for number in self._runs.get((fault_class, run), ()))
            for number, common in shared.items():
                like = likeness(common, len(own), self._lengths[number])
                if like > best[0]:
                    best = (like, self.exemplars[number])
        return best

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
    """The different lines of each class, the most frequent first, as far as they are kept; what other classes have more often is left out."""
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
        if 2 * most > sum(by_class.values()) and name != BACKGROUND:
            kept.setdefault(name, []).append((most, mask))
    best = {name: sorted(lines, key=lambda item: (-item[0], item[1]))[:EXEMPLARS] for name, lines in kept.items()}
    return [Exemplar(name, mask, first[name, mask]) for name in sorted(best) for _, mask in best[name]]


def matrix(rows: Sequence[Row], width: int) -> Any:
    """The rows as one sparse matrix (scipy CSR)."""
    import numpy as np

    sparse: Any = importlib.import_module("scipy.sparse")
    ends = np.cumsum([0, *(len(row) for row in rows)])
    at = np.fromiter((i for row in rows for i in sorted(row)), dtype=np.int32, count=int(ends[-1]))
    values = np.fromiter((row[i] for row in rows for i in sorted(row)), dtype=np.float32, count=int(ends[-1]))
    return sparse.csr_matrix((values, at, ends), shape=(len(rows), width))
