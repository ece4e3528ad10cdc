"""Reads what engines print of their settings: Python literals with enums and objects in them, JSON, and lists of name=value.

What cannot be a literal stays as it was written; what was cut off gives what was there::

>>> value("{'a': 1, 'mode': <CUDAGraphMode.FULL_DECODE_ONLY: (2, 0)>, 'b': [True, null")
{'a': 1, 'mode': 'FULL_DECODE_ONLY', 'b': [True, None]}
>>> pairs("model='m', dtype=torch.bfloat16, compilation_config={'mode': 3}")
{'model': 'm', 'dtype': 'torch.bfloat16', 'compilation_config': {'mode': 3}}
"""

from __future__ import annotations

import re
import sys
from typing import Any

LONGEST = 400_000
DEEPEST = 40
_NAME = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=(?!=)")
_ENUM = re.compile(r"<\s*(?:\w+\.)+(\w+)\s*:[^<>]*>|<[^<>]{0,200}>")
_BARE = re.compile(r"[^\s,(){}\[\]'\"=:<]+(?:[ ](?=[\w.])[^\s,(){}\[\]'\"=:<]+)*")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'?|\"((?:[^\"\\]|\\.)*)\"?", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x(?P<two>[0-9a-f]{2})|u(?P<four>[0-9a-f]{4})|U(?P<eight>[0-9a-f]{8})|(?P<one>.))", re.DOTALL)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORDS: dict[str, Any] = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def value(text: str) -> Any:
    """The value that a text begins with, as dicts, lists, strings, numbers, True, False and None."""
    return _Reader(text[:LONGEST]).value(0)


def pairs(text: str) -> dict[str, Any]:
    """`name=value, name=value ...`, up to where that ends; also inside the brackets of `ServerArgs(...)`, without them."""
    reader = _Reader(text[:LONGEST])
    return reader.pairs(0, "")


def _unescaped(found: re.Match[str]) -> str:
    code = found["two"] or found["four"] or found["eight"]
    if code is None:
        return _PLAIN_ESCAPES.get(found["one"], found["one"])
    return chr(int(code, 16)) if int(code, 16) <= sys.maxunicode else "\ufffd"


class _Reader:
    """A text and how far it was read. Never raises: what makes no sense is taken as a bare word."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, depth: int) -> Any:
        self._blanks()
        here = self._peek()
        if not here:
            return None
        if here in _CLOSING:
            return self._nested(here, depth)
        if here in "'\"":
            return self._string()
        if here == "<" and (found := _ENUM.match(self.text, self.at)):
            self.at = found.end()
            return found[1] or found[0]
        return self._word(depth)

    def pairs(self, depth: int, closing: str) -> dict[str, Any]:
        told: dict[str, Any] = {}
        while found := _NAME.match(self.text, self.at):
            self.at = found.end()
            told[found[1]] = self.value(depth + 1)
            if not self._next(closing):
                break
        return told

    def _nested(self, opening: str, depth: int) -> Any:
        start, closing = self.at, _CLOSING[opening]
        if depth >= DEEPEST:
            self.at = len(self.text)
            return self.text[start:]
        self.at += 1
        return self._mapping(depth, closing) if opening == "{" else self._items(depth, closing)

    def _mapping(self, depth: int, closing: str) -> Any:
        told: dict[str, Any] = {}
        items: list[Any] = []
        while self._more(closing):
            before, key = self.at, self.value(depth + 1)
            self._blanks()
            if self._peek() == ":":
                self.at += 1
                told[str(key)] = self.value(depth + 1)
            else:
                items.append(key)
            if not self._next(closing) or self.at == before:
                break
        return told if told or not items else items

    def _items(self, depth: int, closing: str) -> list[Any]:
        items = []
        while self._more(closing):
            before = self.at
            items.append(self.value(depth + 1))
            if not self._next(closing) or self.at == before:
                break
        return items

    def _more(self, closing: str) -> bool:
        self._blanks()
        if self._peek() == closing:
            self.at += 1
            return False
        return bool(self._peek())

    def _next(self, closing: str) -> bool:
        """Whether another item follows; takes the comma, or the bracket that closes."""
        self._blanks()
        here = self._peek()
        if here and here in ("," + closing):
            self.at += 1
        return here == ","

    def _string(self) -> str:
        found = _QUOTED.match(self.text, self.at)
        if found is None:  # cannot be: it begins with a quote
            self.at += 1
            return ""
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found[1] if found[1] is not None else found[2] or "")

    def _word(self, depth: int) -> Any:
        found = _BARE.match(self.text, self.at)
        if found is None:
            self.at += 1
            return self.text[self.at - 1]
        self.at = found.end()
        word = found[0].strip()
        if self._peek() == "(" and depth < DEEPEST:  # an object: what it was made with
            self.at += 1
            inside = self.pairs(depth + 1, ")")
            if not inside:
                self._nested_rest(depth)
            return inside or word
        if word in _WORDS:
            return _WORDS[word]
        if _NUMBER.fullmatch(word):
            return float(word) if any(mark in word for mark in ".eE") else int(word) if len(word) < 300 else word
        return word

    def _nested_rest(self, depth: int) -> None:
        if self.text[self.at - 1 : self.at] != ")":
            self._items(depth + 1, ")")

    def _blanks(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]
