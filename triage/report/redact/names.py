"""Gives each person, host and address one name that says nothing, and finds it again wherever it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

_PIECE = re.compile(r"[^\W_]+")
_GIVEN = re.compile(r"(?:HOST|USER|EMAIL|IP|MAC|CONTAINER|ACCOUNT)\d+")
SHORTEST = 3  # letters, or 2 where one is a digit: what is shorter has too many other meanings to be looked for everywhere


def is_telling(name: str) -> bool:
    """Whether a host's name is none that is a word, too: it has a digit, a hyphen or a dot (`router`, `git` and `db` have none)."""
    return any(sign.isdigit() or sign in "-." for sign in name)


class Names:
    """Pseudonyms by kind, in the order in which they were met: `HOST1`, `USER1`, `IP1` …

    Letters are compared without their case. A host is also known by the first part of its full name, where that is telling.
    """

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self._kept = {name.lower() for name in kept}
        self._longest = max(map(len, self._kept), default=0)
        self._given: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()
        self._known: dict[str, list[tuple[str, str, str]]] = {}  # first piece -> (whole name, kind, pseudonym), longest first

    def of(self, kind: str, name: str, *, everywhere: bool = False) -> str:
        """The pseudonym of a name, a new one where it was never met. What is kept, or was given by us, stays as it is."""
        key = name.lower().rstrip(".")
        if self.keeps(key):
            return name
        first = key.partition(".")[0]
        host = first if kind == "host" and is_telling(first) else key
        given = self._given.get((kind, key)) or self._given.get((kind, host)) or self._new(kind)
        for form in dict.fromkeys((key, host)):
            if (kind, form) not in self._given and not self.keeps(form):
                self._given[kind, form] = given
                if everywhere:
                    self._look_for(form, kind, given)
        return given

    @property
    def met(self) -> int:
        """How many names are known by now."""
        return len(self._given)

    def keeps(self, name: str) -> bool:
        """Whether a name says nothing about anybody, or is one of ours already."""
        lower = name.lower()
        if lower in self._kept or _GIVEN.fullmatch(name.upper()):
            return True
        tail = lower[-self._longest - 1 :]  # what is longer than all that is kept need not be looked up
        above = [place + 1 for place, sign in enumerate(tail) if sign == "."]
        return any(tail[start:] in self._kept and "." in tail[start:] for start in above)

    def replaced(self, text: str, tell: Callable[[str], None]) -> str:
        """`text` with each name that is looked for everywhere replaced by its pseudonym; `tell` hears the kind of each. Linear."""
        if not self._known:
            return text
        lower, out, done = text.lower(), [], 0
        if len(lower) != len(text):  # a few letters become two when they are made small
            lower = "".join(small if len(small := sign.lower()) == 1 else sign for sign in text)
        for piece in _PIECE.finditer(lower):
            if piece.start() < done:
                continue
            for name, kind, given in self._known.get(piece[0], ()):
                end = piece.start() + len(name)
                if lower.startswith(name, piece.start()) and not (end < len(lower) and lower[end].isalnum()):
                    out += [text[done : piece.start()], given]
                    done = end
                    tell(kind)
                    break
        return "".join((*out, text[done:])) if out else text

    def _new(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind.upper()}{self._numbers[kind]}"

    def _look_for(self, name: str, kind: str, given: str) -> None:
        pieces = _PIECE.match(name)
        if pieces is None or len(name) < SHORTEST - any(map(str.isdigit, name)) or name.isdigit():
            return
        same = self._known.setdefault(pieces[0], [])
        same.append((name, kind, given))
        same.sort(key=lambda known: -len(known[0]))
