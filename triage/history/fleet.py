"""What one host hands to its fleet: its incidents, its boots and the time that was seen, as Parquet; of logs no line, only names and times.

The layout is `DIR/host=HOST/{about,incidents,boots,coverage}.parquet`, which hive-partitioned readers (DuckDB, Spark, pandas) understand.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

from triage.history.export import Rows, as_parquet
from triage.history.query import DISMISSED
from triage.model import Seconds

FORMAT = 1  # of these files: raised when a column changes its meaning; one that is added changes nothing
Columns = dict[str, str]

ABOUT: Columns = {"format": "INTEGER", "triage": "TEXT", "rules": "TEXT", "host": "TEXT", "exported": "REAL"}
INCIDENTS: Columns = {
    "id": "TEXT", "class": "TEXT", "family": "TEXT", "fault": "INTEGER", "dismissed": "INTEGER", "seen": "REAL", "onset": "REAL", "dead": "REAL",
    "recovered": "REAL", "low": "REAL", "high": "REAL", "host": "TEXT", "source": "TEXT", "engine": "TEXT", "version": "TEXT", "driver": "TEXT",
    "phase": "TEXT", "dump_state": "TEXT", "first_probe": "TEXT", "confidence": "TEXT", "rules": "TEXT",
}  # fmt: skip
BOOTS: Columns = {
    "id": "TEXT", "host": "TEXT", "engine": "TEXT", "version": "TEXT", "driver": "TEXT", "start": "REAL", "ready": "REAL", "end": "REAL",
    "ended_by": "TEXT",
}  # fmt: skip
COVERAGE: Columns = {"host": "TEXT", "kind": "TEXT", "start": "REAL", "end": "REAL"}
FILES: dict[str, Columns] = {"about": ABOUT, "incidents": INCIDENTS, "boots": BOOTS, "coverage": COVERAGE}

_DRIVER = "coalesce(json_extract(b.config, '$.driver_version'), json_extract(b.captured, '$.driver_version'), '')"
_LABEL = "SELECT {} FROM labels l WHERE l.incident = i.number AND l.action = 'relabel' ORDER BY l.id DESC LIMIT 1"
_INCIDENTS = f"""
SELECT i.id, coalesce(({_LABEL.format("l.class")}), i.class), coalesce(({_LABEL.format("l.family")}), i.family),
    coalesce(({_LABEL.format("l.fault")}), i.fault), coalesce(({DISMISSED}), 0), nullif(i.sorted_at, 0), i.onset, i.dead, i.recovered, i.low, i.high,
    i.host, i.source, i.engine, i.version,
    coalesce((SELECT {_DRIVER} FROM boots b WHERE b.id = i.boot ORDER BY b.number DESC LIMIT 1), ''), i.phase, i.dump_state, i.first_probe,
    i.confidence, i.rules
FROM incidents i ORDER BY i.sorted_at, i.id
"""
_BOOTS = f"""
SELECT b.id, b.host, b.engine, b.version, {_DRIVER}, b.start, b.ready, b."end", b.ended_by FROM boots b ORDER BY b.sorted_at, b.number
"""
_COVERAGE = """
SELECT coalesce((SELECT s.host FROM sources s WHERE s.name = c.source AND s.host <> '' LIMIT 1), ''), c.kind, c.start, c."end"
FROM coverage c ORDER BY c.start, c.source
"""


def folder_of(host: str) -> str:
    """The folder of one host's files: hive's `key=value`."""
    return f"host={re.sub(r'[^A-Za-z0-9._-]', '_', host) or '_'}"


def files(db: sqlite3.Connection, host: str, *, triage: str, rules: str, at: Seconds) -> Iterator[tuple[str, bytes]]:
    """The names of the files and their content. Raises ModuleNotFoundError without duckdb (the extra `fleet`), OSError."""
    rows = {"about": [(FORMAT, triage, rules, host, at)], "incidents": db.execute(_INCIDENTS).fetchall(), "boots": db.execute(_BOOTS).fetchall(),
            "coverage": db.execute(_COVERAGE).fetchall()}  # fmt: skip
    alone = _is_alone(db)
    for name, columns in FILES.items():
        yield f"{name}.parquet", as_parquet(_of_host(list(columns), rows[name], host, alone=alone), columns)


def _is_alone(db: sqlite3.Connection) -> bool:
    """Whether the logs name no more than one host: then all is of the host that hands it out, however it is called in them."""
    (named,) = db.execute("SELECT count(DISTINCT host) FROM (SELECT host FROM sources UNION SELECT host FROM incidents) WHERE host <> ''").fetchone()
    return bool(named <= 1)


def _of_host(columns: list[str], rows: list[tuple[object, ...]], host: str, *, alone: bool) -> Rows:
    at = columns.index("host")
    return columns, [(*row[:at], host if alone or not row[at] else row[at], *row[at + 1 :]) for row in rows]
