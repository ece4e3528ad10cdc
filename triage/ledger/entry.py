"""What a mitigation claims, as it is frozen in the journal: class, claim, changes, mechanism, cost, falsifier, references."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from triage.history.secrets import is_secret, looks_secret
from triage.model import Seconds

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
COST = re.compile(r"(?P<metric>\D*?)\s*(?P<before>\d+(?:\.\d+)?)\s*(?:->|→|to)\s*(?P<after>\d+(?:\.\d+)?)\s*(?P<unit>\D*)")
ADDED = "mitigation.added"
Moment = Annotated[Seconds, msgspec.Meta(ge=0, lt=1e11)]  # what a calendar can show
Length = Annotated[Seconds, msgspec.Meta(gt=0, lt=1e11)]


class EntryError(ValueError):
    """Something about an entry that cannot be taken; says which part and what is possible."""


class Claim(msgspec.Struct, frozen=True):
    """`eliminates`: the fault no longer comes. `reduces`: it comes at `ratio` of its rate before, or less."""

    kind: Literal["eliminates", "reduces"] = "eliminates"
    ratio: float = 0.0

    def __str__(self) -> str:
        return self.kind if self.kind == "eliminates" else f"reduces:{self.ratio:g}"


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What it costs, as stated; with figures where the text has them: `decode 39.4 -> 29.9 tok/s`."""

    text: str = ""
    metric: str = ""
    before: float | None = None
    after: float | None = None
    unit: str = ""

    @property
    def change(self) -> float | None:
        """The relative change, -0.24 for a quarter less; None where no figures were given."""
        return self.after / self.before - 1 if self.before and self.after is not None else None


class Falsifier(msgspec.Struct, frozen=True, kw_only=True):
    """The observation that would prove the claim wrong, in a form that needs no judgement afterwards.

    `kind` class: an incident of one of `classes`. text: an incident with a line that holds `text`. death: any death of the engine that is a
    fault. literal: any end of the engine at all, also one that somebody asked for. Only after `after` (seconds, UTC), on `hosts` (none: all).
    """

    kind: Literal["class", "text", "death", "literal"] = "class"
    classes: tuple[str, ...] = ()
    text: str = ""
    after: Moment | None = None
    hosts: tuple[str, ...] = ()


class Reference(msgspec.Struct, frozen=True):
    """Where the idea comes from, and what that page itself says of it: `open; lists 'no improvement'`."""

    url: str
    status: str = ""


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """A branch of the user's own: `enable = batch_tokens <= THRESHOLD`, and the functions (or file:line) that run on either side of it."""

    enable: str = ""
    true_frames: tuple[str, ...] = ()
    false_frames: tuple[str, ...] = ()


class Baseline(msgspec.Struct, frozen=True):
    """The rate before, as stated: so many events in so much time (seconds)."""

    events: Annotated[int, msgspec.Meta(ge=0)]
    seconds: Length


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One mitigation as registered. `changes` are `NAME=value` for variables and `--flag=value` for options; `hosts` none: all."""

    name: str
    fault_class: str
    claim: Claim = Claim()
    changes: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    cost: Cost = Cost()
    falsifier: Falsifier = Falsifier()
    references: tuple[Reference, ...] = ()
    hosts: tuple[str, ...] = ()
    gate: Gate = Gate()
    baseline: Baseline | None = None
    note: str = ""


def claim_of(text: str) -> Claim:
    """`eliminates`, or `reduces:0.1` (to a tenth of the rate before, or less). Raises EntryError."""
    kind, colon, ratio = text.strip().partition(":")
    if kind == "eliminates" and not colon:
        return Claim()
    try:
        value = float(ratio) if kind == "reduces" else -1.0
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise EntryError(f"claim {text!r}: write eliminates, or reduces:RATIO with a ratio between 0 and 1 (reduces:0.1 is to a tenth or less)")
    return Claim("reduces", value)


def cost_of(text: str) -> Cost:
    """What it costs; the figures are taken where the text has two with an arrow between them."""
    found = COST.fullmatch(text.strip())
    if not found:
        return Cost(text=text.strip())
    figures = {name: float(found[name]) for name in ("before", "after")}
    return Cost(text=text.strip(), metric=found["metric"].strip(), unit=found["unit"].strip(), **figures)


def change_of(text: str) -> str:
    """A change as it is kept: `NAME=value` or `--flag=value`. Raises EntryError for what is neither."""
    text = text.strip()
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", text, re.DOTALL) or re.fullmatch(r"--?[A-Za-z][\w.-]*(?:[= ].*)?", text, re.DOTALL):
        return text
    raise EntryError(f"change {text!r}: write NAME=value for a variable, --flag or --flag=value for an option")


def checked(entry: Entry) -> Entry:
    """The entry, if it can be taken. Raises EntryError which names the part that cannot."""
    if not NAME.fullmatch(entry.name):
        raise EntryError(f"name {entry.name!r}: letters, digits, dots, dashes and underscores, at most 64, a letter or digit first")
    if not entry.changes:
        raise EntryError(f"{entry.name}: no change: what is set differently? --change NAME=value or --change=--flag=value")
    for change in entry.changes:
        change_of(change)
    _without_secrets(entry)
    _able_to_refute(entry)
    return entry


def _without_secrets(entry: Entry) -> None:
    """What is written into a journal stays there for good and is shown: no key or password may be. Raises EntryError, which shows none either."""
    for change in entry.changes:
        name = re.split("[= ]", change, maxsplit=1)[0]
        if name != change and (is_secret(name) or looks_secret(change)):
            raise EntryError(f"change {name}: its value may be a secret, and a journal keeps what it is told for good: name another change")
    texts = {"cost": entry.cost.text, "note": entry.note, "falsifier": entry.falsifier.text}
    texts |= {f"reference {number}": f"{one.url} {one.status}" for number, one in enumerate(entry.references, 1)}
    for part, text in texts.items():
        if looks_secret(text):
            raise EntryError(f"{part}: it holds what is written like a key or a password, and a journal keeps that for good: leave it out")


def _able_to_refute(entry: Entry) -> None:
    """A claim that its own fault cannot prove wrong is none; and a rate is only held against the rate of the same thing. Raises EntryError."""
    own, falsifier = entry.fault_class, entry.falsifier
    if falsifier.kind == "class" and own not in falsifier.classes:
        raise EntryError(f"falsifier: it does not name {own}, which the change is against: write class {','.join((own, *falsifier.classes))}")
    if entry.claim.kind == "reduces" and (falsifier.kind != "class" or falsifier.classes != (own,)):
        raise EntryError(f"falsifier: {entry.claim} is held against the rate of {own} before, so only that can refute it: write class {own}")
