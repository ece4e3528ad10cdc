"""Whether a boot really carried a change, by what it printed of its configuration or what was captured of it; and what else was different in it.

An engine prints options (`non-default args`, then what they were resolved to) and hardly any variable: what is not there cannot be observed,
and is never taken from a compose file. Values are compared as values: 0.9 is 0.90, 1 is true.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from triage.history.secrets import is_secret, looks_secret
from triage.ledger.literal import value as value_of
from triage.model import Boot

Presence = Literal["holds", "fails", "cannot be observed"]
LONGEST = 100_000
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
STACK = ("version", "torch", "nccl_version", "driver_version", "cuda_version", "flashinfer_version", "model", "image", "image id")
ALSO = {"nccl": "nccl_version", "driver": "driver_version", "cuda": "cuda_version", "flashinfer": "flashinfer_version", "vllm": "version"}
MISSING = object()


def presence(changes: Iterable[str], boot: Boot) -> Presence:
    """Whether all the changes stand in the boot's configuration: one that is otherwise fails them all."""
    told = [_stands(change, boot.config) for change in changes]
    if "fails" in told:
        return "fails"
    return "holds" if told and all(each == "holds" for each in told) else "cannot be observed"


def differences(before: Boot, now: Boot, ignoring: Iterable[str] = ()) -> list[str]:
    """What else is not the same in two boots, as far as both tell it: versions, model, options, variables. `nccl_version 2.27.3 -> 2.28.9`."""
    own = {name for change in ignoring for name in names(change)}
    first, second = before.config, now.config
    stack = [(key, first[key], second[key]) for key in STACK if key in first and key in second]
    variables = [(key, first[key], second[key]) for key in sorted(first) if key.isupper() and key in second]
    one, other = arguments(first), arguments(second)
    asked = [(key, one.get(key, "not given"), other.get(key, "not given")) for key in sorted({*one, *other})] if one and other else []
    versions = [("version", before.version, now.version)] if before.version and now.version else []
    changed = [(key, a, b) for key, a, b in (*versions, *stack, *variables, *asked) if key not in own and not same(a, b)]
    return list(dict.fromkeys(f"{key} {_shown(key, a)} -> {_shown(key, b)}" for key, a, b in changed))


def names(change: str) -> set[str]:
    """The names that a change is about: the variable, or the option and, where its value is an object, the keys in it."""
    path, value = parted(change)
    return {path[0], path[-1], *(key for key, _ in _leaves(value))}


def parted(change: str) -> tuple[list[str], Any]:
    """A change as the names that lead to it and its value: `--a-b.c=1` is (["a_b", "c"], "1"); a flag alone is True, `--no-x` is x False."""
    text = change.strip()
    if not text.startswith("-"):
        name, _, value = text.partition("=")
        return [ALSO.get(name, name)], value
    at = min((i for i in (text.find("="), text.find(" ")) if i > 0), default=-1)
    flag, value = (text[:at], text[at + 1 :].strip()) if at > 0 else (text, "")
    name = flag.lstrip("-").replace("-", "_")
    if not value:
        return ([name[3:]], False) if name.startswith("no_") else ([name], True)
    return name.split("."), _object(value)


def arguments(config: Mapping[str, str]) -> dict[str, Any]:
    """The options that a boot was given, as it printed them; nothing where it did not, or not readably."""
    text = config.get("args", "")
    told = value_of(text) if text.startswith("{") and text.rstrip().endswith("}") else None  # of a line that was cut off the last value may be half
    return {str(key): value for key, value in told.items()} if isinstance(told, dict) else {}


def same(one: object, other: object) -> bool:
    """Whether two values are the same, however they are written."""
    first, second = _plain(one), _plain(other)
    if first == second:
        return True
    if isinstance(first, bool) or isinstance(second, bool):
        return _truth(first) is not None and _truth(first) == _truth(second)
    try:
        return float(str(first)) == float(str(second))
    except ValueError:
        return str(first).casefold() == str(second).casefold()


def _stands(change: str, config: Mapping[str, str]) -> Presence:
    path, value = parted(change)
    leaves = list(_leaves(value))
    wanted = [([*path, key], leaf) for key, leaf in leaves] if leaves else [(path, value)]
    found = [(_found(at, config), leaf) for at, leaf in wanted]
    if any(seen is not MISSING and not same(seen, leaf) for seen, leaf in found):
        return "fails"
    return "cannot be observed" if any(seen is MISSING for seen, _ in found) else "holds"


def _found(path: list[str], config: Mapping[str, str]) -> object:
    """What a boot says of a name: first what it was resolved to, then what was asked for."""
    if path[-1] in config:
        return config[path[-1]]
    at: Any = arguments(config)
    for name in path:
        at = _object(at) if isinstance(at, str) else at
        if not isinstance(at, dict) or name not in at:
            return MISSING
        at = at[name]
    return at


def _leaves(value: object) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner) if isinstance(inner, dict) and inner else [(str(key), inner)]


def _object(text: str) -> Any:
    if text[:1] in "{[" and len(text) <= LONGEST:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _plain(value: object) -> object:
    if isinstance(value, str):
        text = value.strip().strip("'\"")
        return {"true": True, "false": False}.get(text.casefold(), text)
    return value


def _truth(value: object) -> bool | None:
    text = str(value).strip().casefold()
    return True if text in YES else False if text in NO else None


def _shown(name: str, value: object) -> str:
    """A value, short; never that of a secret. Two that differ look the same then, and are told all the same."""
    text = str(value)
    if (is_secret(name) and text != "not given") or looks_secret(text):
        return "<secret>"
    return text if len(text) <= 40 else f"{text[:39]}…"
