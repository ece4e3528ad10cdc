"""What one boot says of its own configuration: what it was asked for, what that was resolved to, its variables and libraries, each with its line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from triage.ledger.literal import pairs, value
from triage.model import Boot, Event
from triage.timeline.boots import assignments

NOT_SETTINGS = frozenset({"args", "config", "env", "invocation", "unknown_env", "rank", "local_rank", "tp_rank", "dp_rank", "pp_rank", "group"})
WITH_DEFAULTS = ("sglang/config-args", "vllm/config-namespace")  # lines that print every option, given or not
LIBRARIES = {
    "nccl": "nccl_version", "torch": "torch", "cuda": "cuda_version", "driver": "driver_version", "flashinfer": "flashinfer_version",
}  # fmt: skip


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One value that a boot shows, the line that shows it (None: a capture), and whether it is what was resolved, not what was asked."""

    value: Any
    line: Event | None = None
    resolved: bool = False


class Booted(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of one boot. `options` is None where no line tells what it was asked for.

    `complete`: the options hold those too that nobody gave. `environment`: whether the variables are all that the process has.
    """

    boot: Boot
    options: dict[str, Fact] | None = None
    resolved: dict[str, Fact] = {}
    variables: dict[str, Fact] = {}
    unknown: dict[str, Event] = {}
    complete: bool = False
    environment: bool = False

    def shown(self, name: str) -> Fact | None:
        """What an option or library is in this boot: what it was resolved to, else what was asked for."""
        return self.resolved.get(name) or (self.options or {}).get(name)


def booted(boot: Boot, captured: Mapping[str, str] | None = None) -> Booted:
    """What the events of a boot say; `captured` is the whole environment of its process, where somebody kept it."""
    asked: dict[str, Fact] | None = None
    resolved: dict[str, Fact] = {}
    variables: dict[str, Fact] = {}
    unknown: dict[str, Event] = {}
    complete = False
    for event in (event for event in boot.events if event.kind in ("config", "boot")):
        if (told := _asked(event)) is not None:
            asked, complete = {**(asked or {}), **told}, complete or event.rule in WITH_DEFAULTS
        if "env" in event.data:
            variables |= {name: Fact(value=text, line=event) for name, text in assignments(event.text).items()}
        if name := event.data.get("unknown_env"):
            unknown.setdefault(name, event)
        resolved |= _resolved(event)
    for name, text in (captured or {}).items():
        variables[name] = Fact(value=text)
    return Booted(
        boot=boot, options=asked, resolved=resolved, variables=variables, unknown=unknown, complete=complete, environment=captured is not None
    )


def setting(one: Booted, name: str) -> Fact | None:
    """A setting of any kind by name: an option, a key inside an option's object, a variable or a library (`nccl`, `vllm`)."""
    plain = name.removeprefix("booted.").removeprefix("env.").lstrip("-").replace("-", "_")
    if plain in (one.boot.engine, "engine", "version") and one.boot.version:
        return Fact(value=one.boot.version, line=_banner(one.boot), resolved=True)
    if plain in one.variables:
        return one.variables[plain]
    found = one.shown(LIBRARIES.get(plain, plain))
    return found if found is not None or plain.isupper() else _inside(one, plain.split("."))


def _inside(one: Booted, path: list[str]) -> Fact | None:
    """`compilation_config.cudagraph_mode`, or a key that only one option's object has."""
    roots = {**(one.options or {}), **one.resolved}
    starts = [roots[path[0]]] if path[0] in roots else [fact for fact in roots.values() if isinstance(fact.value, dict) and path[0] in fact.value]
    keys = path[1:] if path[0] in roots else path
    if len(starts) != 1:
        return None
    at = starts[0].value
    for key in keys:
        if not isinstance(at, dict) or key not in at:
            return None
        at = at[key]
    return Fact(value=at, line=starts[0].line, resolved=starts[0].resolved)


def _asked(event: Event) -> dict[str, Fact] | None:
    text = event.data.get("args")
    if text is None:
        return None
    told = pairs(text) if event.rule.startswith("sglang/") else value(text)
    return {name: Fact(value=each, line=event) for name, each in told.items()} if isinstance(told, dict) else None


def _resolved(event: Event) -> dict[str, Fact]:
    """What the engine says it settled on; a later line takes the place of an earlier one."""
    told: dict[str, Any] = pairs(event.data["config"]) if "config" in event.data else {}
    plain = {name: text for name, text in event.data.items() if name not in NOT_SETTINGS}
    return {name: Fact(value=each, line=event, resolved=True) for name, each in {**told, **plain}.items()}


def _banner(boot: Boot) -> Event | None:
    return next((event for event in boot.events if event.kind == "boot" and "version" in event.data), None)
