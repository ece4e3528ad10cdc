"""The shape of rules/redact.toml: what must not leave the house, and what stands instead."""

# Annotations are no texts here (`from __future__ import annotations`): msgspec would have to evaluate each of them in every run.

from typing import Literal

import msgspec


class TakeRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is taken out of whatever leaves the house: the group `value` of the pattern, else all that it matches.

    With `literal` it is the value behind the match: a quoted text, a list or a dict, with `bare` also a word. `needs` are small letters of
    which one stands in every line that the pattern matches. `put` stands instead; `kind` is what it is counted as. `lasts`: what goes to the
    end of its line goes on in the lines below, up to one with this text. It stays where the line above matches `unless_above`.
    """

    id: str
    kind: str
    pattern: str
    needs: tuple[str, ...] = ()
    literal: bool = False
    bare: bool = False
    put: str = "<secret>"
    lasts: str = ""
    unless_above: str = ""
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]


class NameRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that gets a pseudonym: the group `value` of the pattern; with `everywhere` also where the pattern does not find it."""

    id: str
    kind: Literal["host", "user", "email", "ip", "mac", "container", "account"]
    pattern: str
    needs: tuple[str, ...] = ()
    everywhere: bool = False
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]


class Kept(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What says nothing about anybody and stays: names of hosts (and of all below them, where they have a dot), of users, addresses.

    `quotes`: regexes for what stands before a quoted text that is no user's.
    """

    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()


class Redaction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"takes": "take", "names": "name"}):
    """rules/redact.toml: what must not leave the house."""

    takes: tuple[TakeRule, ...] = ()
    names: tuple[NameRule, ...] = ()
    keep: Kept = Kept()

    @property
    def rules(self) -> tuple[TakeRule | NameRule, ...]:
        return (*self.takes, *self.names)
