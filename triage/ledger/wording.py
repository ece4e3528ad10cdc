"""Reads an entry as people write it: the falsifier's few words, and a TOML file that can be reviewed before it is registered.

    name = "piecewise-graphs"
    class = "collective-hang"
    claim = "eliminates"                                  # or reduces:0.1
    changes = ['--compilation-config={"cudagraph_mode": "PIECEWISE"}']
    mechanisms = ["full-graph-mixed-batch"]
    cost = "decode 39.4 -> 29.9 tok/s"
    falsifier = "any engine death after 2026-11-20T10:00Z on gpu-a"
    baseline = "17/17d"
    references = [{ url = "https://example.org/1", status = "open; lists 'no improvement'" }]

    [gate]
    enable = "batch_tokens <= THRESHOLD"
    true_frames = ["run_side_stream"]
    false_frames = ["run_sequential", "multi_stream.py:111"]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from triage.ledger.entry import Baseline, Entry, EntryError, Falsifier, Gate, Reference, change_of, checked, claim_of, cost_of
from triage.model import Seconds

FORM = "WHAT [after TIME] [on HOST,...], where WHAT is: class C[,C...] | text \"...\" | any engine death | any end at all"
FALSIFIER = re.compile(
    r"""(?:class\ (?P<classes>[a-z][a-z-]*(?:,\ ?[a-z][a-z-]*)*) | text\ (?P<quote>["'])(?P<text>.+?)(?P=quote)
         | (?P<death>any\ engine[ -]d(?:eath|ead(?:\ error)?)) | (?P<literal>any\ end\ at\ all))
        (?:\ after\ (?P<after>\S+))? (?:\ on\ (?P<hosts>\S+(?:,\ ?\S+)*))?""",
    re.VERBOSE,
)
RATE = re.compile(r"(?P<events>\d+)\s*(?:/|in|per)\s*(?P<length>.*)")
LENGTH = re.compile(r"(?P<number>\d+(?:\.\d+)?)?\s*(?P<unit>s|sec|min|m|h|d|day|days|w)?")
UNITS = {"s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0, "w": 604800.0}
LONGEST: Seconds = 100 * 365.25 * 86400


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An entry as its TOML file has it."""

    name: str
    fault_class: str = msgspec.field(name="class")
    changes: list[str]
    claim: str = "eliminates"
    mechanisms: list[str] = []
    cost: str = ""
    falsifier: str = ""
    references: list[Reference] = []
    hosts: list[str] = []
    gate: Gate = Gate()
    baseline: str = ""
    note: str = ""


def entry_of(given: Mapping[str, Any]) -> Entry:
    """The entry made of a TOML file's keys, or of the same words from options. Raises EntryError."""
    try:
        told = msgspec.convert(given, File)
    except msgspec.ValidationError as error:
        raise EntryError(str(error)) from error
    return checked(Entry(
        name=told.name, fault_class=told.fault_class, claim=claim_of(told.claim), changes=tuple(map(change_of, told.changes)),
        mechanisms=tuple(told.mechanisms), cost=cost_of(told.cost), references=tuple(told.references), hosts=tuple(told.hosts), gate=told.gate,
        falsifier=falsifier_of(told.falsifier or f"class {told.fault_class}"), baseline=baseline_of(told.baseline) if told.baseline else None,
        note=told.note,
    ))  # fmt: skip


def entry_from(path: Path) -> Entry:
    """The entry of a TOML file. Raises EntryError which names the file."""
    try:
        return entry_of(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise EntryError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # tomllib's and ours are ValueErrors
        raise EntryError(f"{path}: {error}") from error


def falsifier_of(text: str) -> Falsifier:
    """What would prove it wrong, of the few forms that a machine can hold against incidents. Raises EntryError which tells the forms."""
    found = FALSIFIER.fullmatch(" ".join(text.split()))
    if not found:
        raise EntryError(f"falsifier {text!r}: write {FORM}")
    kind = next(name for name in ("classes", "text", "death", "literal") if found[name])
    return Falsifier(
        kind="class" if kind == "classes" else kind,  # type: ignore[arg-type]
        classes=_listed(found["classes"]),
        text=found["text"] or "",
        after=_moment(found["after"]) if found["after"] else None,
        hosts=_listed(found["hosts"]),
    )


def baseline_of(text: str) -> Baseline:
    """A rate with what it rests on: `17/17d`, `4 in 17d`. Raises EntryError."""
    found = RATE.fullmatch(text.strip())
    if not found:
        raise EntryError(f"rate {text!r}: write how many in how long: 17/17d, 4/400h, 1/d")
    return Baseline(int(found["events"]), seconds_of(found["length"], bare=True))


def seconds_of(text: str, *, bare: bool = False) -> Seconds:
    """A length of time: 10m, 6d, 1.5h; with `bare` also a unit alone, as in 1/d. Raises EntryError."""
    found = LENGTH.fullmatch(text.strip())
    if not found or not found["unit"] or (found["number"] is None and not bare):
        raise EntryError(f"length {text!r}: write a number and a unit, s, m, h, d or w: 10m, 6d, 1.5h")
    seconds = float(found["number"] or 1) * UNITS[found["unit"]]
    if not 0 < seconds <= LONGEST:
        raise EntryError(f"length {text!r}: longer than nothing and no longer than a hundred years")
    return seconds


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


def _moment(text: str) -> Seconds:
    try:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = -1.0
    if seconds < 0:
        raise EntryError(f"falsifier: {text!r} is no time: write 2026-11-20 or 2026-11-20T10:00Z")
    return seconds
