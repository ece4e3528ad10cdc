"""systemd units with their drop-ins: what a service asks of its engine.

    [Service]
    Environment=VLLM_LOGGING_LEVEL=INFO "NCCL_DEBUG=WARN"
    EnvironmentFile=-/etc/default/vllm          # wins over Environment
    ExecStart=/usr/bin/vllm serve acme/oak-8b --port ${PORT}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from triage.ledger.drift.asked import Ask, AskedError, Setting, Word, variable
from triage.ledger.drift.env_file import content_of, read_variables
from triage.ledger.drift.shell_words import assignment, commands

_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_KEY = re.compile(r"(?P<key>[A-Za-z]\w*)\s*=\s*(?P<value>.*)", re.DOTALL)
_SPECIFIER = re.compile(r"%([A-Za-z])")
PREFIXES = "@-:+!|"


class Line(NamedTuple):
    """One `Key=value` of the section [Service], continuation lines joined."""

    key: str
    value: str
    file: str
    number: int


def looks_like(text: str) -> bool:
    """Whether a text has a section [Service]."""
    return any(line.strip() == "[Service]" for line in text.splitlines())


def drop_ins(unit: Path) -> list[Path]:
    """The drop-ins that lie beside a unit, in the order in which systemd reads them."""
    return sorted((unit.parent / f"{unit.name}.d").glob("*.conf"), key=lambda path: path.name)


def ask(text: str, file: str, overrides: Iterable[Path] = ()) -> Ask:
    """What the unit asks for, its drop-ins read after it. Raises AskedError naming the file."""
    lines = list(_lines(text, file))
    for path in overrides:
        lines += _lines(content_of(path), str(path))
    hidden: list[str] = []
    variables = {setting.name: setting for setting in _variables(lines, file, hidden)}
    start = _last(lines, "ExecStart")
    if not start:
        raise AskedError(f"{file}: no ExecStart in its section [Service]")
    known = {name: setting.value for name, setting in variables.items()}
    words = [word for line in start for command in _words(line, known) for word in command]
    notes = ("after an edit a unit needs daemon-reload and a restart: what runs may be older than this file",)
    return Ask(what=f"unit {Path(file).name}", words=tuple(words), variables=tuple(variables.values()), hidden=tuple(hidden), notes=notes)


def _lines(text: str, file: str) -> Iterator[Line]:
    section, began = "", 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        plain = line.strip()
        if not parts and (not plain or plain[0] in "#;"):
            continue
        began = began if parts else number
        parts.append(plain.removesuffix("\\"))
        if plain.endswith("\\"):
            continue
        held = " ".join(parts)
        parts = []
        if found := _SECTION.fullmatch(held):
            section = found["name"]
        elif section == "Service" and (found := _KEY.fullmatch(held)):
            yield Line(found["key"], found["value"], file, began)


def _last(lines: Iterable[Line], key: str) -> list[Line]:
    """The lines of a key since it was last set to nothing, which forgets those before."""
    kept: list[Line] = []
    for line in (line for line in lines if line.key == key):
        if line.value.strip():
            kept.append(line)
        else:
            kept.clear()
    return kept


def _variables(lines: list[Line], unit: str, hidden: list[str]) -> Iterator[Setting]:
    for line in _last(lines, "Environment"):
        for command in commands(line.value, None, line.file, first_line=line.number, separators=False):
            for word in command:
                if (told := assignment(word)) is not None:
                    yield variable(told[0], told[1].text, word.place, _specified(told[1].text))
    for line in _last(lines, "EnvironmentFile"):
        name = line.value.strip().lstrip("-").strip("\"'")
        try:
            yield from read_variables(_file_beside(name, unit))
        except AskedError as error:
            hidden.append(f"EnvironmentFile {name} cannot be read here ({str(error).rpartition(': ')[2]}): what it sets cannot be told")


def _file_beside(name: str, unit: str) -> Path:
    """The file that is meant: where it says, or of the same name beside the unit, where both were copied from another host."""
    path, copy = Path(name), Path(unit).parent / Path(name).name
    return copy if copy.is_file() and not path.is_file() else path


def _words(line: Line, known: dict[str, str | None]) -> Iterator[list[Word]]:
    text = line.value.lstrip(PREFIXES)
    for command in commands(text, known, line.file, first_line=line.number, separators=False):
        yield [word._replace(why=word.why or _specified(word.text)) for word in command]


def _specified(text: str) -> str:
    """Why a text with one of systemd's specifiers in it is not known."""
    found = _SPECIFIER.search(text.replace("%%", ""))
    return f"it depends on systemd's %{found[1]}" if found else ""
