"""JSON and CSV in which nothing that a log holds can act: no raw control or direction-changing character, no formula for a spreadsheet."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from triage.report import words

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def as_json(value: Any, *, indent: bool = True) -> str:
    """A document whose texts are what they were, with every character that acts on a terminal written as an escape."""
    return escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else 0).decode())


def escaped(document: str) -> str:
    r"""JSON text, or lines of it, with `\u` escapes for what acts: such characters stand in strings only."""
    return document if document.isascii() and "\x7f" not in document else _acting().sub(lambda found: _escape(found[0]), document)


@cache
def _acting() -> Any:
    """What orjson leaves as it is: DEL and C1 controls, marks that turn or hide text, ends of lines that are none in JSON."""
    import regex

    return regex.compile(r"[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]")


def _escape(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def cell(text: str) -> str:
    """Log text in a cell of CSV: no control characters, and nothing that a spreadsheet would take for a formula."""
    shown = words.clean(text)
    return "'" + shown if shown.lstrip()[:1] in FORMULA and shown.strip() else shown
