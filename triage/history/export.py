"""Hands the history out: rows for programs and spreadsheets, tables in Parquet, and the answer to any question in SQL."""

from __future__ import annotations

import csv
import io
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

TABLES = ("incidents", "evidence", "boots", "outages", "dumps", "labels", "coverage", "runs")
Rows = tuple[list[str], list[Sequence[Any]]]
_DUCKDB = {"INTEGER": "BIGINT", "REAL": "DOUBLE", "TEXT": "VARCHAR"}
_ASKS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
_REFUSED_BY_SQLITE = (sqlite3.SQLITE_DELETE, sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE)


class SqlError(Exception):
    """A statement that SQLite does not run."""


def table(db: sqlite3.Connection, name: str) -> Rows:
    """All of one of TABLES, without the JSON documents: column names and rows."""
    columns = list(types(db, name))
    listed = ", ".join(f'"{column}"' for column in columns)
    return columns, db.execute(f"SELECT {listed} FROM {name}").fetchall()


def types(db: sqlite3.Connection, name: str) -> dict[str, str]:
    """The columns of one of TABLES with the types that they are declared with: INTEGER, REAL, TEXT."""
    return {row[1]: row[2] for row in db.execute(f"PRAGMA table_info({name})") if row[1] != "document"}


def ask(db: sqlite3.Connection, statement: str) -> Rows:
    """The answer to one SQL statement that changes nothing, also no other file. Raises SqlError with SQLite's own words."""
    db.execute("PRAGMA query_only = ON")
    db.set_authorizer(_only_asks)
    try:
        found = db.execute(statement)
        rows = found.fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise SqlError(str(error)) from error
    finally:
        db.set_authorizer(None)
    return [column[0] for column in found.description or ()], rows


def _only_asks(action: int, _first: str | None, second: str | None, _database: str | None, _trigger: str | None) -> int:
    """What SQLite asks of each part of a statement: ATTACH and VACUUM INTO would make files, a pragma with a value could take a limit off."""
    harmless = action in _ASKS or (action == sqlite3.SQLITE_PRAGMA and (second is None or second in TABLES))
    writes_here = action in _REFUSED_BY_SQLITE  # query_only says so in better words
    return sqlite3.SQLITE_OK if harmless or writes_here else sqlite3.SQLITE_DENY


def as_csv(rows: Rows) -> str:
    """With a header; text that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([cell(value) for value in row] for row in rows[1])
    return out.getvalue().rstrip("\n")


def as_jsonl(rows: Rows) -> Iterator[str]:
    """One JSON object a row."""
    for row in rows[1]:
        yield orjson.dumps(dict(zip(rows[0], row, strict=True))).decode()


def as_parquet(rows: Rows, declared: dict[str, str]) -> bytes:
    """One table as a Parquet file, its columns of the types declared. Raises ModuleNotFoundError without duckdb (the extra `fleet`), OSError."""
    import duckdb
    import pandas

    frame = pandas.DataFrame({name: pandas.Series(values, dtype="object") for name, values in _columns(rows)})
    listed = ", ".join(f'CAST("{name}" AS {_DUCKDB[declared[name]]}) AS "{name}"' for name in rows[0])
    with tempfile.TemporaryDirectory(prefix="triage-") as folder, duckdb.connect() as connection:
        target = Path(folder) / "table.parquet"
        quoted = str(target).replace("'", "''")
        connection.register("history", frame)
        try:
            connection.execute(f"COPY (SELECT {listed} FROM history) TO '{quoted}' (FORMAT parquet)")
        except duckdb.IOException as error:
            raise OSError(str(error)) from error
        return target.read_bytes()


def _columns(rows: Rows) -> Iterator[tuple[str, list[Any]]]:
    return ((name, [row[index] for row in rows[1]]) for index, name in enumerate(rows[0]))


def cell(value: Any) -> Any:
    """A value for a spreadsheet: text that it would take for a formula is quoted."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
