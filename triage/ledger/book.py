"""Mitigations as the journal tells them: each with what was said of it since, in order; nothing here looks at evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from triage.ledger.entry import ADDED, Entry, Moment
from triage.ledger.journal import JournalError, Record
from triage.model import Seconds

Said = Literal["claimed", "paused", "resumed", "withdrawn", "confounded", "refuted"]
PREFIX = "mitigation."


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """Something said of a mitigation after it was registered: when it was written down, from when on it holds, and why."""

    said: Said
    written: Moment
    since: Moment
    reason: str = ""
    incident: str = ""


class Mitigation(msgspec.Struct, frozen=True, kw_only=True):
    """An entry, when it was registered (seconds, UTC), the hash that freezes it, and all that was said of it since."""

    entry: Entry
    registered: Seconds
    hash: str
    words: tuple[Word, ...] = ()

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def claimed(self) -> Word | None:
        """The first word that it was applied: saying so again takes nothing back that came since."""
        return next((word for word in self.words if word.said == "claimed"), None)

    def said(self, *kinds: Said) -> Word | None:
        """The last word of these kinds."""
        return next((word for word in reversed(self.words) if word.said in kinds), None)


def mitigations(records: Sequence[Record]) -> list[Mitigation]:
    """All mitigations in order of registration. Raises JournalError for a record that is none of ours under our name."""
    found: dict[str, Mitigation] = {}
    for record in records:
        if not record.kind.startswith(PREFIX):
            continue
        try:
            if record.kind == ADDED:
                found.setdefault(record.subject, _registered(record))
            elif record.subject in found:
                found[record.subject] = _with_word(found[record.subject], record)
        except msgspec.ValidationError as error:
            raise JournalError(f"record {record.n} of the journal ({record.kind}) is not one that this triage knows: {error}") from error
    return list(found.values())


def one(known: Iterable[Mitigation], name: str) -> Mitigation | None:
    """The mitigation of that name, or the only one whose name begins so."""
    every = list(known)
    exact = [m for m in every if m.name == name]
    begins = exact or [m for m in every if name and m.name.startswith(name)]
    return begins[0] if len(begins) == 1 else None


def _registered(record: Record) -> Mitigation:
    return Mitigation(entry=msgspec.convert(record.data, Entry), registered=record.at, hash=record.hash)


def _with_word(mitigation: Mitigation, record: Record) -> Mitigation:
    fields = {"since": record.at, **record.data, "said": record.kind.removeprefix(PREFIX), "written": record.at}
    return msgspec.structs.replace(mitigation, words=(*mitigation.words, msgspec.convert(fields, Word)))
