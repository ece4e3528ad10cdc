"""The nouns of drift: words of a command with their place, settings that somebody asked for, and all that one file asks of one engine."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec


class AskedError(ValueError):
    """A file that asks for nothing, or cannot be read as what it looks like; says which, where, and what to do."""


class Word(NamedTuple):
    """One word of a command line: its text, where it stands (`file:line`), and why its value is not known, where it is not.

    `several`: what it stands for may be more than one word, `$ARGS` without quotes.
    """

    text: str
    place: str = ""
    why: str = ""
    several: bool = False


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One option or variable as asked for: `value` is what was written, `given` how; `why` it cannot be known, where it cannot."""

    kind: Literal["option", "variable", "image"]
    name: str
    value: Any = None
    place: str = ""
    given: str = ""
    why: str = ""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """All that one service, container or unit asks of its engine. `hidden`: what may set more, and cannot be seen from here."""

    what: str
    engine: str = ""
    words: tuple[Word, ...] = ()
    variables: tuple[Setting, ...] = ()
    image: Setting | None = None
    hidden: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def variable(name: str, value: str | None, place: str, why: str = "") -> Setting:
    """A variable; None where its value comes from somewhere else."""
    given = name if value is None else f"{name}={value}"
    return Setting(kind="variable", name=name, value=value, place=place, given=given, why=why or ("" if value is not None else "given elsewhere"))
