"""Leaves of events that several readings of one log gave those that one reading of all of it would have given: floods are cut as there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from triage.knowledge.table import RuleTable
from triage.model import Event, Seconds
from triage.parsers.repeats import Repeats

MINUTE: Seconds = 60.0


def thinned(events: Iterable[Event], table: RuleTable) -> Iterator[Event]:
    """The events, each source's in the order of its log, without those of a flood that its reader would have passed over.

    A reading that begins in the middle of a flood does not know how long that has lasted, and takes more of it than it should.
    """
    indices = {rule.id: index for index, rule in enumerate(table.rules)}
    seen: defaultdict[str, Repeats] = defaultdict(lambda: Repeats(table))
    for event in events:
        index = indices.get(event.rule)
        if index is None or event.at is None or table[index].is_periodic or _is_wanted(seen[event.place.source], index, event, table):
            yield event


def _is_wanted(repeats: Repeats, index: int, event: Event, table: RuleTable) -> bool:
    rule = table[index]
    if rule.kind == "boot":
        repeats.new_life()
    if rule.is_harmless:
        return repeats.is_told(index)
    stamp = _stamp(event.at.earliest if event.at else 0.0)
    if repeats.is_plenty(index, stamp, several=False):
        return False
    repeats.count(index, stamp, several=False)
    return True


def _stamp(at: Seconds) -> bytes:
    """The minute of a line as it would stand in it."""
    return datetime.fromtimestamp(at - at % MINUTE, UTC).isoformat().encode()
