"""Finds where the words of a user begin in a line: after that nothing is evidence, since a prompt may say anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import regex

from triage.expressions import SECONDS_PER_LINE, compiled_later

QUICK = 1024  # characters: a line up to this length is looked through without a clock
LONG_ENOUGH = 10  # characters of a text: what they let through that more of them would not is little
_READ_OTHERWISE = compiled_later(r"\(\?\w*i|\[:|\{(?!\d*,?\d*\})")  # by `regex` than by `re`: either case, classes by name, nearly alike


class UserWords:
    """The expressions of rules/user_text.toml, of which nearly every line is ruled out by the texts that a match of them must hold.

    `needed`: such texts in small letters for each expression, as `needed_texts` gives them; one that has none is tried on every line.
    """

    def __init__(self, begins: Sequence[str], needed: Mapping[str, Sequence[str]]) -> None:
        self._needed = tuple((text, begin) for begin in begins for text in needed.get(begin, ("",)) or ("",))
        self._cut = ("", "")

    def own_length(self, raw: bytes) -> int:
        """How many bytes of a whole line come before the words of a user; all of it where that cannot be told so soon.

        What carriage returns part are lines of their own.
        """
        if len(raw) > QUICK or b"\r" in raw:
            return len(raw)
        if raw.isascii():  # nearly all: what is compiled for texts does, and is not asked again of a line without an envelope
            return len(self.own_text(raw.decode("ascii")))
        possible = self._possible(raw.decode("latin-1"))
        end = _first_end(found for begin in possible if (found := _for_bytes(begin).search(raw)))
        return len(raw) if end is None else end

    def own_text(self, text: str) -> str:
        """A line up to where the words of a user begin in it. Raises TimeoutError where that takes too long to tell."""
        if self._cut[0] != text:  # several rules ask about one line
            possible = self._possible(text)
            self._cut = (text, text[: self._end(text, possible)] if possible else text)
        return self._cut[1]

    def _possible(self, text: str) -> list[str]:
        """The expressions that may match a line."""
        small = text.lower()
        return [begin for needed, begin in self._needed if needed in small]

    def _end(self, text: str, possible: Iterable[str]) -> int | None:
        limit = SECONDS_PER_LINE if len(text) > QUICK else None
        return _first_end(found for begin in possible if (found := _for_texts(begin).search(text, timeout=limit)))


def needed_texts(begins: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Texts in small letters for each expression, of which every match holds one; none where that cannot be told."""
    return {begin: _needed_by(begin) for begin in begins}


def _needed_by(begin: str) -> tuple[str, ...]:
    from triage.knowledge.literals import literals  # rules are compiled: seldom

    if not begin.isascii() or _READ_OTHERWISE.search(begin):
        return ()
    try:
        texts = {text.decode("ascii")[:LONG_ENOUGH] for text in literals(begin.encode())}
    except (re.error, UnicodeDecodeError):  # what only the module `regex` knows; a letter that is another byte than in the text, such as \xe9
        return ()
    return tuple(sorted(text for text in texts if not any(other in text for other in texts if other != text)))


@lru_cache(maxsize=64)
def _for_texts(begin: str) -> regex.Pattern[str]:
    return regex.compile(begin)


@lru_cache(maxsize=64)
def _for_bytes(begin: str) -> regex.Pattern[bytes]:
    return regex.compile(begin.encode())


def _first_end(begins: Iterable[regex.Match[str] | regex.Match[bytes]]) -> int | None:
    """Where the first one of some matches ends."""
    found = min(begins, key=lambda found: found.start(), default=None)
    return found.end() if found else None
