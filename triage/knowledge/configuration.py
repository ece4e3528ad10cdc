"""The shapes of rules/flags, rules/gates and rules/mechanisms: what an engine's configuration means for what may happen to it."""

# Annotations are no texts here (`from __future__ import annotations`): msgspec would have to evaluate each of them in every run.

from typing import Literal

import msgspec


class Default(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a flag is where nobody gives it, in the versions from `since` on and before `until` (empty: any)."""

    value: str
    since: str = ""
    until: str = ""


class Flag(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One option of an engine. `name` is the engine's own, with underscores; `also` further spellings of it, with their dashes.

    `shown`: its name in what the engine says it resolved, where that differs.
    """

    name: str
    also: tuple[str, ...] = ()
    type: Literal["text", "int", "float", "bool", "size", "json", "list"] = "text"
    shown: str = ""
    defaults: tuple[Default, ...] = ()


class EngineFlags(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"flags": "flag"}):
    """rules/flags/<engine>.toml: how its command line is read.

    `starts`: words of a command after which its options follow; `positional`: the flag that a bare word after them stands for; `images`:
    words in the name of a container image whose entrypoint starts it; `files`: flags that name a YAML file of more options; `variables`:
    prefixes of the variables that only it reads, and `unknown_since` the version from which it warns of one that it does not know.
    """

    engine: str
    starts: tuple[str, ...] = ()
    positional: str = ""
    images: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    unknown_since: str = ""
    flags: tuple[Flag, ...] = ()


class GateLines(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Lines of one function, in the releases of one minor version (`0.27`), that run on one side of a gate only."""

    version: str
    file: str
    function: str
    on: tuple[int, ...] = ()
    off: tuple[int, ...] = ()


class GateSample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A traceback (outermost frame first) from an engine of some version, and what the gate must say of it."""

    version: str = ""
    frames: tuple[str, ...]
    side: Literal["on", "off", ""]


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting that chooses a branch by comparing something with a threshold. `on` is the branch where `enable` is true.

    `enable`: `batch_tokens <= THRESHOLD`. `set_by`: the variable or option that is the threshold; none for a constant. `steps`: the gate
    is asked for these only. `through`: functions of which one must be in a traceback that went by this gate; `on_frames` and
    `off_frames` are those that run on one side only. `reads` is what a reader is told of each side.
    """

    id: str
    title: str
    enable: str
    set_by: tuple[str, ...] = ()
    default: float | None = None
    steps: Literal["", "prefill", "decode"] = ""
    on: str
    off: str
    since: str = ""
    gone: str = ""
    through: tuple[str, ...] = ()
    on_frames: tuple[str, ...] = ()
    off_frames: tuple[str, ...] = ()
    zero: str = ""
    note: str = ""
    lines: tuple[GateLines, ...] = ()
    samples: tuple[GateSample, ...] = ()


class Gates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"gates": "gate"}):
    """rules/gates/<engine>.toml."""

    engine: str
    gates: tuple[Gate, ...] = ()


class MechanismSample(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some of what a boot says of itself, and what is to be answered on it."""

    booted: dict[str, str]
    answer: Literal["holds", "fails", "cannot be observed"]


class Mechanism(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A way in which a fault may come about, and what it needs of the configuration that an engine booted with.

    `needs`: `NAME OP VALUE`, several joined by `and`; names are options, variables, libraries, and `graphs.decode` and `graphs.mixed`.
    `acts_on`: the settings by which people mean to prevent it. `possible` and `impossible` are said where it can, or cannot, happen.
    """

    id: str
    title: str
    needs: str
    acts_on: tuple[str, ...] = ()
    possible: str
    impossible: str
    samples: tuple[MechanismSample, ...] = ()


class Mechanisms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"mechanisms": "mechanism"}):
    """rules/mechanisms/<engine>.toml."""

    engine: str
    mechanisms: tuple[Mechanism, ...] = ()
