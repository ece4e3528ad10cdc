"""Writes the boots and outages that were derived from a region of the evidence, in place of those that stood there."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from triage.history.region import Region
from triage.model import Boot, Outage, Seconds


def write_boots(db: sqlite3.Connection, boots: Sequence[Boot], region: Region, shown: dict[str, str]) -> None:
    """Replace the boots of the region; what was captured of a boot's configuration stays with it."""
    captured: dict[str, str] = {}
    for source, begin in region.begins.items():
        captured.update(db.execute("SELECT id, captured FROM boots WHERE source = ? AND sorted_at >= ?", (source, begin)).fetchall())
        db.execute("DELETE FROM boots WHERE source = ? AND sorted_at >= ?", (source, begin))
    db.executemany(
        "INSERT INTO boots (id, source, first_event, sorted_at, served, engine, version, host, start, ready, \"end\", ended_by, boundary, config,"
        " captured, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_boot_row(boot, region, shown, captured.get(boot.id, "{}")) for boot in boots if any(e.kind != "end" for e in boot.events)],
    )


def write_outages(db: sqlite3.Connection, outages: Sequence[Outage], cut: Seconds) -> None:
    """Replace the outages that began at or after the cut."""
    db.execute("DELETE FROM outages WHERE sorted_at >= ?", (cut,))
    db.executemany(
        "INSERT INTO outages (target, sorted_at, began, last, ended, first, symbols, failed, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_outage_row(outage) for outage in outages if outage.onset.earliest >= cut],
    )


def bare(boot: Boot, shown: dict[str, str]) -> Boot:
    """A boot without its events, its source as people call it."""
    return msgspec.structs.replace(boot, source=shown.get(boot.source, boot.source), events=())


def _boot_row(boot: Boot, region: Region, shown: dict[str, str], captured: str) -> tuple[Any, ...]:
    first = min(boot.events, key=lambda e: e.order)
    times = [at.earliest if at else None for at in (boot.start, boot.ready, boot.end)]
    seen = next((e.at.earliest for e in boot.events if e.at), 0.0)
    served = boot.ready is not None or any(e.serves for e in boot.events)
    return (
        boot.id, int(boot.source.removeprefix("#")), region.rows[boot.source, first.order], seen, served, boot.engine, boot.version, boot.host,
        *times, boot.ended_by, boot.boundary, _text(boot.config), captured, _text(bare(boot, shown)),
    )  # fmt: skip


def _outage_row(outage: Outage) -> tuple[Any, ...]:
    ended = outage.ended.earliest if outage.ended else None
    last = outage.ended.earliest if outage.ended else outage.began.latest
    return (
        outage.target, outage.onset.earliest, outage.began.earliest, last, ended, outage.first, outage.symbols, outage.failed, _text(outage),
    )  # fmt: skip


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()
