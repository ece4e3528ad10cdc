"""Takes what a source gave from one process to another; the rules, which both have, stay where they are.

A reading keeps what it may be asked for later (periodic lines, parts of a file to read again) and the way to make events of it, which leads
to the compiled rules. Those are named instead of sent, so the two processes must have the same rules.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from triage.knowledge.table import RuleTable
from triage.model import Event, Probe
from triage.parsers.reading import Reading
from triage.parsers.sorting import Read

EVENTS = msgspec.msgpack.Decoder(tuple[Event, ...])  # ten times as fast as pickle, and there are many of these
PROBES = msgspec.msgpack.Decoder(tuple[Probe, ...])


def _rules() -> RuleTable:
    """Stands for the rules of whoever unpacks."""
    raise pickle.UnpicklingError("rules are named, and whoever unpacks has to put his own there")


def _named(_table: RuleTable) -> tuple[Callable[[], RuleTable], tuple[()]]:
    return _rules, ()


class _Packer(pickle.Pickler):
    """Names the rules. (A `persistent_id` would be asked about every single object.)"""

    dispatch_table = copyreg.dispatch_table | {RuleTable: _named}


class _Unpacker(pickle.Unpickler):
    """Puts its own rules where they are named."""

    def __init__(self, packed: bytes, table: RuleTable) -> None:
        super().__init__(io.BytesIO(packed))
        self._rules = lambda: table  # not of this object: what refers to itself stays until it is looked for

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return self._rules if found is _rules else found


def packed(read: Sequence[Read]) -> bytes:
    """What was read as bytes, for a process of ours to unpack."""
    out = io.BytesIO()
    bare = [msgspec.structs.replace(one, events=(), probes=()) if isinstance(one, Reading) else one for one in read]
    many = [(msgspec.msgpack.encode(one.events), msgspec.msgpack.encode(one.probes)) for one in read if isinstance(one, Reading)]
    _Packer(out, pickle.HIGHEST_PROTOCOL).dump((bare, many))
    return out.getvalue()


def unpacked(data: bytes, table: RuleTable) -> list[Read]:
    """What was packed by a process of ours with the same rules as `table`. Never to be given anything from elsewhere."""
    bare, many = _Unpacker(data, table).load()
    rest = iter(many)
    return [_whole(one, *next(rest)) if isinstance(one, Reading) else one for one in bare]


def _whole(reading: Reading, events: bytes, probes: bytes) -> Reading:
    return msgspec.structs.replace(reading, events=EVENTS.decode(events), probes=PROBES.decode(probes))
