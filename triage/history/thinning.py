"""Keeps of what a log says again and again the first and the last lines: a flood must not fill the store, nor hide what comes after it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping

from triage.model import Seconds

MOST_OF_A_RULE = 1000  # lines of one rule that are kept from the beginning of each day of one life of an engine, and from its end
ALWAYS_KEPT = "('boot', 'ready')"
DAY = 86400
LIVES = (
    "WITH lives AS (SELECT id, kind, rule, sorted_at, position, sum(kind = 'boot') OVER (ORDER BY sorted_at, position, id) AS life FROM events"
    " WHERE source = :source AND sorted_at BETWEEN :low AND :high)"
)
PART = f"PARTITION BY life, CAST(sorted_at / {DAY} AS INTEGER)"
THIN = (
    f"DELETE FROM events WHERE id IN ({LIVES} SELECT id FROM"
    f" (SELECT id, row_number() OVER ({PART} ORDER BY sorted_at, position, id) AS first,"
    f" row_number() OVER ({PART} ORDER BY sorted_at DESC, position DESC, id DESC) AS last"
    f" FROM lives WHERE rule = :rule AND kind NOT IN {ALWAYS_KEPT}) WHERE min(first, last) > {MOST_OF_A_RULE})"
)
THIN_HARMLESS = (
    f"DELETE FROM events WHERE id IN ({LIVES} SELECT id FROM"
    " (SELECT id, row_number() OVER (PARTITION BY life ORDER BY sorted_at, position, id) AS first"
    " FROM lives WHERE rule = :rule) WHERE first > :most)"
)


def thin(db: sqlite3.Connection, source: int, first: Seconds, last: Seconds, harmless: Mapping[str, int]) -> None:
    """Take out what is too much of one rule in the lives that the times from `first` to `last` lie in.

    Which lines stay does not depend on the order in which they came. `harmless`: how many lines of each rule that tells of no
    fault are kept from the beginning of a life, by the rule's id.
    """
    low, high = _lives(db, source, first, last)
    span = (source, low, high)
    counts = db.execute("SELECT rule, count(*) FROM events WHERE source = ? AND sorted_at BETWEEN ? AND ? GROUP BY rule", span).fetchall()
    for rule, count in counts:
        most = harmless.get(rule)
        if count > (2 * MOST_OF_A_RULE if most is None else most):
            bounds = {"source": source, "low": low, "high": high, "rule": rule, "most": most}
            db.execute(THIN if most is None else THIN_HARMLESS, bounds)


def _lives(db: sqlite3.Connection, source: int, first: Seconds, last: Seconds) -> tuple[Seconds, Seconds]:
    """When the life began that `first` lies in, and when the one ended that `last` lies in."""
    boot = "FROM events WHERE source = ? AND kind = 'boot' AND sorted_at"
    low = db.execute(f"SELECT max(sorted_at) {boot} < ?", (source, first)).fetchone()[0]
    high = db.execute(f"SELECT min(sorted_at) {boot} > ?", (source, last)).fetchone()[0]
    return -math.inf if low is None else low, math.inf if high is None else high
