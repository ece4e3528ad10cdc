"""Names of files as they are shown, the paths they stand for, and what lies there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from triage.expressions import compiled_later

from .urls import address_of, is_url, shown_url

STDIN = "-"
_ESCAPED = compiled_later(rb"\\x([89a-f][0-9a-f])")


_statuses: dict[str, os.stat_result | None] = {}


@contextmanager
def asked_once(files: Sequence[str]) -> Iterator[None]:
    """Inside, what lies at the paths of these files is what lay there at the beginning: the system is not asked again."""
    _statuses.update((file, status_of(file)) for file in files)
    try:
        yield
    finally:
        for file in files:
            _statuses.pop(file, None)


def status_of(file: str) -> os.stat_result | None:
    """What the system says of the path; None where nothing lies there, and for standard input and what lies elsewhere."""
    if file in _statuses:
        return _statuses[file]
    if file == STDIN or is_url(file):
        return None
    try:
        return os.stat(path_of(file))
    except (OSError, ValueError):
        return None


def is_regular(file: str) -> bool:
    """Whether the path leads to a regular file, which can be read more than once and never blocks."""
    return size_on_disk(file) is not None


def size_on_disk(file: str) -> int | None:
    """The size of a regular file in bytes, compressed as it may be; None for anything else."""
    status = status_of(file)
    return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else None


def is_lasting(file: str) -> bool:
    """Whether its bytes can be had more than once: a regular file, or an object elsewhere."""
    return is_url(file) or is_regular(file)


def shown(path: str) -> str:
    """A path as text for every format: bytes that are no UTF-8 become `\\xff`, which `path_of` turns back, and an address loses its secrets."""
    if is_url(path):
        return shown_url(path)
    try:
        path.encode()
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return path


def path_of(name: str) -> str:
    """The path of which `name` is what is shown."""
    if is_url(name):
        return address_of(name)
    if "\\x" not in name or os.path.lexists(name):
        return name
    return os.fsdecode(_ESCAPED.sub(lambda found: bytes((int(found[1], 16),)), os.fsencode(name)))


def real_path(path: str) -> str:
    """Where a path leads. A link that must not be read (`/proc/1/cwd`) leads to itself."""
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.abspath(path)


def is_pipe(file: str) -> bool:
    """Whether the path is standard input or leads to a pipe, such as `<(zcat log.gz)` gives: its bytes come once."""
    try:
        return file == STDIN or (not is_url(file) and stat.S_ISFIFO(os.stat(path_of(file)).st_mode))
    except (OSError, ValueError):
        return False


def reason(error: Exception) -> str:
    """What an operating system's error says, without the path, which a Problem names itself."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
