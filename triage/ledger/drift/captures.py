"""What was kept of a process or a container: /proc/PID/environ and cmdline (NUL between entries), and the JSON of `docker inspect`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from triage.ledger.drift.asked import Ask, AskedError, Setting, Word, variable

_ASSIGNED = re.compile(r"[A-Za-z_][\w.()%-]*=")


def of_process(content: bytes, file: str) -> Ask:
    """An environ or a cmdline: where every entry is NAME=value, it is the environment."""
    entries = [entry for entry in content.decode("utf-8", "replace").split("\0") if entry]
    if entries and all(_ASSIGNED.match(entry) for entry in entries):
        told = [entry.partition("=") for entry in entries]
        return Ask(what="environment of a process", variables=tuple(variable(name, value, file) for name, _, value in told))
    return Ask(what="command line of a process", words=tuple(Word(entry, file) for entry in entries))


def of_inspect(content: bytes, file: str) -> list[Ask]:
    """What containers were created with. Raises AskedError where it is JSON of something else."""
    try:
        told = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AskedError(f"{file}: cannot be read as JSON: {error}") from error
    containers = [each for each in (told if isinstance(told, list) else [told]) if isinstance(each, dict) and isinstance(each.get("Config"), dict)]
    if not containers:
        raise AskedError(f"{file}: no output of `docker inspect` of a container: no `Config` in it")
    return [_container(each, file) for each in containers]


def _container(each: Mapping[str, Any], file: str) -> Ask:
    config = each["Config"]
    words = [Word(str(word), file) for key in ("Entrypoint", "Cmd") for word in _listed(config.get(key))]
    variables = [_entry(str(entry), file) for entry in _listed(config.get("Env"))]
    image = config.get("Image")
    return Ask(
        what=f"container {str(each.get('Name', '?')).lstrip('/')}",
        words=tuple(words),
        variables=tuple(variables),
        image=Setting(kind="image", name="image", value=str(image), place=file, given=str(image)) if image else None,
    )


def _entry(text: str, file: str) -> Setting:
    name, equals, value = text.partition("=")
    return variable(name, value if equals else None, file)


def _listed(told: Any) -> list[Any]:
    return told if isinstance(told, list) else [told] if isinstance(told, str) else []
