"""Hands the history out: rows for programs and spreadsheets, tables in Parquet, and the answer to any question in SQL."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

TABLES = ("incidents", "evidence", "boots", "outages", "dumps", "labels", "coverage", "runs")
Rows = tuple[list[str], list[Sequence[Any]]]


class SqlError(Exception):
    """A statement that SQLite does not run."""


def table(db: sqlite3.Connection, name: str) -> Rows:
    """All of one of TABLES, without the JSON documents: column names and rows."""
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})") if row[1] != "document"]
    listed = ", ".join(f'"{column}"' for column in columns)
    return columns, db.execute(f"SELECT {listed} FROM {name}").fetchall()


def ask(db: sqlite3.Connection, statement: str) -> Rows:
    """The answer to one SQL statement that changes nothing. Raises SqlError with SQLite's own words."""
    db.execute("PRAGMA query_only = ON")
    try:
        found = db.execute(statement)
        rows = found.fetchall()
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise SqlError(str(error)) from error
    return [column[0] for column in found.description or ()], rows


def as_csv(rows: Rows) -> str:
    """With a header; text that a spreadsheet would take for a formula is quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row] for row in rows[1])
    return out.getvalue().rstrip("\n")


def as_jsonl(rows: Rows) -> Iterator[str]:
    """One JSON object a row."""
    for row in rows[1]:
        yield orjson.dumps(dict(zip(rows[0], row, strict=True))).decode()


def write_parquet(rows: Rows, path: Path) -> None:
    """One table as a Parquet file. Raises ModuleNotFoundError without duckdb (`pip install 'crash-triage[fleet]'`), OSError."""
    import duckdb  # type: ignore[import-not-found, unused-ignore]
    import pandas

    frame = pandas.DataFrame.from_records([tuple(row) for row in rows[1]], columns=rows[0])
    connection = duckdb.connect()
    connection.register("history", frame)
    target = str(path).replace("'", "''")
    connection.execute(f"COPY history TO '{target}' (FORMAT parquet)")


def _cell(value: Any) -> Any:
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
