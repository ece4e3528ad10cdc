"""Trains a model from labelled incidents, and says what it learnt of which class and how well it did on what it had not seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from triage.knowledge.load import Knowledge
from triage.learn.calibration import Held, calibrated, measured
from triage.learn.classifier import Classifier, fit
from triage.learn.examples import BACKGROUND, Example, background, episodes, support
from triage.learn.features import FEATURES_VERSION
from triage.learn.model_file import Card, Support
from triage.model import Seconds
from triage.report.words import number

LEAST_INCIDENTS = 5  # of a class, before a model may name it
LEAST_EPISODES = 3
LEAST_IN_ALL = 20


class TooFewError(ValueError):
    """There is not enough to learn from: the message says what there is and what is needed."""


class Trained(NamedTuple):
    """What training gave: the card and the classifier that make a model, and what was said of each held-out incident."""

    card: Card
    classifier: Classifier
    held: list[Held]


def trained(examples: Sequence[Example], known: Knowledge, *, source: str, at: Seconds) -> Trained:
    """A model of the examples. `source` says in words what they come from.

    Raises TooFewError where they are too few, ModuleNotFoundError where scikit-learn is not installed.
    """
    from triage import __version__

    labels = {e.label for e in examples} - {BACKGROUND}
    if len(examples) < LEAST_IN_ALL or len(labels) < 2:
        raise TooFewError(
            f"{source}: {told_of(examples)}; at least {LEAST_IN_ALL} of 2 classes are needed. "
            "What the rules name counts, and so does what `triage history relabel` says"
        )
    known_nothing = background(known)
    calibration, held = calibrated(examples, known_nothing)
    classifier = fit(examples, known_nothing)
    classifier.temperature = calibration.temperature
    vectors = classifier.vectors
    learnt = supports(examples)
    card = Card(
        triage=__version__, rules=known.version, features=FEATURES_VERSION, trained=datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        source=source, incidents=len(examples), hosts=len({e.host for e in examples}), people=sum(e.person for e in examples),
        support=learnt, calibration=calibration, held_out=measured(held, calibration, enough(learnt)),
        classes=classifier.classes, names=vectors.names, rarity=vectors.rarity, facts=vectors.facts, lines=vectors.lines,
        exemplars=classifier.exemplars,
    )  # fmt: skip
    return Trained(card, classifier, held)


def told_of(examples: Sequence[Example]) -> str:
    """How many labelled incidents there are, of how many classes and in how many episodes, in words."""
    labels = {e.label for e in examples} - {BACKGROUND}
    loops = len(set(episodes(examples)))
    return f"{number(len(examples), 'labelled incident')} of {number(len(labels), 'class')} in {number(loops, 'episode')}"


def supports(examples: Sequence[Example]) -> tuple[Support, ...]:
    """What there is of each class, and whether that is enough to name it."""
    found = support(examples)
    return tuple(
        Support(name, incidents, loops, incidents >= LEAST_INCIDENTS and loops >= LEAST_EPISODES)
        for name, (incidents, loops) in found.items()
        if name != BACKGROUND
    )


def enough(learnt: Iterable[Support]) -> frozenset[str]:
    """The classes with enough labels to be named."""
    return frozenset(s.fault_class for s in learnt if s.enough)


def document(card: Card) -> dict[str, object]:
    """The card as plain values, without its vocabulary and its lines."""
    told: dict[str, object] = msgspec.to_builtins(card)
    return {name: value for name, value in told.items() if name not in ("names", "rarity", "facts", "exemplars")}
