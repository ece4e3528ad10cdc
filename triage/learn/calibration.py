"""Makes scores into probabilities that hold, and finds from where on a name is right often enough: on held-out incidents only."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from triage.learn.classifier import Answer, fit
from triage.learn.examples import BACKGROUND, Example
from triage.learn.folds import folds

PRECISION = 0.98  # of the names given to held-out incidents
LEAST_PROBABILITY = 0.85
LEAST_LIKENESS, MOST_LIKENESS = 0.4, 0.7  # whatever held-out incidents say: a line with other words in it may be the same, and a mixed one is not
LIKE_MOST = 0.05  # share of rightly recognised held-out incidents that may be too unlike
LEAST_NAMED = 20  # held-out incidents that must have been named before the precision is believed
BINS = 10
TEMPERATURES = tuple(1.12**step for step in range(-2, 32))


class Held(NamedTuple):
    """A held-out incident and what a model that had not seen it, its host or its time said."""

    example: Example
    answer: Answer
    known: bool  # whether its class was among those learnt


class Calibration(msgspec.Struct, frozen=True, kw_only=True):
    """How scores become probabilities, and from which probability and likeness on a name is given. `enough`: whether that could be shown."""

    temperature: float
    probability: float
    likeness: float
    enough: bool
    held_out: int


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a model on incidents it was not trained on: how many it named, how many of those rightly, and how far its probabilities err."""

    asked: int
    named: int
    right: int
    error: float  # expected calibration error

    @property
    def precision(self) -> float | None:
        return self.right / self.named if self.named else None

    @property
    def recall(self) -> float | None:
        return self.right / self.asked if self.asked else None


def calibrated(examples: Sequence[Example], known_nothing: Sequence[Example]) -> tuple[Calibration, list[Held]]:
    """The calibration by held-out folds of the examples, and what was said of each held-out incident. Raises ModuleNotFoundError like `fit`."""
    asked: list[tuple[Example, Any, Any]] = []
    for fold in folds(examples):
        model = fit([examples[i] for i in fold.learnt], known_nothing)
        asked += [(examples[i], model, model.scores(examples[i])) for i in fold.asked]
    temperature = best_temperature([(s, m.classes.index(e.label)) for e, m, s in asked if e.label in m.classes])
    held = []
    for e, model, _ in asked:
        model.temperature = temperature
        held.append(Held(e, model.answer(e), e.label in model.classes))
    return _limits(temperature, held), held


def best_temperature(scored: Sequence[tuple[Any, int]]) -> float:
    """The temperature under which the true classes are likeliest; 1 where nothing tells. `scored`: scores and the number of the true class."""
    import numpy as np

    def surprise(temperature: float) -> float:
        total = 0.0
        for scores, true in scored:
            raised = temperature * scores
            total += float(np.log(np.exp(raised - raised.max()).sum()) + raised.max() - raised[true])
        return total

    return min(TEMPERATURES, key=surprise) if scored else 1.0


def _limits(temperature: float, held: Sequence[Held]) -> Calibration:
    """The least probability at which names of held-out incidents are right often enough."""
    right = sorted(h.answer.likeness for h in held if h.answer.fault_class == h.example.label != BACKGROUND)
    like = min(MOST_LIKENESS, max(LEAST_LIKENESS, right[int(LIKE_MOST * len(right))])) if right else 1.0
    for step in range(round(100 * LEAST_PROBABILITY), 100):
        named = [h for h in held if is_name(h.answer, step / 100, like)]
        good = sum(h.answer.fault_class == h.example.label for h in named)
        if len(named) >= LEAST_NAMED and good >= PRECISION * len(named):
            return Calibration(temperature=temperature, probability=step / 100, likeness=like, enough=True, held_out=len(held))
    return Calibration(temperature=temperature, probability=1.0, likeness=like, enough=False, held_out=len(held))


def is_name(answer: Answer, probability: float, likeness: float) -> bool:
    """Whether an answer is sure enough to be given."""
    return answer.fault_class != BACKGROUND and answer.probability >= probability and answer.likeness >= likeness


def given_names(held: Sequence[Held], calibration: Calibration, classes: Collection[str]) -> list[Held]:
    """Those of which `classify` would print a name. `classes`: those with enough labels to be named."""
    able = [h for h in held if calibration.enough and h.answer.fault_class in classes]
    return [h for h in able if is_name(h.answer, calibration.probability, calibration.likeness)]


def measured(held: Sequence[Held], calibration: Calibration, classes: Collection[str]) -> Measured:
    """The figures of what was said of held-out incidents. `classes`: those with enough labels to be named."""
    named = given_names(held, calibration, classes)
    return Measured(
        asked=len(held), named=len(named), right=sum(h.answer.fault_class == h.example.label for h in named),
        error=calibration_error([(h.answer.probability, h.answer.fault_class == h.example.label) for h in held]),
    )  # fmt: skip


def calibration_error(said: Sequence[tuple[float, bool]]) -> float:
    """The expected calibration error: how far probabilities and shares of right answers lie apart, in ten bins of equal width, by their weight.

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, equation 3.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for probability, right in said:
        bins.setdefault(min(BINS - 1, math.floor(probability * BINS)), []).append((probability, right))
    return sum(abs(sum(p for p, _ in own) - sum(r for _, r in own)) for own in bins.values()) / len(said) if said else 0.0
