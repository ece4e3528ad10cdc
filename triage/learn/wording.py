"""Varies lines as sites and versions do: other numbers, names and clocks; on request other words, a cut, a frame of somebody else's words."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from triage.parsers.tags import tag

LONG = 13  # words of a line that may be cut
_STAMP = re.compile(r"\b(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d")
_VOLATILE = re.compile(
    r"pid=\d+|\(pid:? \d+\)|\b0x[0-9a-f]{4,}\b|(?<=TP)\d\b|(?<=[Rr]ank )\d\b|(?<=\[rank)\d\b|\b\d+\.\d+(?= [GM]i?B)|"
    r"(?<![\w.\-/:])\d{5,}(?![\w.\-/:])"
)
_DIGIT = re.compile(r"\d")
_NAMES = {"maple-70b": ("cedar-32b", "birch-9b", "maple-70b"), "oak-8b": ("elm-14b", "oak-8b", "ash-3b"), "node-1": ("node-7", "gpu-b", "node-1")}
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "failed": ("did not succeed", "has failed"), "error": ("fault", "failure"), "cannot": ("is not able to", "can not"), "invalid": ("bad", "wrong"),
    "timed": ("ran",), "detected": ("found", "noticed"), "unable": ("not able",), "received": ("got",), "could": ("was able to",),
    "while": ("when",), "during": ("in the course of",), "found": ("seen",), "missing": ("absent",), "expected": ("wanted",), "process": ("task",),
    "died": ("went away",), "exited": ("ended",), "lost": ("gone",), "attempted": ("tried",), "requested": ("asked for",), "too": ("far too",),
}  # fmt: skip
_FRAMES = ("Caught in step: {}", "{} (giving up)", "attempt 1: {}", "[watch] {}", "{} -- see above", "fatal: {}")


class Variation:
    """Other process ids, addresses, sizes and names for one life of an engine: the same for the same wherever they stand. Codes of errors stay."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = {name: rng.choice(others) for name, others in _NAMES.items()}
        self._figures: dict[str, str] = {}

    def of(self, text: str, clock: str) -> str:
        """`text` varied, and with `clock` (month-day and time) in its own stamps."""
        for name, other in self._names.items():
            text = text.replace(name, other)
        text = _VOLATILE.sub(lambda found: self._other(found[0]), text)
        return _STAMP.sub(lambda found: found[0][: len(found[0]) - len(clock)] + clock, text)

    def _other(self, figure: str) -> str:
        if figure not in self._figures:
            self._figures[figure] = _DIGIT.sub(lambda _: str(self._rng.randint(1, 8)), figure)
        return self._figures[figure]


def reworded(text: str, rng: random.Random) -> str:
    """`text` as another version might say it: one to three of other words, a word left out, the end cut, a frame around it. Its speaker stays."""
    message = tag(text).message
    ways: tuple[Callable[[str, random.Random], str], ...] = (_other_words, _without_a_word, _cut, _framed)
    said = message
    for way in rng.sample(ways, rng.choice((1, 1, 2, 3))):
        said = way(said, rng)
    return text.removesuffix(message) + said


def shuffled_words(text: str, rng: random.Random) -> str:
    """`text` with the words of its message in any order: what no engine ever said."""
    message = tag(text).message
    words = message.split()
    rng.shuffle(words)
    return text.removesuffix(message) + " ".join(words)


def _other_words(text: str, rng: random.Random) -> str:
    words = [rng.choice(_SYNONYMS.get(word, (word,))) for word in text.split(" ")]
    return " ".join(words)


def _without_a_word(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    if len(words) < 5:
        return text
    del words[rng.randrange(1, len(words))]
    return " ".join(words)


def _cut(text: str, rng: random.Random) -> str:
    words = text.split(" ")
    if len(words) < LONG:  # loggers cut long lines; of a short one nothing would be left to know it by
        return text
    return " ".join(words[: round(len(words) * rng.uniform(0.6, 0.9))])


def _framed(text: str, rng: random.Random) -> str:
    return rng.choice(_FRAMES).format(text)
