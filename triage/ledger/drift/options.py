"""From the words of a command to an engine's options, by what the rules know of it: short names, booleans, lists, objects and dotted names.

    -tp 8  --tensor-parallel-size=8  --no-enable-prefix-caching  -O3  --compilation-config.cudagraph_mode FULL  --served-model-name a b
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triage.knowledge.configuration import EngineFlags, Flag
from triage.ledger.drift.asked import Setting, Word
from triage.ledger.literal import value

_LEVEL = re.compile(r"-O(?P<level>\d)")
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")
_MODEL = re.compile(r"\$\{?\w*MODEL\w*\}?", re.IGNORECASE)
LONGEST_GIVEN = 4000
MOST_VALUES = 1000  # of one option
SHELLS = ("sh", "bash", "dash", "ash", "zsh")


def engine_start(words: Sequence[Word], flags: Mapping[str, EngineFlags]) -> tuple[str, int] | None:
    """The engine that a command starts and the index of the first word after that; None where it starts none."""
    texts = [word.text for word in words]
    texts = [text.rpartition("/")[2] if text.startswith("/") else text for text in texts]
    for engine, known in flags.items():
        for start in sorted(known.starts, key=lambda s: -len(s)):
            parts = start.split()
            for at in range(len(texts) - len(parts) + 1):
                if texts[at : at + len(parts)] == parts:
                    return engine, at + len(parts)
    return None


def inner_command(words: Sequence[Word]) -> Word | None:
    """The text that a shell is to run: `sh -c TEXT`, also behind `exec` and the like."""
    for shell, option, text in zip(words, words[1:], words[2:], strict=False):
        if shell.text.rpartition("/")[2] in SHELLS and re.fullmatch(r"-[a-z]*c", option.text):
            return text
    return None


def options_of(words: Sequence[Word], known: EngineFlags) -> list[Setting]:
    """The options in the words after an engine's start, the last of each name, objects merged by their keys."""
    told: dict[str, Setting] = {}
    for setting in (setting for setting in _parsed(list(words), known) if setting.name):
        before = told.get(setting.name)
        if before is not None and isinstance(before.value, dict) and isinstance(setting.value, dict):
            setting = Setting(
                kind="option", name=setting.name, value=_merged(before.value, setting.value), place=setting.place,
                given=f"{before.given} {setting.given}"[:LONGEST_GIVEN], why=before.why or setting.why,
            )  # fmt: skip
        told[setting.name] = setting
    return list(told.values())


def unseen_in(words: Sequence[Word], known: EngineFlags) -> list[str]:
    """The words after an engine's start that may stand for options which nobody can see from here: `$EXTRA_ARGS`, `"$@"`."""
    return list(dict.fromkeys(setting.given for setting in _parsed(list(words), known) if not setting.name))


def flag_named(spelling: str, known: EngineFlags) -> Flag:
    """The flag of a spelling (`--tensor-parallel-size`), also of one that the rules do not know."""
    return _flag(spelling, _spelled(known))[0]


def flag_of(name: str, known: EngineFlags) -> Flag:
    """What the rules know of an option; a plain text where they do not."""
    return next((flag for flag in known.flags if flag.name == name), Flag(name=name))


def _parsed(words: list[Word], known: EngineFlags) -> Iterator[Setting]:
    spelled = _spelled(known)
    at, positional = 0, bool(known.positional)
    named = any(_flag(word.text.partition("=")[0], spelled)[0].name == known.positional for word in words if word.text.startswith("-"))
    while at < len(words):
        word = words[at]
        at += 1
        if not word.text.startswith("-") or word.text in ("-", "--") or _NEGATIVE.fullmatch(word.text):
            if word.why and (not positional or named or (word.several and not _MODEL.fullmatch(word.text))):
                yield Setting(kind="option", name="", place=word.place, given=word.text, why=word.why)
            elif positional and word.text not in ("-", "--"):
                yield Setting(kind="option", name=known.positional, value=word.text, place=word.place, given=word.text, why=word.why)
                positional = False
            continue
        taken, setting = _option(word, words[at : at + MOST_VALUES], spelled)
        at += taken
        yield setting


def _spelled(known: EngineFlags) -> dict[str, Flag]:
    return {spelling: flag for flag in known.flags for spelling in ("--" + flag.name.replace("_", "-"), *flag.also)}


def _option(word: Word, rest: Sequence[Word], spelled: Mapping[str, Flag]) -> tuple[int, Setting]:
    """One option, and how many of the words after it belong to it."""
    if level := _LEVEL.fullmatch(word.text):
        return 0, Setting(kind="option", name="optimization_level", value=level["level"], place=word.place, given=word.text)
    text, equals, inline = word.text.partition("=")
    first, *keys = text.split(".")
    flag, negated = _flag(first, spelled)
    if equals:
        values = [word._replace(text=inline)]
        taken = 0
    else:
        values = _values(rest, flag, one=bool(keys))
        taken = len(values)
    given = " ".join([word.text, *(v.text for v in values if not equals)])
    why = next((v.why for v in (*values, word) if v.why), "")
    return taken, Setting(kind="option", name=flag.name, value=_value(flag, keys, values, negated=negated), place=word.place, given=given, why=why)


def _flag(text: str, spelled: Mapping[str, Flag]) -> tuple[Flag, bool]:
    """The flag of a spelling, and whether it is negated (`--no-x`); underscores and dashes are the same."""
    plain = "--" + text[2:].replace("_", "-") if text.startswith("--") else text
    for spelling in (text, plain):
        if spelling in spelled:
            return spelled[spelling], False
    if plain.startswith("--no-"):
        positive = "--" + plain[5:]
        return spelled.get(positive) or Flag(name=plain[5:].replace("-", "_"), type="bool"), True
    return Flag(name=text.lstrip("-").replace("-", "_")), False


def _values(rest: Sequence[Word], flag: Flag, *, one: bool) -> list[Word]:
    """The words that are values of a flag: none for a boolean that is followed by no truth value, all up to the next option for a list."""
    taken: list[Word] = []
    for word in rest:
        if word.text.startswith("-") and not _NEGATIVE.fullmatch(word.text):
            break
        if flag.type == "bool" and not one and word.text.casefold() not in ("true", "false"):
            break
        taken.append(word)
        if one or flag.type != "list":
            break
    return taken


def _value(flag: Flag, keys: Sequence[str], values: Sequence[Word], *, negated: bool) -> Any:
    if not values:
        return not negated
    text = values[0].text
    if keys:
        nested: Any = value(text) if text[:1] in "{[" or text in ("true", "false", "null") else text
        for key in reversed(keys):
            nested = {key: nested}
        return nested
    if flag.type == "list":
        return [word.text for word in values]
    if text[:1] in "{[" and (flag.type == "json" or text[:1] == "{"):
        return value(text)
    return text


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    both = dict(one)
    for key, each in other.items():
        before = both.get(key)
        both[key] = _merged(before, each) if isinstance(before, dict) and isinstance(each, dict) else each
    return both
