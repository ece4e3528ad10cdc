"""Variables in a compose file, as compose puts values in their place: `$X`, `${X:-default}`, `${X?error}`, `${X:+other}`, and `$$` for a dollar.

>>> interpolated("${A:-x} ${B} $$C", {"B": "b"}).text
'x b $C'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

DEEPEST = 8
_NAME = re.compile(r"[A-Za-z_]\w*")
_OPERATOR = re.compile(r":?[-?+]")


class Interpolated(NamedTuple):
    """The text, the variables whose values nobody knows here, and those that were taken as unset so that a default holds."""

    text: str
    unknown: tuple[str, ...]
    assumed: tuple[str, ...]


def interpolated(text: str, variables: Mapping[str, str]) -> Interpolated:
    """`text` with its variables replaced; one that is not known and has no default stays as it is written."""
    made, unknown, assumed = _replaced(text, variables, 0)
    return Interpolated(made, tuple(dict.fromkeys(unknown)), tuple(dict.fromkeys(assumed)))


def _replaced(text: str, variables: Mapping[str, str], depth: int) -> tuple[str, list[str], list[str]]:
    out: list[str] = []
    unknown: list[str] = []
    assumed: list[str] = []
    at, closing = 0, _closing(text)
    while (sign := text.find("$", at)) >= 0:
        out.append(text[at:sign])
        at, made = _one(text, sign, closing, variables, depth, unknown, assumed)
        out.append(made)
    return "".join([*out, text[at:]]), unknown, assumed


def _one(
    text: str, sign: int, closing: Mapping[int, int], variables: Mapping[str, str], depth: int, unknown: list[str], assumed: list[str]
) -> tuple[int, str]:
    """What stands for the variable at a dollar sign, and where the text goes on."""
    if text.startswith("$$", sign):
        return sign + 2, "$"
    if found := _NAME.match(text, sign + 1):
        return found.end(), _plain(found[0], text[sign : found.end()], variables, unknown)
    end = closing.get(sign + 1, -1)
    if end < 0 or not (found := _NAME.match(text, sign + 2)):
        return sign + 1, "$"
    name, rest = found[0], text[found.end() : end]
    operator = _OPERATOR.match(rest)
    if operator is None:
        return end + 1, _plain(name, text[sign : end + 1], variables, unknown)
    return end + 1, _with_operator(name, operator[0], rest[operator.end() :], variables, depth, unknown, assumed)


def _plain(name: str, written: str, variables: Mapping[str, str], unknown: list[str]) -> str:
    if name in variables:
        return variables[name]
    unknown.append(name)
    return written


def _with_operator(
    name: str, operator: str, rest: str, variables: Mapping[str, str], depth: int, unknown: list[str], assumed: list[str]
) -> str:
    value = variables.get(name)
    is_set = value is not None and (value != "" or ":" not in operator)
    if operator.endswith("?"):
        return value if is_set and value is not None else _plain(name, f"${{{name}}}", {}, unknown)
    if name not in variables:
        assumed.append(name)
    otherwise = value if is_set and value is not None else rest
    chosen = (rest if is_set else "") if operator.endswith("+") else otherwise
    if chosen is not rest or depth >= DEEPEST:
        return chosen
    made, more_unknown, more_assumed = _replaced(rest, variables, depth + 1)
    unknown += more_unknown
    assumed += more_assumed
    return made


def _closing(text: str) -> dict[int, int]:
    """For every opening brace the one that closes it, found in one pass: a file may be nothing but braces."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            found[opened.pop()] = brace.start()
    return found
