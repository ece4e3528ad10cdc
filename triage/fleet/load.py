"""Reads the exports of many hosts into one DuckDB in memory. Each file is checked by itself: a strange one costs its host, never the answer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import msgspec

from triage.history.fleet import ABOUT, FILES, FORMAT
from triage.model import Problem, Seconds
from triage.sources.paths import path_of, reason, shown
from triage.sources.urls import is_url

EXTRA = "triage fleet needs duckdb: pip install 'crash-triage[fleet]'"
LARGEST = 256 << 20  # bytes of one file that are read
MEMORY = "1GB"
TYPES = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR"}
NEEDED = {"incidents": {"id", "class", "fault", "host"}, "coverage": {"host", "start", "end"}, "boots": {"id", "host"}}
LONGEST = 200  # characters of a name
_ROWS = "SELECT host, export FROM coverage UNION SELECT host, export FROM incidents UNION SELECT host, export FROM boots"
# The hosts that the exports speak of; one that handed out an empty history is one, too, and one that only collects the logs of others is none.
_HOSTS = f"SELECT host FROM ({_ROWS}) UNION SELECT host FROM about WHERE export NOT IN (SELECT export FROM ({_ROWS}))"


class FleetError(Exception):
    """No export of any host could be read, or there is no library for it."""


class Count(msgspec.Struct, frozen=True):
    """So many incidents of one class on one host, with one driver and one version of one engine."""

    fault_class: str
    family: str
    host: str
    driver: str
    engine: str
    version: str
    count: int
    first: Seconds | None
    last: Seconds | None


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """All hosts together. `seen`: seconds in which some log or probe of a host could have shown a fault; `times`: of each class and host."""

    hosts: tuple[str, ...]
    seen: dict[str, Seconds]
    counts: tuple[Count, ...]
    times: dict[tuple[str, str], tuple[Seconds | None, ...]]
    start: Seconds | None = None
    end: Seconds | None = None
    boots: int = 0
    dismissed: int = 0
    problems: tuple[Problem, ...] = ()


def load(paths: Sequence[str], *, since: Seconds | None = None, until: Seconds | None = None, classes: Sequence[str] = ()) -> Fleet:
    """What the exports below these folders and addresses say of the time from `since` to `until`, of some classes or all. Raises FleetError."""
    try:
        import duckdb
    except ImportError as error:
        raise FleetError(EXTRA) from error
    problems: list[Problem] = []
    with duckdb.connect(config={"memory_limit": MEMORY, "autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}) as db:
        for name, columns in FILES.items():
            listed = ", ".join(f'"{column}" {TYPES[kind]}' for column, kind in columns.items())
            db.execute(f"CREATE TABLE {name} ({listed}, exported_at DOUBLE, export VARCHAR)")
        read = [_take(db, export, problems) for path in paths for export in _exports(path, problems)]
        if not any(read):
            told = "; ".join(f"{p.file}: {p.what}" for p in problems[:3])
            raise FleetError(f"no export of a host in {', '.join(map(shown, paths))}" + (f" ({told})" if told else ""))
        if classes:
            _keep(db, classes)
        return _fleet(db, since, until, problems)


def _keep(db: Any, classes: Sequence[str]) -> None:
    """Drop all other classes. Raises FleetError for one that no host has ever seen."""
    known = {name for (name,) in db.execute("SELECT DISTINCT class FROM incidents").fetchall()}
    if strange := [name for name in classes if name not in known]:
        raise FleetError(f"--class: no {strange[0]!r} on any host; there are {', '.join(sorted(known)) or 'none'}")
    db.execute("DELETE FROM incidents WHERE NOT list_contains($classes, class)", {"classes": list(classes)})


def _exports(path: str, problems: list[Problem]) -> list[str]:
    """The `about.parquet` of each host below a folder or an address."""
    try:
        if is_url(path):
            from triage.sources.remote import found

            inside = found(path)
        else:
            inside = [os.path.join(where, file) for where, _, files in os.walk(path, onerror=_raise) for file in files]
    except OSError as error:
        problems.append(Problem(shown(path), reason(error)))
        return []
    exports = sorted(file for file in inside if file.partition("?")[0].endswith("/about.parquet"))
    if not exports:
        problems.append(Problem(shown(path), "holds no export: about.parquet is in none of its folders"))
    return exports


def _raise(error: OSError) -> None:
    raise error


def _take(db: Any, about: str, problems: list[Problem]) -> bool:
    """Take one host's files into the tables, all of them or none; whether that was done."""
    import duckdb

    name = about
    db.execute("BEGIN")
    try:
        with _local(about) as copy:
            version, exported = _about(db, copy)
        if version > FORMAT:
            raise FleetError(f"a newer triage wrote it (format {version}, this one knows {FORMAT}): use that")
        for table in ("incidents", "boots", "coverage"):
            name = about.replace("about.parquet", f"{table}.parquet")
            with _local(name) as copy:
                _insert(db, table, copy, exported, about)
        with _local(about) as copy:
            _insert(db, "about", copy, exported, about)
    except (duckdb.Error, OSError, FleetError, UnicodeError) as error:
        db.execute("ROLLBACK")
        said = str(error).splitlines()[0] if isinstance(error, duckdb.Error | FleetError) else reason(error)
        problems.append(Problem(shown(name), f"{said[:200]}; nothing of this host is counted"))
        return False
    db.execute("COMMIT")
    return True


def _about(db: Any, file: str) -> tuple[int, Seconds]:
    """The format of an export, and when it was written. Raises FleetError where that is not said."""
    columns = _columns(db, file)
    if missing := {"format", "host", "exported"} - set(columns):
        raise FleetError(f"is no export of triage: no column {', '.join(sorted(missing))}")
    asked = "SELECT CAST(format AS BIGINT), CAST(exported AS DOUBLE) FROM read_parquet(?, hive_partitioning = false) LIMIT 1"
    row = db.execute(asked, [file]).fetchone()
    if row is None or None in row:
        raise FleetError("is empty")
    return int(row[0]), float(row[1])


def _insert(db: Any, table: str, file: str, exported: Seconds, export: str) -> None:
    """Take over the columns that are known; one that an older or newer triage has not is empty. Raises FleetError, duckdb.Error."""
    present = _columns(db, file)
    if missing := NEEDED.get(table, set(ABOUT)) - set(present):
        raise FleetError(f"no column {', '.join(sorted(missing))}")
    columns = FILES[table]
    taken = ", ".join(_cast(column, kind, column in present) for column, kind in columns.items())
    db.execute(f"INSERT INTO {table} SELECT {taken}, ?, ? FROM read_parquet(?, hive_partitioning = false)", [exported, export, file])


def _cast(column: str, kind: str, is_there: bool) -> str:
    if not is_there:
        return "''" if kind == "TEXT" else "NULL"
    if kind == "TEXT":
        return f"left(coalesce(CAST(\"{column}\" AS VARCHAR), ''), {LONGEST})"
    return f'CAST("{column}" AS {TYPES[kind]})'


def _columns(db: Any, file: str) -> list[str]:
    return [row[0] for row in db.execute("DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning = false)", [file]).fetchall()]


@contextmanager
def _local(file: str) -> Iterator[str]:
    """The file on this disk: a copy where it lies elsewhere. Raises OSError."""
    if not is_url(file):
        if os.path.getsize(path_of(file)) > LARGEST:
            raise OSError(f"larger than {LARGEST >> 20} MiB")
        yield file
        return
    from triage.sources.remote import opened

    view = memoryview(bytearray(1 << 20))
    with tempfile.TemporaryDirectory(prefix="triage-fleet-") as folder:
        copy = os.path.join(folder, "copy.parquet")
        with closing(opened(file)) as source, open(copy, "wb") as target:
            while size := source.readinto(view):
                target.write(view[:size])
                if target.tell() > LARGEST:
                    raise OSError(f"larger than {LARGEST >> 20} MiB")
        yield copy


def _fleet(db: Any, since: Seconds | None, until: Seconds | None, problems: list[Problem]) -> Fleet:
    latest = "QUALIFY row_number() OVER (PARTITION BY host, id ORDER BY exported_at DESC) = 1"  # one host may have been exported several times
    db.execute(f"CREATE VIEW last_said AS SELECT * FROM incidents {latest}")
    window = "($since IS NULL OR seen >= $since) AND ($until IS NULL OR seen <= $until)"
    span = {"since": since, "until": until}
    shared = "host, driver, engine, version"
    rows = db.execute(
        f'SELECT class, any_value(family), {shared}, count(*), min(seen), max(seen) FROM last_said WHERE fault AND NOT coalesce(dismissed, 0)::BOOL'
        f" AND {window} GROUP BY class, {shared} ORDER BY class, count(*) DESC, {shared}", span,
    ).fetchall()  # fmt: skip
    times = db.execute(
        f"SELECT class, host, list(seen ORDER BY seen) FROM last_said WHERE fault AND NOT coalesce(dismissed, 0)::BOOL AND {window}"
        " GROUP BY class, host ORDER BY class, host", span,
    ).fetchall()  # fmt: skip
    (dismissed,) = db.execute(f"SELECT count(*) FROM last_said WHERE coalesce(dismissed, 0)::BOOL AND {window}", span).fetchone()
    (boots,) = db.execute(f"SELECT count(*) FROM (SELECT DISTINCT host, id FROM boots WHERE {window.replace('seen', 'start')})", span).fetchone()
    stretches = db.execute('SELECT host, start, "end" FROM coverage WHERE "end" > start ORDER BY host, start').fetchall()
    seen, bounds = _seen(stretches, since, until)
    named = {host for (host,) in db.execute(_HOSTS).fetchall()}
    counts = tuple(Count(*row) for row in rows)
    return Fleet(
        hosts=tuple(sorted(named)), seen=seen, counts=counts, times={(c, h): tuple(t) for c, h, t in times}, start=bounds[0], end=bounds[1],
        boots=boots, dismissed=dismissed, problems=tuple(problems),
    )  # fmt: skip


def _seen(
    stretches: Sequence[tuple[str, Seconds, Seconds]], since: Seconds | None, until: Seconds | None
) -> tuple[dict[str, Seconds], tuple[Seconds | None, Seconds | None]]:
    """The seconds of each host that some stretch covers (they come in order), and where the first begins and the last ends."""
    seen: dict[str, Seconds] = {}
    reached: dict[str, Seconds] = {}
    for host, start, end in stretches:
        start = max(start, reached.get(host, start), start if since is None else since)
        end = end if until is None else min(end, until)
        seen[host] = seen.get(host, 0.0) + max(0.0, end - start)
        reached[host] = max(end, reached.get(host, end))
    first = min((start for _, start, _ in stretches), default=None)
    last = max((end for _, _, end in stretches), default=None)
    with suppress(TypeError):  # without any stretch there is nothing to compare
        first = max(first, since) if since is not None else first  # type: ignore[type-var]
        last = min(last, until) if until is not None else last  # type: ignore[type-var]
    return seen, (first, last)
