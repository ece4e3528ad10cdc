"""Holds what was asked for against what one boot shows: the same, something else, ignored, never given, asked by nobody, or not to be seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from triage.history.secrets import HIDDEN, is_secret, looks_secret
from triage.knowledge.configuration import EngineFlags, Flag
from triage.knowledge.predicates import version_before
from triage.ledger.booted import Booted, Fact
from triage.ledger.drift.asked import Setting
from triage.ledger.drift.options import flag_of
from triage.ledger.drift.read import Asked
from triage.ledger.drift.values import same, same_variable
from triage.ledger.modes import PAIRS, graphs, name_of
from triage.model import Event

Outcome = Literal["differs", "ignored", "not given", "nobody asked", "cannot be observed", "same"]
DRIFT: tuple[Outcome, ...] = ("differs", "ignored", "not given", "nobody asked")
SHARED = ("NCCL_", "TORCH_NCCL_", "TORCH_FR_", "PYTORCH_")  # variables of the libraries below every engine
FOLLOWS = {"model_tag": "model", "served_model_name": "model", "max_seq_len": "max_model_len"}  # options that another one brings with it
_TAG = re.compile(r"(?:^|[^\d.])v?(\d+\.\d+\.\d+)")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: what became of it, both values as they may be shown, where it was asked for, and the line of the boot."""

    outcome: Outcome
    name: str
    asked: str = ""
    booted: str = ""
    place: str = ""
    line: Event | None = None
    why: str = ""


def compared(asked: Asked, one: Booted, flags: Mapping[str, EngineFlags]) -> list[Row]:
    """Every setting that was asked for or that the boot shows, drift first."""
    known = flags.get(asked.engine or one.boot.engine) or EngineFlags(engine=one.boot.engine)
    rows = [*_image(asked, one), *_options(asked, one, known), *_variables(asked, one, known)]
    order: tuple[Outcome, ...] = (*DRIFT, "cannot be observed", "same")
    return sorted(rows, key=lambda row: (order.index(row.outcome), row.name))


def drifted(rows: list[Row]) -> bool:
    return any(row.outcome in DRIFT for row in rows)


def _options(asked: Asked, one: Booted, known: EngineFlags) -> Iterator[Row]:
    if asked.options is None:
        return
    for setting in asked.options:
        yield _option(setting, one, flag_of(setting.name, known))
    names = {setting.name for setting in asked.options}
    if one.options is not None and not one.complete:
        for name, fact in one.options.items():
            if name not in names and FOLLOWS.get(name, "") not in names:
                yield _nobody(asked, name, fact)
    yield from _unasked(asked, names, one, known)


def _nobody(asked: Asked, name: str, fact: Fact, why: str = "") -> Row:
    """An option that nobody is seen to have asked for: drift, unless there are options that cannot be seen."""
    if asked.unseen:
        why = f"not asked for by name, but it may be in {' or in '.join(asked.unseen)}"
    return Row(
        outcome="cannot be observed" if asked.unseen else "nobody asked", name=name, booted=_shown(name, fact.value), line=fact.line, why=why
    )  # fmt: skip


def _unasked(asked: Asked, names: set[str], one: Booted, known: EngineFlags) -> Iterator[Row]:
    """Options whose default is known, that nobody gave, and that the engine resolved to something else."""
    for flag in known.flags:
        fact, default = one.resolved.get(flag.shown or flag.name), _default(flag, one)
        if flag.name in names or flag.name in (one.options or {}) or fact is None or default is None or flag.type != "bool":
            continue
        if not same(default, fact.value, flag.type):
            yield _nobody(asked, flag.name, fact, f"the default is {default}, and nobody gave it")


def _option(setting: Setting, one: Booted, flag: Flag) -> Row:
    given, resolved = (one.options or {}).get(setting.name), one.resolved.get(flag.shown or flag.name)
    if setting.why:
        return _row(setting, "cannot be observed", given or resolved, setting.why)
    if is_secret(setting.name):
        return _secret(setting, given, flag)
    if setting.name == "compilation_config" and (row := _graph_mode(setting, one, given)) is not None:
        return row
    if given is not None:
        if not same(setting.value, given.value, flag.type):
            return _row(setting, "differs", given)
        return _taken_back(setting, given, resolved, flag)
    return _not_given(setting, one, resolved, flag)


def _taken_back(setting: Setting, given: Fact, resolved: Fact | None, flag: Flag) -> Row:
    """An option that was given as asked: the same, unless the engine settled on something else."""
    plain = resolved is not None and not isinstance(resolved.value, dict | list) and str(setting.value).casefold() != "auto"
    if plain and resolved is not None and resolved.value is not None and not same(setting.value, resolved.value, flag.type):
        return _row(setting, "ignored", resolved, "the engine was given it and settled on something else")
    return _row(setting, "same", given)


def _not_given(setting: Setting, one: Booted, resolved: Fact | None, flag: Flag) -> Row:
    """An option that the boot's own account of its options has not: it equals the default, or nobody passed it on."""
    if one.options is None and resolved is None:
        return _row(setting, "cannot be observed", None, "no line of this boot shows its options: rotated away, or never logged")
    if resolved is not None and not isinstance(resolved.value, dict) and str(setting.value).casefold() != "auto":
        if not same(setting.value, resolved.value, flag.type):
            return _row(setting, "not given" if one.options is not None else "differs", resolved, "not among the options it was given")
        return _row(setting, "same", resolved)
    if one.complete:
        return _row(setting, "not given", None, "not among all the options that it printed")
    default = _default(flag, one)
    if default is None:
        return _row(setting, "cannot be observed", None, "not among the options that are no defaults: it is the default, or was never passed on")
    if same(setting.value, default, flag.type):
        return _row(setting, "same", Fact(value=default), "the default")
    given = next(iter((one.options or {}).values()), None)
    why = "not among the options it was given, so it is the default"
    return _row(setting, "not given", Fact(value=default, line=given.line if given else None), why)


def _graph_mode(setting: Setting, one: Booted, given: Fact | None) -> Row | None:
    """Of a compilation config the graph mode in force counts, which a later line may have changed."""
    asked = name_of(setting.value.get("cudagraph_mode")) if isinstance(setting.value, dict) else ""
    modes = graphs(one) if asked else None
    if modes is None or not modes.mode or modes.mode == asked:
        return None
    was_given = given is not None and same(setting.value, given.value, "json")
    why = f"graphs ran as {modes.decode} for decode and {modes.mixed} for batches with a prefill"
    line = modes.lines[-2] if modes.captured and len(modes.lines) > 1 else modes.lines[-1]
    return Row(
        outcome="ignored" if was_given else "differs", name="compilation_config", asked=_shown("", setting.value),
        booted=f"cudagraph_mode {modes.mode}", place=setting.place, line=line, why=f"{why}, asked for {PAIRS[asked][0]} and {PAIRS[asked][1]}",
    )  # fmt: skip


def _variables(asked: Asked, one: Booted, known: EngineFlags) -> Iterator[Row]:
    names = {setting.name for setting in asked.ask.variables}
    for setting in asked.ask.variables:
        if setting.name.startswith((*SHARED, *known.variables)) or setting.name in one.variables:
            yield _variable(setting, one, known)
    for name, fact in one.variables.items():
        if name not in names and name.startswith((*SHARED, *known.variables)) and not _inherits(asked):
            yield Row(outcome="nobody asked", name=name, booted=_shown(name, fact.value), line=fact.line)
    for name, line in one.unknown.items():
        if name not in names and name not in one.variables:
            yield Row(outcome="nobody asked", name=name, booted="set", line=line, why="and the engine does not know it")


def _inherits(asked: Asked) -> bool:
    """Whether what starts the engine hands on variables that it does not list itself."""
    return bool(asked.ask.hidden)


def _variable(setting: Setting, one: Booted, known: EngineFlags) -> Row:
    unknown, fact = one.unknown.get(setting.name), one.variables.get(setting.name)
    if unknown is not None:
        return _row(setting, "ignored", Fact(value="unknown to it", line=unknown), "the engine says that it does not know this variable")
    if setting.why:
        return _row(setting, "cannot be observed", fact, setting.why)
    if is_secret(setting.name):
        return _row(setting, "cannot be observed", None, "a secret, and never compared")
    if fact is not None:
        return _row(setting, "same" if same_variable(setting.value, fact.value) else "differs", fact)
    if one.environment:
        return _row(setting, "not given", None, "not in the environment of the process")
    why = "an engine does not print its environment: give /proc/PID/environ with --environ"
    warns = setting.name.startswith(known.variables) and known.unknown_since and version_before(one.boot.version, known.unknown_since) is False
    heard = "; if it was set, its name is known to the engine, which did not warn of it" if warns and one.options is not None else ""
    return _row(setting, "cannot be observed", None, why + heard)


def _image(asked: Asked, one: Booted) -> Iterator[Row]:
    """The version in an image's tag against the one that the engine says it is."""
    image = asked.ask.image
    if image is None or image.why or not one.boot.version:
        return
    name, _, tag = str(image.value).partition("@")[0].rpartition(":")
    found = _TAG.search(tag)
    if found and one.boot.engine and one.boot.engine.replace("_", "") in name.casefold().replace("-", "").replace("_", ""):
        own = one.boot.version.partition("+")[0]
        banner = next((event for event in one.boot.events if event.kind == "boot" and "version" in event.data), None)
        outcome: Outcome = "same" if own.startswith(found[1]) else "differs"
        yield Row(outcome=outcome, name="version", asked=f"{found[1]} (image tag)", booted=own, place=image.place, line=banner)


def _secret(setting: Setting, given: Fact | None, flag: Flag) -> Row:
    """A secret option: the same where the boot was given just this; what it was given otherwise is not told."""
    if given is None:
        return Row(outcome="cannot be observed", name=setting.name, asked=HIDDEN, place=setting.place, why="a secret")
    alike = same(setting.value, given.value, flag.type)
    why = "a secret" if alike else "a secret: one was given, and whether it is this one is not told"
    return Row(outcome="same" if alike else "cannot be observed", name=setting.name, asked=HIDDEN, booted=HIDDEN, place=setting.place, why=why)


def _row(setting: Setting, outcome: Outcome, fact: Fact | None, why: str = "") -> Row:
    asked = _shown(setting.name, setting.given if setting.why else setting.value)
    booted, line = (_shown(setting.name, fact.value), fact.line) if fact is not None else ("", None)
    return Row(outcome=outcome, name=setting.name, asked=asked, booted=booted, place=setting.place, line=line, why=why)


def _shown(name: str, value: Any) -> str:
    """A value as it may be shown: never that of a secret, nor what is written like one."""
    if is_secret(name):
        return HIDDEN
    text = msgspec.json.encode(_masked(value)).decode() if isinstance(value, dict | list) else "" if value is None else str(value)
    return HIDDEN if looks_secret(text) else text


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: HIDDEN if is_secret(str(key)) else _masked(each) for key, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list) else value


def _default(flag: Flag, one: Booted) -> str | None:
    """What an option is where nobody gives it, in the version that booted; None where that is not known for sure."""
    version = one.boot.version
    for default in flag.defaults:
        bounds = (default.since, default.until)
        if not version and any(bounds):
            return None
        if (not default.since or version_before(version, default.since) is False) and (not default.until or version_before(version, default.until)):
            return default.value
    return None
