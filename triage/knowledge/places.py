"""Where in a folder of rules each rule stands, so that a flaw can be shown with file and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from triage.knowledge.configuration import EngineFlags, Gates, Mechanisms
from triage.knowledge.load import shape_of, toml_files
from triage.knowledge.redaction import Redaction
from triage.knowledge.schema import CommonCauses, EngineLines, FaultClass, Forks, Instruments, Probes, Xids

_NAMED = re.compile(r"""^\s*(?P<key>id|class|engine|number)\s*=\s*(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<number>\d+))""")
# Which keys name something in a file of each shape, and with which word before the name.
_PREFIXES: dict[type[Any], dict[str, str]] = {
    FaultClass: {"class": "", "id": ""},
    EngineLines: {"engine": "engine ", "id": ""},
    EngineFlags: {"engine": "flags of "},
    Xids: {"number": "Xid "},
    Forks: {"id": "fork "},
    Probes: {"id": "probe text "},
    CommonCauses: {"id": "common cause "},
    Redaction: {"id": "redaction "},
    Gates: {"id": "gate "},
    Mechanisms: {"id": "mechanism "},
    Instruments: {"id": "instrument "},
}
_HEADER = re.compile(r"^\s*\[\[(?P<table>[\w.]+)\]\]")


def shown(file: Path) -> str:
    """The path as it is shortest to read: from here where it lies below, else as it was given."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except (OSError, ValueError):
        return str(file)


def places(folders: Iterable[Path]) -> dict[str, str]:
    """`file:line` of everything that has an id (named like `load.ids_in`); where several folders have one, that of the last."""
    return {
        name: f"{shown(file)}:{line}" for folder in folders for file in toml_files(folder) for name, line in _named(file, file.relative_to(folder))
    }


def _named(file: Path, name: Path) -> Iterator[tuple[str, int]]:
    shape = shape_of(name)
    prefixes = _PREFIXES.get(shape, {"id": ""}) if shape else {}
    for number, line in enumerate(_lines(file), 1):
        found = _NAMED.match(line)
        if found and found["key"] in prefixes:
            yield prefixes[found["key"]] + (found["double"] or found["single"] or found["number"]), number


def line_of_table(file: Path, table: str, index: int) -> int | None:
    """The line of the `[[table]]` with this index (from 0), or None where there is none."""
    headers = [number for number, line in enumerate(_lines(file), 1) if (found := _HEADER.match(line)) and found["table"] == table]
    return headers[index] if index < len(headers) else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
