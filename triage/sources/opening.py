"""Opens any file for reading, decompressed and as UTF-8; what goes wrong becomes a Problem, and content never raises."""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from triage.expressions import compiled_later
from triage.model import Problem

from .beginnings import Raw, beginning, handed_over, opened
from .decoding import codec_of, decoded
from .paths import STDIN, is_regular, path_of, reason, status_of
from .urls import is_url

CHUNK = 1 << 17  # bytes read at once where they are decoded
FIRST = 8  # bytes that tell a format: no magic number and no byte order mark is longer
IDENTITY = 4096  # decompressed bytes that make a file's identity

_TEXT = bytes([*b"\b\t\n\f\r\x1b", *range(32, 127), *range(128, 256)])
_HOLE = compiled_later(rb"\x00{256,}")

UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Stream:
    """The decompressed bytes of one file (`-` is standard input), in order.

    Offsets are those of the decompressed content; a UTF-16 file counts as the UTF-8 text it is turned into.
    What cannot be opened, read or decoded is appended to `problems` and looks like the end of the file.
    """

    __slots__ = ("_chunks", "_left", "_problems", "_raw", "consumed", "file", "read")

    def __init__(self, file: str, problems: list[Problem], raw: Raw | None = None) -> None:
        self.file = file
        self.read = 0  # bytes given so far
        self.consumed = 0  # bytes of the file read so far, compressed as they may be
        self._problems = problems
        known, taken = handed_over(file) if raw is None else (raw, b"")
        self._raw = known or self._open()
        chunks: Iterator[bytes] | None = None
        first = self._first(taken)
        if codec := codec_of(first):
            chunks = decoded(codec, self._raw_chunks(first), self._complain)
            first = _at_least(FIRST, chunks)
        if encoding := UTF16.get(first[:2]):
            chunks = _as_utf8(encoding, first[2:], chunks or self._raw_chunks())
            first = b""
        self._left = memoryview(first)
        self._chunks = chunks

    def readinto(self, view: memoryview) -> int:
        """Fill `view` from its start; how many bytes were given, 0 at the end. May be fewer than fit and are left."""
        if not self._left and self._chunks is not None:
            self._left = memoryview(next(self._chunks, b""))
        if self._left:
            size = min(len(view), len(self._left))
            view[:size] = self._left[:size]
            self._left = self._left[size:]
        else:
            size = self._readinto(view) if self._chunks is None else 0
        self.read += size
        return size

    def fill(self, view: memoryview) -> int:
        """Fill all of `view`, or as much as is left; how many bytes were given."""
        size = 0
        while size < len(view) and (got := self.readinto(view[size:])):
            size += got
        return size

    @property
    def descriptor(self) -> int | None:
        """Of an open file on disk whose bytes are its content, so that any part of it can be read by its offset; else None."""
        return self.on_disk if self._chunks is None else None

    @property
    def on_disk(self) -> int | None:
        """The descriptor of an open file on disk, compressed or not; else None."""
        known = self._raw if isinstance(self._raw, io.FileIO) else None
        return known.fileno() if known is not None and stat.S_ISREG(os.fstat(known.fileno()).st_mode) else None

    def seek(self, offset: int) -> None:
        """Go on at `offset` of a file that has a `descriptor`: what comes before it counts as given."""
        if isinstance(self._raw, io.FileIO):
            self._raw.seek(offset)
            self._left = memoryview(b"")
            self.read = self.consumed = offset

    def close(self) -> None:
        if self._raw is not None and self.file != STDIN:
            self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _open(self) -> Raw | None:
        try:
            return opened(self.file)
        except (OSError, ValueError, AttributeError) as error:
            self._complain(f"cannot be opened: {reason(error)}")
            return None

    def _first(self, taken: bytes) -> bytes:
        """What was read of the file before, and what is missing of the bytes that tell a format."""
        self.consumed = len(taken)
        if len(taken) >= FIRST:
            return taken
        view = memoryview(bytearray(FIRST - len(taken)))
        size = 0
        while size < len(view) and (got := self._readinto(view[size:])):
            size += got
        return taken + bytes(view[:size])

    def _readinto(self, view: memoryview) -> int:
        try:
            size = (self._raw.readinto(view) or 0) if self._raw is not None else 0
            self.consumed += size
            return size
        except (OSError, ValueError) as error:
            self._complain(f"cannot be read any further than {self.read} bytes: {reason(error)}")
            return 0

    def _raw_chunks(self, first: bytes = b"") -> Iterator[bytes]:
        if first:
            yield first
        view = memoryview(bytearray(CHUNK))
        while size := self._readinto(view):
            yield bytes(view[:size])

    def _complain(self, what: str, lost: bool = True) -> None:
        self._problems.append(Problem(self.file, what, lost))


def head(file: str, size: int = 65536) -> bytes:
    """The first decompressed bytes of a file; empty where it cannot be read. What it takes from a pipe is still read later."""
    first = beginning(file, size)
    if first is not None and is_content(first):
        return first[:size]
    view = memoryview(bytearray(size))
    with Stream(file, [], None if first is None else io.BytesIO(first)) as stream:
        return bytes(view[: stream.fill(view)])


def fingerprint(first: bytes) -> str:
    """The identity that content with these first decompressed bytes has: 16 hex digits of their SHA-256."""
    import hashlib

    return hashlib.sha256(first[:IDENTITY]).hexdigest()[:16]


def identity(file: str) -> str:
    """What tells a file from others under whatever name and compression: the fingerprint of its first bytes."""
    return fingerprint(head(file, IDENTITY))


def size_of(file: str) -> int:
    """The decompressed size of a file in bytes, as far as it can be decoded."""
    view = memoryview(bytearray(CHUNK))
    with Stream(file, []) as stream:
        while stream.readinto(view):
            pass
        return stream.read


def written_at(file: str) -> float:
    """When a file, or an object elsewhere, was last written, in seconds since the epoch. Raises OSError where that cannot be known."""
    if is_url(path_of(file)):
        from .remote import written

        return written(file)
    return (status_of(file) or os.stat(path_of(file))).st_mtime  # what is wrong with a path that has no status is said by asking


def is_plain(file: str) -> bool:
    """Whether the bytes of a file are its content, so that any part of it can be read again by its offset."""
    if not is_regular(file):
        return False
    with Stream(file, []) as stream:
        return stream.descriptor is not None


def is_content(first: bytes) -> bool:
    """Whether a file that begins with these bytes is read as it is, neither decompressed nor turned into UTF-8."""
    return first[:2] not in UTF16 and codec_of(first) is None


def looks_binary(first: bytes) -> bool:
    """Whether these first decompressed bytes are no text, in whatever encoding: more than one in fifty is a control character.

    Long runs of zeros are the holes that truncating a log in use leaves, so they speak neither way.
    """
    sample = (_HOLE.sub(b"", first) if b"\0" in first else first)[:8192]
    return 50 * len(sample.translate(None, _TEXT)) > len(sample)


def _at_least(size: int, chunks: Iterator[bytes]) -> bytes:
    first = b""
    while len(first) < size and (chunk := next(chunks, b"")):
        first += chunk
    return first


def _as_utf8(encoding: str, first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    text = decoder.decode(first)
    for chunk in chunks:
        text += decoder.decode(chunk)
        if text:
            yield text.encode()
        text = ""
    if text := text + decoder.decode(b"", final=True):
        yield text.encode()
