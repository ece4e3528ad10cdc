"""Writes and reads a model: one line that says what it is, a hash, a typed JSON document, and plain figures. Nothing in it can be run.

The form of the file, all of it in this order; there is no pickle, no archive and no code in it, and reading it makes no object but text and figures::

    TRIAGE-MODEL 1\\n
    <sha256 of all that follows, 64 hex digits>\\n
    <bytes of the document, in decimal digits>\\n
    <the document: JSON in the shape of `Card`>
    <float32, little-endian: features x classes weights, then one bias a class>

A hash finds damage and hands that meddled; it does not say who wrote the file. What it holds is checked against the sizes that it names.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from triage.learn.calibration import Calibration, Measured
from triage.learn.classifier import EXEMPLAR_TEXT, EXEMPLARS, Classifier, Exemplar
from triage.learn.features import FEATURES_VERSION, LONGEST_MASK
from triage.learn.vectors import MOST_FEATURES, Vectors

MAGIC = b"TRIAGE-MODEL 1\n"
LARGEST = 64 << 20  # bytes
LARGEST_DOCUMENT = 8 << 20
MOST_CLASSES = 64
MOST_LINES = 1 << 20
MOST_COUNTED = 1 << 40  # incidents, hosts, labels
LONGEST_WORD, LONGEST_SAID = 1000, 8192  # characters of a feature's name or an incident's id, and of what a model says of itself
NAME = r"[a-z0-9][a-z0-9-]{0,63}"


class ModelError(ValueError):
    """A file that is no model of ours, or not one that can be used here: the message names it and says why."""


class Support(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many labelled incidents of a class there were, how many episodes they make, and whether that was enough to learn it."""

    fault_class: str
    incidents: int
    episodes: int
    enough: bool


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that a model says of itself, and all of it but its weights."""

    triage: str
    rules: str
    features: str
    trained: str  # when, ISO 8601 UTC
    source: str  # what it was trained from, in words
    incidents: int
    hosts: int
    people: int  # labels that people gave
    support: tuple[Support, ...]
    calibration: Calibration
    held_out: Measured
    classes: tuple[str, ...]
    names: tuple[str, ...]
    rarity: tuple[float, ...]
    facts: tuple[str, ...]
    lines: int
    exemplars: tuple[Exemplar, ...]


class Model(msgspec.Struct, frozen=True):
    """A model as it is asked: its card, its classifier, and the first digits of its hash."""

    card: Card
    classifier: Classifier
    digest: str

    @property
    def named(self) -> frozenset[str]:
        """The classes that it learnt from enough labels to name them."""
        return frozenset(s.fault_class for s in self.card.support if s.enough)


def default_model() -> Path:
    """`$XDG_STATE_HOME/triage/model.triage` and so on: beside the history."""
    from triage.history.place import default_store

    return default_store().with_name("model.triage")


def as_bytes(card: Card, classifier: Classifier) -> bytes:
    """The whole file."""
    import numpy as np

    figures = np.concatenate([classifier.weights.ravel(), classifier.bias]).astype("<f4").tobytes()
    document = msgspec.json.encode(card)
    body = b"%d\n%s%s" % (len(document), document, figures)
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def load_model(path: Path) -> Model:
    """The model in a file. Raises ModelError where it is none, is damaged or was changed, or was made for other features."""
    return read_model(path, _content(path))


def read_model(path: Path, content: bytes) -> Model:
    """The model that the bytes of a file are. `path` is what a ModelError names; it is raised as `load_model` does."""
    if not content.startswith(MAGIC):
        raise ModelError(f"{path}: it does not begin as a model of `triage model train` does ({MAGIC.decode().strip()}): it was not read")
    head, _, body = content[len(MAGIC) :].partition(b"\n")
    digest = hashlib.sha256(body).hexdigest()
    if head != digest.encode():
        raise ModelError(f"{path}: it is damaged or was changed since it was written (its hash does not fit): train it again")
    length, _, rest = body.partition(b"\n")
    if not length.isdigit() or len(length) > 9 or int(length) > len(rest):
        raise ModelError(f"{path}: it is cut short: train it again")
    if int(length) > LARGEST_DOCUMENT:
        raise ModelError(f"{path}: it says {int(length):,} bytes of itself, more than any model does: it was not read")
    card = _card(path, rest[: int(length)])
    return Model(card, _classifier(path, card, rest[int(length) :]), digest[:8])


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ModelError(f"{path}: it is no regular file: it was not read")
            if status.st_size > LARGEST:
                raise ModelError(f"{path}: {status.st_size:,} bytes are more than any model has: it was not read")
            return file.read(LARGEST + 1)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}: `triage model train -o FILE` writes a model") from error


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; of a pipe that nobody writes to it does not wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _card(path: Path, document: bytes) -> Card:
    try:
        version = msgspec.json.decode(document, type=_Versioned).features
        if version != FEATURES_VERSION:
            raise ModelError(f"{path}: it knows incidents by features {version[:20]!r}, this triage by {FEATURES_VERSION}: train it again")
        card = msgspec.json.decode(document, type=Card)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ModelError(f"{path}: what it says of itself is not in the form of a model ({error})") from error
    strange = _strange(card)
    if strange:
        raise ModelError(f"{path}: {strange}: it was not used")
    return card


class _Versioned(msgspec.Struct, frozen=True):
    features: str


def _strange(card: Card) -> str:
    """What cannot be true of a model; nothing where all of it may be."""
    import math
    import re

    said = (card.triage, card.rules, card.trained, card.source)
    if any(len(text) > LONGEST_SAID for text in said) or any(len(word) > LONGEST_WORD for word in (*card.names, *card.facts)):
        return "it has longer words than training makes"
    if not all(0 <= count <= MOST_COUNTED for count in _counts(card)):
        return "a count in it cannot be"
    if not 2 <= len(card.classes) <= MOST_CLASSES or len(set(card.classes)) != len(card.classes) or len(card.support) > MOST_CLASSES:
        return "its classes are too few, too many or twice the same"
    named = (*card.classes, *(e.fault_class for e in card.exemplars), *(s.fault_class for s in card.support))
    if not all(re.fullmatch(NAME, name) for name in named):
        return "the name of a class in it is none"
    if len(card.names) != len(card.rarity) or len(card.names) + len(card.facts) > 2 * MOST_FEATURES or not 0 <= card.lines <= MOST_LINES:
        return "its vocabulary does not fit"
    kept, classes = card.exemplars, len(card.classes)
    if len(kept) > EXEMPLARS * classes or sum(len(e.line) for e in kept) > EXEMPLAR_TEXT * classes or any(map(_is_long, kept)):
        return "it keeps more lines, or longer ones, than training does"
    held = card.held_out
    if not 0 <= held.right <= held.named <= held.asked or not 0 <= held.error <= 1:
        return "its figures of held-out incidents cannot be"
    figures = (*card.rarity, card.calibration.temperature, card.calibration.probability, card.calibration.likeness)
    if not all(math.isfinite(figure) and 0 <= figure <= 1e4 for figure in figures):
        return "a figure in it is out of all bounds"
    return ""


def _counts(card: Card) -> Iterator[int]:
    yield from (card.incidents, card.hosts, card.people, card.calibration.held_out, card.held_out.asked)
    for learnt in card.support:
        yield from (learnt.incidents, learnt.episodes)


def _is_long(exemplar: Exemplar) -> bool:
    return len(exemplar.line) > LONGEST_MASK or len(exemplar.incident) > LONGEST_WORD


def _classifier(path: Path, card: Card, figures: bytes) -> Classifier:
    import numpy as np

    classes, features = len(card.classes), len(card.names) + len(card.facts)
    if len(figures) != 4 * (features + 1) * classes:
        raise ModelError(f"{path}: it holds {len(figures):,} bytes of weights where its classes and features need {4 * (features + 1) * classes:,}")
    values = np.frombuffer(figures, dtype="<f4")
    if not np.isfinite(values).all() or float(np.abs(values).max()) > 1e6:
        raise ModelError(f"{path}: a weight in it is no figure: it was not used")
    vectors = Vectors(card.names, card.rarity, card.facts, card.lines)
    return Classifier(
        vectors, card.classes, values[: features * classes].reshape(features, classes), values[features * classes :], card.exemplars,
        card.calibration.temperature,
    )  # fmt: skip
