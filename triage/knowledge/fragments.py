"""Writes the patterns of a rule file out in full: line breaks go, and each `{{name}}` becomes the part of a pattern that bears that name.

Done on the decoded TOML, before anything else sees it, so that the scanner, the checks and the pages know whole patterns only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from triage.expressions import compiled_later
from triage.knowledge.schema import Fragment

PATTERN_KEYS = frozenset({"pattern", "scan", "frame", "no_frame", "unless_above"})
_USE = compiled_later(r"\{\{(?P<name>.*?)\}\}")


class FragmentError(ValueError):
    """A pattern that uses a fragment which is not there: the message names the key and the fragment."""


def written_out(told: Any, known: Mapping[str, str], key: str = "$") -> Any:
    """A decoded TOML value with the patterns in it written out; `known` has the text of each fragment by its name.

    Over several lines, breaks stand for nothing, and neither do the blanks that begin a line: a pattern is for one line of text.
    `{{` begins no quantifier; two braces that a log has are escaped. Raises FragmentError.
    """
    if isinstance(told, dict):
        return {name: _pattern_or_more(name, value, known, f"{key}.{name}") for name, value in told.items()}
    if isinstance(told, list):
        return [written_out(value, known, f"{key}[{index}]") for index, value in enumerate(told)]
    return told


def with_fragments(told: Mapping[str, Fragment], below: Mapping[str, str]) -> dict[str, str]:
    """The text of each fragment: those of the folders below, then those of one fragments.toml, which may use all that stand above them.

    Raises FragmentError where one uses itself or one that comes later.
    """
    known = dict(below)
    for name, fragment in told.items():
        known[name] = _whole(fragment.pattern, known, f"$.{name}.pattern")
    return known


def _pattern_or_more(name: str, value: Any, known: Mapping[str, str], key: str) -> Any:
    return _whole(value, known, key) if name in PATTERN_KEYS and isinstance(value, str) else written_out(value, known, key)


def _whole(pattern: str, known: Mapping[str, str], key: str) -> str:
    joined = "".join(line.lstrip(" \t") for line in pattern.split("\n")) if "\n" in pattern else pattern
    for use in _USE.finditer(joined):
        if use["name"] not in known:
            raise FragmentError(f"no fragment is called `{use['name']}` (two braces of a log are escaped) - at `{key}`")
    return _USE.sub(lambda use: known[use["name"]], joined)
