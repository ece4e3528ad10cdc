"""Writes verdicts as incidents: one that was there before, under whatever id, stays the one it was; what became part of another goes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from triage.history.lives import bare
from triage.history.region import Region
from triage.model import Event, Incident, Seconds, Verdict

SAME: Seconds = 120.0
TIE = "; "
COLUMNS = (
    "id", "sorted_at", "class", "family", "fault", "phase", "engine", "version", "host", "source", "boot", "ties", "onset", "dead", "recovered",
    "low", "high", "dump_state", "first_probe", "root", "root_file", "root_line", "confidence", "rules", "changed", "document",
)  # fmt: skip


class Change(msgspec.Struct, frozen=True):
    """What one writing did to one incident: its number, its class before (empty for a new one) and now."""

    number: int
    before: str
    now: str


def write_verdicts(
    db: sqlite3.Connection, verdicts: Sequence[Verdict], region: Region, shown: dict[str, str], rules: str, at: Seconds
) -> list[Change]:
    """Bring the incidents from the region's cut on to what `verdicts` say. What is new or changed its class is returned."""
    own = [(when, plain(v, region, shown)) for v in verdicts if (when := sorted_at(v)) >= region.cut or not when]
    own = [(when, v) for when, v in own if not _is_forgotten(db, v.incident.id)]
    old: dict[int, sqlite3.Row | tuple[Any, ...]] = {
        row[0]: row
        for row in db.execute(
            "SELECT number, id, sorted_at, class, source, ties FROM incidents WHERE sorted_at >= ? OR sorted_at = 0", (region.cut,)
        )
    }
    numbers = _numbers(db, own, old)
    for number in set(old) - {n for n in numbers if n}:
        _dissolve(db, old[number], own, numbers)
    return [_write(db, when, verdict, number, rules, at) for (when, verdict), number in zip(own, numbers, strict=True)]


def sorted_at(verdict: Verdict) -> Seconds:
    """The time by which an incident is found: its onset, else its outage's, its death or its dump's; 0 where nothing has a time."""
    of = verdict.incident
    times = (of.onset, of.outage.onset if of.outage else None, of.dead, of.dump.onset if of.dump else None, of.boot.start if of.boot else None)
    return next((at.earliest for at in times if at), 0.0)


def plain(verdict: Verdict, region: Region, shown: dict[str, str]) -> Verdict:
    """A verdict as it is kept: cited lines at their true places, sources by the names people know, no other events."""
    of = verdict.incident
    incident = msgspec.structs.replace(
        of, source=shown.get(of.source, of.source), events=(), boot=bare(of.boot, shown) if of.boot else None,
        next_boot=bare(of.next_boot, shown) if of.next_boot else None,
    )  # fmt: skip
    root = _placed(verdict.root, region) if verdict.root else None
    return msgspec.structs.replace(verdict, incident=incident, root=root, consequences=tuple(_placed(e, region) for e in verdict.consequences))


def _placed(event: Event, region: Region) -> Event:
    place = region.places.get((event.place.source, event.order))
    return msgspec.structs.replace(event, place=place) if place else event


def _ties(of: Incident) -> list[str]:
    """What an incident is made of, by which it is known again when its id has changed."""
    ties = [f"boot {of.boot.id}"] if of.boot else []
    ties += [f"outage {of.outage.target} {of.outage.began.earliest:.0f}"] if of.outage else []
    return ties + ([f"dump {of.dump.sequence} {of.dump.operation} {of.dump.onset.earliest:.0f}"] if of.dump and of.dump.onset else [])


def _numbers(db: sqlite3.Connection, own: Sequence[tuple[Seconds, Verdict]], old: dict[int, Any]) -> list[int | None]:
    """For each verdict the incident that it is about, if there is one: by its id, by an id it once had, by what it is made of."""
    numbers: list[int | None] = []
    for _, verdict in own:
        row = db.execute("SELECT number FROM incidents WHERE id = ?", (verdict.incident.id,)).fetchone()
        numbers.append(row[0] if row else None)
    for index, (when, verdict) in enumerate(own):
        if numbers[index] is None:
            free = [row for number, row in old.items() if number not in numbers]
            numbers[index] = _known_by(when, verdict, free)
    return numbers


def _known_by(when: Seconds, verdict: Verdict, rows: Sequence[Any]) -> int | None:
    ties = set(_ties(verdict.incident))
    for number, _, _, _, _, before in rows:
        if ties.intersection(before.split(TIE)):
            return int(number)
    for number, _, at, _, source, _ in rows:
        if source == verdict.incident.source and abs(at - when) <= SAME:
            return int(number)
    return None


def _dissolve(db: sqlite3.Connection, row: Any, own: Sequence[tuple[Seconds, Verdict]], numbers: Sequence[int | None]) -> None:
    """Remove an incident that more evidence has shown to be part of another one; its ids and labels go over to that."""
    number, name, _, _, _, ties = row
    heirs = (n for (_, v), n in zip(own, numbers, strict=True) if n and set(_ties(v.incident)).intersection(ties.split(TIE)))
    heir = next(heirs, None)
    if heir is not None:
        db.execute("UPDATE OR REPLACE aliases SET incident = ? WHERE incident = ?", (heir, number))
        db.execute("INSERT OR REPLACE INTO aliases VALUES (?, ?)", (name, heir))
        db.execute("UPDATE labels SET incident = ? WHERE incident = ?", (heir, number))
    db.execute("DELETE FROM incidents WHERE number = ?", (number,))


def _write(db: sqlite3.Connection, when: Seconds, verdict: Verdict, number: int | None, rules: str, at: Seconds) -> Change:
    verdict = verdict if number is None else _with_kept_lines(db, verdict, number)
    values = _values(when, verdict, rules, at)
    before = ""
    if number is None:
        columns = ", ".join((*COLUMNS, "recorded"))
        made = db.execute(f"INSERT INTO incidents ({columns}) VALUES ({', '.join('?' * (len(COLUMNS) + 1))})", (*values, at))
        number = made.lastrowid or 0
    else:
        known = db.execute("SELECT id, class, document, rules FROM incidents WHERE number = ?", (number,)).fetchone()
        before = known[1]
        if (known[0], known[2], known[3]) != (values[0], values[-1], rules):
            db.execute(f"UPDATE incidents SET {', '.join(f'{c} = ?' for c in COLUMNS)} WHERE number = ?", (*values, number))
        if known[0] != verdict.incident.id:
            db.execute("INSERT OR REPLACE INTO aliases VALUES (?, ?)", (known[0], number))
    _write_evidence(db, number, verdict)
    if verdict.fault:
        of = verdict.incident
        db.execute("INSERT OR IGNORE INTO counted VALUES (?, ?, ?, ?)", (number, verdict.fault_class, of.host, of.source))
    return Change(number, before, verdict.fault_class)


def _with_kept_lines(db: sqlite3.Connection, verdict: Verdict, number: int) -> Verdict:
    """A verdict that was judged again from what is kept has no best or last lines: those that an earlier run saw of it stay."""
    if verdict.best_lines or verdict.last_lines or not verdict.fault:
        return verdict
    (document,) = db.execute("SELECT document FROM incidents WHERE number = ?", (number,)).fetchone()
    kept = msgspec.json.decode(document, type=_Lines)
    return msgspec.structs.replace(verdict, best_lines=kept.best_lines, last_lines=kept.last_lines)


class _Lines(msgspec.Struct, frozen=True):
    best_lines: tuple[Event, ...] = ()
    last_lines: tuple[Event, ...] = ()


def _write_evidence(db: sqlite3.Connection, number: int, verdict: Verdict) -> None:
    db.execute("DELETE FROM evidence WHERE incident = ?", (number,))
    cited = ([("root", verdict.root)] if verdict.root else []) + [(e.role or e.kind, e) for e in verdict.consequences]
    db.executemany(
        "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (number, i, role, e.at.earliest if e.at else None, e.place.file, e.place.line or None, e.rule, e.rank, e.text)
            for i, (role, e) in enumerate(cited)
        ],
    )


def _values(when: Seconds, verdict: Verdict, rules: str, at: Seconds) -> tuple[Any, ...]:
    of, root, span = verdict.incident, verdict.root, verdict.incident.time_to_death
    times = [t.earliest if t else None for t in (of.onset, of.dead, of.recovered)]
    return (
        of.id, when, verdict.fault_class, verdict.family, verdict.fault, of.phase, of.engine, of.boot.version if of.boot else "", of.host, of.source,
        of.boot.id if of.boot else "", TIE.join(_ties(of)), *times, span.low if span else None, span.high if span else None, of.dump_state,
        of.outage.first if of.outage else "", root.text if root else "", root.place.file if root else "", root.place.line or None if root else None,
        verdict.confidence, rules, at, msgspec.json.encode(verdict).decode(),
    )  # fmt: skip


def _is_forgotten(db: sqlite3.Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM forgotten WHERE id = ?", (name,)).fetchone() is not None
