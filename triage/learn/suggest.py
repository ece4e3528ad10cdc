"""Says which unlabelled incidents a person should look at first: those of which most others are like, and of which a model knows least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triage.history.query import Entry
from triage.learn.examples import BACKGROUND, Example, example
from triage.learn.features import likeness, shingles
from triage.learn.model_file import Model

ALIKE = 0.5
MOST = 2000  # incidents that are compared


class Suggestion(NamedTuple):
    """An incident whose label would teach: how many more its label would speak for, and what the model takes it for now, if anything."""

    entry: Entry
    others: tuple[str, ...]
    guess: str
    probability: float
    line: str


def suggestions(entries: Sequence[Entry], model: Model | None, most: int) -> list[Suggestion]:
    """The incidents whose labels would teach most, the best first: one of each kind."""
    asked = [(entry, example(entry.verdict, "")) for entry in entries[-MOST:]]
    asked = [(entry, shown) for entry, shown in asked if shown.lines]
    guesses = [_guess(shown, model) for _, shown in asked]
    alike = _alike([shown for _, shown in asked])
    left = set(range(len(asked)))
    out: list[Suggestion] = []
    while left and len(out) < most:
        best = max(sorted(left), key=lambda i: len(alike[i] & left) * (1 - guesses[i][1]))
        members = sorted(alike[best] & left)
        entry, shown = asked[best]
        out.append(Suggestion(entry, tuple(asked[i][0].id for i in members if i != best), *guesses[best], shown.lines[0]))
        left -= {best, *members}
    return out


def _guess(shown: Example, model: Model | None) -> tuple[str, float]:
    if model is None:
        return "", 0.0
    answer = model.classifier.answer(shown)
    return ("", 0.0) if answer.fault_class == BACKGROUND or answer.likeness < ALIKE else (answer.fault_class, answer.probability)


def _alike(examples: Sequence[Example]) -> list[set[int]]:
    """For each example those, itself among them, whose first line is like its first line."""
    runs = [shingles(e.lines[0]) for e in examples]
    of_line: dict[str, set[int]] = {}
    for number, e in enumerate(examples):
        of_line.setdefault(e.lines[0], set()).add(number)
    kinds = list(of_line)
    near = {one: {other for other in kinds if _is_alike(runs[min(of_line[one])], runs[min(of_line[other])])} | {one} for one in kinds}
    return [set().union(*(of_line[other] for other in near[e.lines[0]])) for e in examples]


def _is_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return likeness(len(one & other), len(one), len(other)) >= ALIKE
