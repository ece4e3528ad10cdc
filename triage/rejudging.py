"""Judges the history again by the present rules: every kept line is matched anew, then joined and judged as if it had just been read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from triage.history.region import ALWAYS, load_region
from triage.history.rows import INSERT, row_of
from triage.history.store import Store
from triage.knowledge.load import Knowledge
from triage.knowledge.table import Rule, RuleTable
from triage.model import Event
from triage.parsers import kernel
from triage.recording import derive

NOT_MATCHED = ("step", "trouble")  # a step's words were not kept, and lines that only look like trouble are no evidence of the store


class Changed(msgspec.Struct, frozen=True):
    """An incident whose class is another one now; an empty class: there was, or is, no such incident."""

    id: str
    before: str
    now: str


class _UndoneError(Exception):
    """Raised to leave a transaction without writing."""


def rejudge(store: Store, known: Knowledge, *, dry_run: bool = False) -> list[Changed]:
    """Match and judge everything again; what changed, in order of time. With `dry_run` nothing is written."""
    changed: list[Changed] = []
    try:
        with store.transaction() as db:
            before = dict(db.execute("SELECT number, class FROM incidents ORDER BY sorted_at").fetchall())
            names = dict(db.execute("SELECT number, id FROM incidents").fetchall())
            _match_again(store, RuleTable(known))
            derive(store, known, ALWAYS)
            now = dict(db.execute("SELECT number, class FROM incidents ORDER BY sorted_at").fetchall())
            names.update(db.execute("SELECT number, id FROM incidents").fetchall())
            numbers = [*before, *(n for n in now if n not in before)]
            changed = [Changed(names[n], before.get(n, ""), now.get(n, "")) for n in numbers if before.get(n) != now.get(n)]
            if dry_run:
                raise _UndoneError
    except _UndoneError:
        pass
    return changed


def _match_again(store: Store, table: RuleTable) -> None:
    """Put in place of each kept line's events those that the rules give for it now."""
    region = load_region(store.db, ALWAYS)
    lines: dict[tuple[str, int], list[Event]] = {}
    for event in region.events:
        if event.kind != "end":
            lines.setdefault((event.place.source, event.order), []).append(event)
    placed = {row[0]: row[1:] for row in store.db.execute("SELECT id, source, segment, position, sorted_at FROM events")}
    rows = []
    for key, events in lines.items():
        source, segment, position, sorted_at = placed[region.rows[key]]
        for event in _again(events, table):
            place = region.places[key]
            judged = kernel.enriched(event, table.xids) if event.origin == "kernel" else event
            rows.append(row_of(msgspec.structs.replace(judged, place=place), source, segment, position, sorted_at))
    store.db.execute("DELETE FROM events")
    store.db.executemany(INSERT, rows)
    store.db.execute("DELETE FROM boots")


def _again(events: Sequence[Event], table: RuleTable) -> Iterator[Event]:
    """The events of one line by the present rules, in the parser's order: echoes first, then as they end in the line.

    Where a rule knows the line as an echo, what looks like a fault in it is none. Of a step's line only figures were kept: they stay.
    """
    line = max(events, key=lambda event: len(event.frames))
    yield from (event for event in events if event.kind == "step" and event.rule in table.by_id)
    hits = dict.fromkeys(index for _, index in table.scanner.scan(line.text.encode()))
    rules = sorted((table[index] for index in hits if table[index].kind not in NOT_MATCHED), key=lambda rule: not rule.is_echo)
    matched = [(rule, found) for rule in rules if line.origin in rule.sources and (found := _evidence(table, rule, line.text))]
    echoed = any(rule.is_echo for rule, _ in matched)
    before = {event.rule: event for event in events}
    yield from (_event(before.get(rule.id, line), rule, found) for rule, found in matched if not (echoed and rule.is_fault))


Found = tuple[str, dict[str, str]]


def _event(line: Event, rule: Rule, found: Found) -> Event:
    text, data = found
    kept = {"invocation": line.data["invocation"]} if "invocation" in line.data else {}
    kept |= {"last": "yes"} if rule.is_last else {}
    frames, follows = (line.frames, line.follows) if rule.is_root else ((), False)
    return msgspec.structs.replace(
        line, kind=rule.kind, rule=rule.id, role=rule.role, fault=rule.fault, text=text, data={**data, **kept}, frames=frames, follows=follows
    )


def _evidence(table: RuleTable, rule: Rule, text: str) -> Found | None:
    try:
        return table.evidence(rule, text)
    except TimeoutError:
        return None
