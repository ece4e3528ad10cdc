"""The tables of the store and how older ones become the present ones. docs/history.md explains every column.

Times are seconds since the epoch, UTC; an instant has two columns, `..._low` and `..._high`. `document` columns hold JSON.
"""

from __future__ import annotations

import sqlite3

from triage.history.errors import StoreError

APPLICATION_ID = 0x74726961  # "tria": what `file` and PRAGMA application_id tell the store by

_FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, rules TEXT NOT NULL, sources INTEGER NOT NULL, bytes INTEGER NOT NULL,
    events INTEGER NOT NULL, incidents INTEGER NOT NULL, complete INTEGER NOT NULL
);

CREATE TABLE sources (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, shown TEXT NOT NULL, stream TEXT NOT NULL, host TEXT NOT NULL, kind TEXT NOT NULL,
    end_at REAL, end_file TEXT, end_offset INTEGER, end_segment INTEGER, end_position INTEGER
);
CREATE INDEX sources_by_name ON sources (name, stream);

CREATE TABLE files (
    identity TEXT NOT NULL, length INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (identity, length)
) WITHOUT ROWID;

CREATE TABLE events (
    id INTEGER PRIMARY KEY, source INTEGER NOT NULL REFERENCES sources (id), segment INTEGER NOT NULL, position INTEGER NOT NULL,
    sorted_at REAL NOT NULL, at_low REAL, at_high REAL, how TEXT, kind TEXT NOT NULL, rule TEXT NOT NULL, role TEXT, class TEXT NOT NULL,
    text TEXT NOT NULL, process TEXT NOT NULL, pid INTEGER, rank INTEGER, level TEXT NOT NULL, host TEXT NOT NULL, stream TEXT NOT NULL,
    origin TEXT NOT NULL, data TEXT NOT NULL, frames TEXT NOT NULL, follows INTEGER NOT NULL,
    file TEXT NOT NULL, offset INTEGER NOT NULL, line INTEGER NOT NULL
);
CREATE INDEX events_by_time ON events (sorted_at);
CREATE INDEX events_by_source ON events (source, sorted_at);
CREATE INDEX events_without_time ON events (source) WHERE at_low IS NULL;

CREATE TABLE probes (
    id INTEGER PRIMARY KEY, series TEXT NOT NULL, target TEXT NOT NULL, at_low REAL NOT NULL, at_high REAL NOT NULL, how TEXT NOT NULL,
    symbol TEXT NOT NULL, text TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL
);
CREATE INDEX probes_by_series ON probes (series, at_low);

CREATE TABLE dumps (id TEXT PRIMARY KEY, onset REAL, ranks INTEGER NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX dumps_by_time ON dumps (onset);

CREATE TABLE boots (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, source INTEGER NOT NULL, first_event INTEGER NOT NULL, sorted_at REAL NOT NULL,
    served INTEGER NOT NULL, engine TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL, start REAL, ready REAL, "end" REAL,
    ended_by TEXT NOT NULL, boundary TEXT NOT NULL,
    config TEXT NOT NULL, captured TEXT NOT NULL DEFAULT '{}', document TEXT NOT NULL
);
CREATE INDEX boots_by_source ON boots (source, sorted_at);
CREATE INDEX boots_by_time ON boots (sorted_at);
CREATE INDEX boots_by_id ON boots (id);

CREATE TABLE outages (
    number INTEGER PRIMARY KEY, target TEXT NOT NULL, sorted_at REAL NOT NULL, began REAL NOT NULL, last REAL NOT NULL, ended REAL,
    first TEXT NOT NULL, symbols TEXT NOT NULL, failed INTEGER NOT NULL, document TEXT NOT NULL
);
CREATE INDEX outages_by_time ON outages (sorted_at);

CREATE TABLE incidents (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, sorted_at REAL NOT NULL, class TEXT NOT NULL, family TEXT NOT NULL,
    fault INTEGER NOT NULL, phase TEXT NOT NULL, engine TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL, source TEXT NOT NULL,
    boot TEXT NOT NULL, ties TEXT NOT NULL, onset REAL, dead REAL, recovered REAL, low REAL, high REAL, dump_state TEXT NOT NULL,
    first_probe TEXT NOT NULL, root TEXT NOT NULL, root_file TEXT NOT NULL, root_line INTEGER, confidence TEXT NOT NULL,
    rules TEXT NOT NULL, recorded REAL NOT NULL, changed REAL NOT NULL, told TEXT NOT NULL DEFAULT '', document TEXT NOT NULL
);
CREATE UNIQUE INDEX incidents_by_id ON incidents (id);
CREATE INDEX incidents_by_time ON incidents (sorted_at);
CREATE INDEX incidents_untold ON incidents (sorted_at) WHERE told <> class;

CREATE TABLE evidence (
    incident INTEGER NOT NULL REFERENCES incidents (number) ON DELETE CASCADE, ordinal INTEGER NOT NULL, role TEXT NOT NULL,
    at REAL, file TEXT NOT NULL, line INTEGER, rule TEXT NOT NULL, rank INTEGER, text TEXT NOT NULL, PRIMARY KEY (incident, ordinal)
) WITHOUT ROWID;

CREATE TABLE aliases (id TEXT PRIMARY KEY, incident INTEGER NOT NULL REFERENCES incidents (number) ON DELETE CASCADE) WITHOUT ROWID;

CREATE TABLE labels (
    id INTEGER PRIMARY KEY, incident INTEGER NOT NULL REFERENCES incidents (number) ON DELETE CASCADE, at REAL NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('relabel', 'dismiss', 'restore')), class TEXT NOT NULL, family TEXT NOT NULL,
    fault INTEGER NOT NULL, reason TEXT NOT NULL
);
CREATE INDEX labels_by_incident ON labels (incident);

CREATE TABLE forgotten (id TEXT PRIMARY KEY, at REAL NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE counted (
    incident INTEGER NOT NULL, class TEXT NOT NULL, host TEXT NOT NULL, instance TEXT NOT NULL, PRIMARY KEY (incident, class)
) WITHOUT ROWID;

CREATE TABLE coverage (
    kind TEXT NOT NULL, source TEXT NOT NULL, start REAL NOT NULL, "end" REAL NOT NULL, every REAL NOT NULL, PRIMARY KEY (kind, source, start)
) WITHOUT ROWID;
CREATE INDEX coverage_by_end ON coverage ("end");

CREATE TABLE followed (path TEXT PRIMARY KEY, identity TEXT NOT NULL, length INTEGER NOT NULL, offset INTEGER NOT NULL) WITHOUT ROWID;

CREATE VIEW crashes AS
SELECT i.id, datetime(i.sorted_at, 'unixepoch') AS seen, coalesce(
    (SELECT l.class FROM labels l WHERE l.incident = i.number AND l.action = 'relabel' ORDER BY l.id DESC LIMIT 1), i.class) AS class,
    i.family, i.engine, i.version, i.host, i.low AS ttd_low, i.high AS ttd_high, i.dump_state, i.first_probe, i.root, i.root_file, i.root_line,
    coalesce((SELECT l.action = 'dismiss' FROM labels l WHERE l.incident = i.number AND l.action <> 'relabel' ORDER BY l.id DESC LIMIT 1), 0)
    AS dismissed
FROM incidents i WHERE i.fault;
"""

MIGRATIONS = (_FIRST,)
VERSION = len(MIGRATIONS)


def migrate(db: sqlite3.Connection, path: str) -> None:
    """Bring the store to the present schema, one version after the other, each whole or not at all.

    Raises StoreError where a newer triage wrote it, or where it is some other program's database.
    """
    found = version_of(db)
    if found > VERSION:
        raise StoreError(f"the history {path}: a newer triage wrote it (schema {found}, this one knows {VERSION}): use that, or another --store")
    if not found and db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreError(f"the history {path}: it is another program's database: give another place with --store or TRIAGE_STORE")
    for number, script in enumerate(MIGRATIONS[found:], found + 1):
        db.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\nCOMMIT;")


def version_of(db: sqlite3.Connection) -> int:
    """The schema version of a store; 0 for a new file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])
