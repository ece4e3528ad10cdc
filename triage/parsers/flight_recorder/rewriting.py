"""A dump written anew as JSON: only what was understood of it, in torch's own names, so that every reader of dumps reads it; never a pickle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from triage.parsers.flight_recorder import machine
from triage.parsers.flight_recorder.document import Document, Row, frames_of, from_containers, from_json, read_rows
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.reader import regular_file, unpacked

Shown = Callable[[str], str]


def as_json(path: str, shown: Shown) -> bytes:
    """The dump in `path` as JSON, each text in it as `shown` gives it. Raises DumpError with what is wrong, OSError where it cannot be read."""
    read = _document(path)
    told = {
        "version": f"{read.version[0]}.{read.version[1]}",
        "comm_lib_version": shown(read.library),
        "pg_config": {shown(name): {"name": shown(name), "desc": shown(of.desc), "ranks": str(list(of.ranks))} for name, of in read.config.items()},
        "pg_status": {
            str(number): {
                "last_enqueued_collective": at.enqueued, "last_started_collective": at.started, "last_completed_collective": at.completed
            }
            for number, at in read.status.items()
        },
        "entries": [_entry(row, shown) for row in read_rows(read) if row is not None],
    }  # fmt: skip
    return orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)


def _document(path: str) -> Document:
    data = unpacked(regular_file(path))
    if data[:1] == b"\x80":
        return from_containers(machine.load(data).value, len(data))
    return from_json(data.removeprefix(b"\xef\xbb\xbf"))


def _entry(row: Row, shown: Shown) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(row, frames=None))
    told = {key: _texts(value, shown) for key, value in told.items() if value is not None}
    frames = frames_of(row.frames)
    if frames:
        told["frames"] = [{"name": shown(f.name), "filename": shown(f.filename), "line": f.line} for f in frames]
    return told


def _texts(value: Any, shown: Shown) -> Any:
    if isinstance(value, str):
        return shown(value)
    return [_texts(one, shown) for one in value] if isinstance(value, list | tuple) and value and not isinstance(value[0], int) else value


__all__ = ["DumpError", "as_json"]
