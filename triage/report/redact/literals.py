"""Finds where the value ends that stands behind a name in a log line: a quoted text, a list, a dict, a call, or a bare word."""

from __future__ import annotations

import re

_OPENING = re.compile(r"\s{0,4}(?:array(?=\()|[A-Za-z_.]{1,40}\()?[brfuBRFU]{0,2}(?P<open>\\{0,15}[\"']|[\[({])?")
_BARE = re.compile(r"(?!\\{1,16}[nrt])[^\s\"',;)}\]&|]+")
_TELLING = re.compile(r"[\\\"'\[\](){}]")
_CLOSED_BY = {"[": "]", "(": ")", "{": "}"}
NOTHING = frozenset({"None", "null", "True", "False", "true", "false", "nil", "none", "***", "**REDACTED**", "REDACTED"})


def value_after(text: str, start: int, *, bare: bool) -> tuple[int, int] | None:
    """From where to where the value goes whose name ends at `start`, without its quotes or brackets; None where there is none.

    A value that never ends goes to the end of the text: what looks like the rest of it may be. Linear in what it skips.
    """
    opening = _OPENING.match(text, start)
    mark = opening["open"] if opening else None
    if opening is None or mark is None:
        return _word(text, start) if bare else None
    first = opening.end()
    last = _after_quote(text, first, mark) if mark[-1] in "\"'" else _after_bracket(text, first, mark)
    return (first, last) if first < last and text[first:last] not in NOTHING else None


def is_apostrophe(text: str, at: int) -> bool:
    """Whether the `'` at a place stands between two letters, as in `it's`: people's words are printed in quotes as they are."""
    return text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha()


def closing_of(text: str, start: int) -> str:
    """What would end the value that begins at `start` and has not ended: the quote before it; nothing where it ended or is no quoted text."""
    mark = text[start - 1 : start]
    return mark if mark in ("'", '"') else ""


def _word(text: str, start: int) -> tuple[int, int] | None:
    while start < len(text) and text[start] in " \t":
        start += 1
    found = _BARE.match(text, start)
    return found.span() if found and found[0] not in NOTHING else None


def _after_quote(text: str, start: int, mark: str) -> int:
    """Where the text ends that `mark` opened: a quote, or a quote behind a backslash (JSON inside JSON); an apostrophe in a word ends none."""
    quote, behind = mark[-1], len(mark) - 1
    while (end := text.find(quote, start)) >= 0:
        slashes = end - len(text[start:end].rstrip("\\")) - start
        if behind and slashes <= behind:  # with more of them it is a quote of what is quoted in there
            return end - slashes
        if not behind and slashes % 2 == 0 and not (mark == "'" and is_apostrophe(text, end)):
            return end
        start = end + 1
    return len(text)


def _after_bracket(text: str, start: int, mark: str) -> int:
    """Where the bracket closes that `mark` opened; brackets inside of quotes do not count."""
    awaited, at = [_CLOSED_BY[mark]], start
    while found := _TELLING.search(text, at):
        at, sign = found.end(), found[0]
        if sign == "\\":
            at += 1
        elif sign in "\"'":
            at = _after_quote(text, at, sign) + 1
        elif sign in _CLOSED_BY:
            awaited.append(_CLOSED_BY[sign])
        elif sign == awaited[-1]:
            awaited.pop()
            if not awaited:
                return found.start()
    return len(text)
