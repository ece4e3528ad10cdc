"""Since when which version of a library has been running: over all boots of a log, the boots at which it changed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.ledger.booted import Booted, setting
from triage.model import Event, Seconds


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """One version of one library: from the first boot in a row that shows it, with the line that does; `before`: the version until then."""

    library: str
    version: str
    since: Seconds | None
    boot: str
    line: Event | None = None
    before: str = ""


def history(library: str, boots: Sequence[Booted]) -> list[Running]:
    """The versions of a library in order of time, one entry a change; boots that do not tell it are passed over."""
    told: list[Running] = []
    for one in sorted(boots, key=lambda b: began(b) or 0.0):
        fact = setting(one, library)
        if fact is None or not isinstance(fact.value, str | int | float):
            continue
        version = str(fact.value)
        if not told or told[-1].version != version:
            before = told[-1].version if told else ""
            told.append(Running(library=library, version=version, since=began(one), boot=one.boot.id, line=fact.line, before=before))
    return told


def running_at(when: Seconds, versions: Sequence[Running]) -> Running | None:
    """The version that ran at a time, of a history as `history` gives it."""
    started = [one for one in versions if one.since is not None and one.since <= when]
    return started[-1] if started else None


def began(one: Booted) -> Seconds | None:
    """When a boot began: its banner, or its first line with a time."""
    boot = one.boot
    at = boot.start or next((event.at for event in boot.events if event.at), None)
    return at.earliest if at else None
