"""What was read of a file before it is read whole: of a pipe, since its bytes come once; of a small file, so that it is opened only once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, cast

from .paths import STDIN, is_lasting, is_pipe, path_of, size_on_disk
from .urls import is_url

SMALL = 1 << 16  # bytes of a file, as it lies on disk, that is held whole


class Raw(Protocol):
    """An open file."""

    def readinto(self, view: memoryview, /) -> int | None: ...

    def close(self) -> None: ...


class _Taken:
    """An open file, until it is handed over, and the bytes that were read from its beginning."""

    __slots__ = ("first", "raw")

    def __init__(self, raw: Raw, first: bytes = b"") -> None:
        self.raw: Raw | None = raw
        self.first = first

    def up_to(self, size: int) -> bytes:
        """The first `size` bytes, or all where there are fewer. Raises OSError, ValueError or AttributeError like reading."""
        view = memoryview(bytearray(max(size - len(self.first), 0)))
        filled = 0
        while self.raw is not None and filled < len(view) and (got := self.raw.readinto(view[filled:])):
            filled += got
        self.first += bytes(view[:filled])
        return self.first


_pipes: dict[str, _Taken] = {}
_wanted: set[str] = set()  # files that are held where they are small, and that nobody looked into yet
_small: dict[str, _Taken] = {}


@contextmanager
def small_files_held(files: Sequence[str]) -> Iterator[None]:
    """Inside, those of the files that are small are opened and read once: what is looked at first is there for whoever reads them whole."""
    _wanted.update(files)
    try:
        yield
    finally:
        _wanted.difference_update(files)
        for file in files:
            taken = _small.pop(file, None)
            if taken is not None and taken.raw is not None:
                taken.raw.close()


def beginning(file: str, size: int) -> bytes | None:
    """The first bytes of a file as they lie on disk, all of it or `size` at least; None where it can be opened as often as one likes."""
    if file in _wanted:
        _hold(file)
    if file in _small:
        return _small[file].first
    return None if is_lasting(file) else _look_into(file, size)


def handed_over(file: str) -> tuple[Raw | None, bytes]:
    """The open file and what was read of it, for whoever reads it from its beginning now; None and nothing where it is to be opened."""
    taken = _pipes.pop(file, None) or _small.get(file)
    if taken is None or taken.raw is None:
        return None, b""
    raw, taken.raw = taken.raw, None
    return raw, taken.first


def opened(file: str) -> Raw:
    """A file, opened. Raises OSError, ValueError or AttributeError where it cannot be."""
    if is_url(path_of(file)):  # a name such as node://HOST/PATH stands for a path on that machine
        from .remote import opened as opened_elsewhere

        return opened_elsewhere(file)
    return cast(Raw, sys.stdin.buffer) if file == STDIN else open(path_of(file), "rb", buffering=0)


def _hold(file: str) -> None:
    """Opens a file and reads it, where it is a small one. Who reads it later says what is wrong with it."""
    _wanted.discard(file)
    size = size_on_disk(file)
    if size is None or size > SMALL:
        return
    try:
        taken = _Taken(opened(file))
        if len(taken.up_to(size + 1)) <= size:
            _small[file] = taken
        elif taken.raw is not None:
            taken.raw.close()
    except (OSError, ValueError):
        return


def _look_into(pipe: str, size: int) -> bytes:
    if not is_pipe(pipe):
        return b""
    try:
        taken = _pipes.get(pipe) or _Taken(opened(pipe))
        taken.up_to(size)
    except (OSError, ValueError, AttributeError):
        return b""
    _pipes[pipe] = taken
    return taken.first
