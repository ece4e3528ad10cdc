"""The parts of a postmortem: plain records of text that is already redacted and cleaned, and the few figures that plots need."""

from __future__ import annotations

import msgspec

from triage.model import Seconds

Pairs = tuple[tuple[str, str], ...]


class Cited(msgspec.Struct, frozen=True):
    """A line of evidence: the part it plays, `file:line`, the rule that knew it, and what it says."""

    role: str
    where: str
    rule: str
    text: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """One incident. `lane` is the number of its class; times in seconds; `death_low` and `death_high` bound the time to death."""

    id: str
    lane: int
    fault_class: str
    fault: bool
    summary: str
    when: str
    death: str
    dump: str
    probe: str
    down: str
    engine: str
    at: Seconds | None = None
    death_low: Seconds | None = None
    death_high: Seconds | None = None
    timeout: Seconds | None = None
    hang: bool = False
    down_low: Seconds | None = None
    down_high: Seconds | None = None
    facts: Pairs = ()
    forks: Pairs = ()
    evidence: tuple[Cited, ...] = ()
    notes: Pairs = ()
    full: bool = True


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """One class: its row in the table and what the rules say of it."""

    lane: int
    name: str  # the class, with its family where the class comes in several
    fault_class: str
    family: str
    fault: bool
    count: int
    death: str
    dump: str
    probe: str
    seen: str
    down: str
    title: str = ""
    meaning: str = ""
    decides: str = ""
    confused: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    struck: Pairs = ()
    ids: tuple[str, ...] = ()


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of boots of one engine with the same configuration as they booted: `changes` are against the epoch before."""

    name: str
    engine: str
    start: Seconds
    end: Seconds
    boots: int
    incidents: int
    observed: bool
    when: str
    changes: tuple[str, ...] = ()


class Moment(msgspec.Struct, frozen=True):
    """One line of the timeline: when, what, and the incident it leads to where there is one."""

    at: Seconds
    when: str
    what: str
    lane: int = -1
    id: str = ""


class Stretch(msgspec.Struct, frozen=True):
    """A stretch of time in seconds since the epoch, with a word for it."""

    start: Seconds
    end: Seconds
    what: str = ""


class Postmortem(msgspec.Struct, frozen=True, kw_only=True):
    """All that the page and the Markdown tell."""

    title: str
    sentence: str
    window: str
    made: str
    rules: str
    start: Seconds
    end: Seconds
    figures: Pairs
    lanes: tuple[Lane, ...]
    cards: tuple[Card, ...]
    timeline: tuple[Moment, ...]
    epochs: tuple[Epoch, ...]
    gaps: tuple[Stretch, ...]
    lives: tuple[Stretch, ...]
    exposure: str  # what is counted on: engine-hours, or hours covered where no boot was seen
    limits: tuple[str, ...]
    definitions: tuple[str, ...]
    mitigations: tuple[Pairs, ...] | None = None  # None: nobody looked whether there are any
    trials: tuple[Pairs, ...] | None = None
    hints: tuple[str, ...] = ()
    redacted: Pairs = ()
