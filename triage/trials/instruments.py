"""What watched a run: found by its environment, its arguments, lines of its log and its files; and whether it saw what it was there to see."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import regex

from triage.history.capture import LONGEST
from triage.history.secrets import is_secret
from triage.knowledge.schema import Instrument, Instruments
from triage.model import Instant, Seconds
from triage.trials.lines import Seen, Sought

BEFORE: Seconds = 120.0  # a recording of a fault may be of the steps that led to it,
AFTER: Seconds = 600.0  # and a large one takes minutes to write
UNKNOWN = "not among the rules: counts as heavy"


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """One instrument of one run. `found` says by what; `recorded`: whether it has something of the moment of the fault.

    `recorded` is None where there was no fault, or nothing tells.
    """

    id: str
    title: str
    weight: str
    found: tuple[str, ...]
    recorded: bool | None = None

    @property
    def is_blind(self) -> bool:
        return self.recorded is False


def sought(known: Instruments) -> list[Sought]:
    """The lines by which instruments are known, and those that show that they recorded."""
    signs = [Sought(f"instrument {one.id}", one.lines, one.scan) for one in known.instruments if one.lines]
    return signs + [Sought(f"record {one.id}", one.records) for one in known.instruments if one.records and one.lines]


def carried(
    known: Instruments,
    *,
    environment: Mapping[str, str],
    arguments: Mapping[str, str],
    files: Sequence[str],
    seen: Mapping[str, Seen],
    named: Iterable[str],
    fault: tuple[Seconds, Seconds] | None,
) -> tuple[Carried, ...]:
    """The instruments of a run, heaviest first. `named` are those that the run or its arm says it carries; `fault`: onset and death."""
    names = list(dict.fromkeys(named))
    found = [(one, _found(one, environment, arguments, files, seen, names)) for one in known.instruments]
    told = [
        Carried(id=one.id, title=one.title, weight=one.weight, found=tuple(by), recorded=_recorded(one, files, seen, fault))
        for one, by in found
        if by
    ]
    strangers = [name for name in names if name not in {one.id for one in known.instruments}]
    told += [Carried(id=name, title=name, weight="heavy", found=(f"named; {UNKNOWN}",)) for name in strangers]
    return tuple(sorted(told, key=lambda one: ("heavy", "light", "passive").index(one.weight)))


def watching(text: bytes, known: Instruments) -> dict[str, str]:
    """What of an environment (/proc/PID/environ, or lines NAME=value) is the sign of an instrument."""
    pairs = (line.partition("=")[::2] for line in text.replace(b"\0", b"\n").decode("utf-8", "replace").splitlines() if "=" in line)
    signs = [one.environment for one in known.instruments if one.environment]
    return {name: value[:LONGEST] for name, value in pairs if not is_secret(name) and any(_matches(sign, f"{name}={value}") for sign in signs)}


def heavy(instruments: Iterable[Carried]) -> frozenset[str]:
    return frozenset(one.id for one in instruments if one.weight == "heavy")


def light(instruments: Iterable[Carried]) -> frozenset[str]:
    return frozenset(one.id for one in instruments if one.weight == "light")


def _found(one: Instrument, environment: Mapping[str, str], arguments: Mapping[str, str], files: Sequence[str], seen: Mapping[str, Seen],
           named: Sequence[str]) -> list[str]:  # fmt: skip
    """By what an instrument is known to be there, in words."""
    by = [f"environment {name}" for name, value in environment.items() if _matches(one.environment, f"{name}={value}")]
    by += [f"argument {name}" for name, value in arguments.items() if _matches(one.arguments, f"{name}={value}")]
    sighting = seen[f"instrument {one.id}"].first if f"instrument {one.id}" in seen else None
    by += [f"line in {os.path.basename(sighting.file)}"] if sighting else []
    by += [f"file {file}" for file in files if _matches(one.files, file)][:1]
    return by + (["named"] if one.id in named else [])


def _matches(pattern: str, text: str) -> bool:
    return bool(pattern) and regex.search(pattern, text) is not None


def _recorded(one: Instrument, files: Sequence[str], seen: Mapping[str, Seen], fault: tuple[Seconds, Seconds] | None) -> bool | None:
    """Whether something shows that it recorded at the moment of the fault; a file that it wrote counts, whenever that was."""
    if fault is None or not one.records:
        return None
    if any(_matches(one.records, file) for file in files):
        return True
    lines = seen.get(f"record {one.id}")
    return any(_near(sighting.at, fault) for sighting in lines.kept) if lines else False


def _near(at: Instant | None, fault: tuple[Seconds, Seconds]) -> bool:
    return at is None or (fault[0] - BEFORE <= at.latest and at.earliest <= fault[1] + AFTER)
