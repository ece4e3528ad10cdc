"""Of a flood the first and the last lines of a day and a life stay, whatever order they come in; of what harms nobody the first."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.history.store import open_store
from triage.history.thinning import MOST_OF_A_RULE, thin

DAY = 86400.0
HARMLESS = 16


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with open_store(tmp_path / "history.db") as store:
        store.db.execute("INSERT INTO sources (id, name, shown, stream, host, kind) VALUES (1, 'vllm', 'vllm', '', '', 'engine')")
        yield store.db


def put(db: sqlite3.Connection, rows: list[tuple[float, str, str]]) -> None:
    """Add lines (time, kind, rule) of one log and thin what they touch."""
    db.executemany(
        "INSERT INTO events (source, segment, position, sorted_at, kind, rule, class, text, process, level, host, stream, origin, data,"
        " frames, follows, file, offset, line) VALUES (1, 1, ?, ?, ?, ?, '', '', '', '', '', '', 'engine', '{}', '[]', 0, '', 0, 0)",
        [(int(at), at, kind, rule) for at, kind, rule in rows],
    )
    thin(db, 1, min(row[0] for row in rows), max(row[0] for row in rows), {"warning": HARMLESS})


def kept(db: sqlite3.Connection, rule: str) -> list[float]:
    return [at for (at,) in db.execute("SELECT sorted_at FROM events WHERE rule = ? ORDER BY sorted_at", (rule,))]


def test_the_first_and_the_last_lines_of_a_flood_stay(db: sqlite3.Connection) -> None:
    put(db, [(float(at), "signature", "error") for at in range(5000)])
    assert kept(db, "error") == [*map(float, range(MOST_OF_A_RULE)), *map(float, range(5000 - MOST_OF_A_RULE, 5000))]


def test_each_day_and_each_life_has_its_own(db: sqlite3.Connection) -> None:
    put(db, [(at + start, "signature", "error") for start in (0.0, DAY) for at in range(3000)])
    put(db, [(DAY + 1500.5, "boot", "banner")])
    assert len(kept(db, "error")) == 4 * MOST_OF_A_RULE
    put(db, [(DAY + 1400.5 + n / 1000, "signature", "error") for n in range(50)])
    assert len(kept(db, "error")) == 4 * MOST_OF_A_RULE + 50, "the life that ended there has room"


def test_boots_all_stay(db: sqlite3.Connection) -> None:
    put(db, [(at * 10.0, "boot", "banner") for at in range(3000)])
    assert len(kept(db, "banner")) == 3000


@pytest.mark.parametrize("seed", range(5))
def test_what_stays_does_not_depend_on_the_order_in_which_it_came(seed: int, db: sqlite3.Connection) -> None:
    lines = [(at, "signature", rule) for at in range(4000) for rule in ("error", "warning")]
    parts = [[(float(at), kind, rule) for at, kind, rule in lines[i : i + 1000]] for i in range(0, len(lines), 1000)]
    random.Random(seed).shuffle(parts)
    for part in parts:
        put(db, part)
    assert kept(db, "error") == [*map(float, range(MOST_OF_A_RULE)), *map(float, range(4000 - MOST_OF_A_RULE, 4000))]
    assert kept(db, "warning") == [*map(float, range(HARMLESS))]
