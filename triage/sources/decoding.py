"""Decoders for gz, zst, xz and bz2 behind one interface, chosen by magic bytes; bounded output, whatever the input claims to hold."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Protocol, cast

import msgspec

AT_ONCE = 1 << 18  # bytes that one call may give: a compression bomb then costs time, not memory
GZIP_MAGIC = b"\x1f\x8b\x08"
GZIP_STEP = 1 << 15
GZIP_TRAILER = 8  # bytes behind a member's content: checksum and size
LONGEST_GZIP_HEAD = 1 << 18  # more than its extra fields and names ever take, and more than a file gives at once
ZSTD_SLICE = 256  # compressed bytes fed at once: every four of them may stand for 128 KiB
LZMA_MEMORY = 100 << 20  # the dictionary of `xz -9` needs 65 MiB


class Decoder(Protocol):
    """The interface of `bz2.BZ2Decompressor`, which lzma and isal share."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class ZlibDecoder:
    """zlib's decoder of raw deflate with the interface of the others; the slower stand-in for isal."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=-15)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int = AT_ONCE, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class GzipDecoder:
    """One gzip member (RFC 1952) by a decoder of raw deflate: all that it holds is given before what is broken in it is said.

    `errors` are those of `inflate`. Raises them, and ValueError for a head that is none and for a wrong checksum or size.
    """

    def __init__(self, inflate: Decoder, crc32: Callable[[bytes, int], int], errors: type[Exception]) -> None:
        self._inflate = inflate
        self._crc32 = crc32
        self._errors = errors
        self._head: bytes | None = b""
        self._rest = b""  # behind the deflated bytes: checksum, size, and whatever follows the member
        self._crc = self._size = 0
        self._broken: Exception | None = None

    @property
    def eof(self) -> bool:
        return self._inflate.eof and len(self._rest) >= GZIP_TRAILER and self._broken is None

    @property
    def needs_input(self) -> bool:
        if self._broken is not None:
            return False
        return self._head is not None or (len(self._rest) < GZIP_TRAILER if self._inflate.eof else self._inflate.needs_input)

    @property
    def unused_data(self) -> bytes:
        return self._rest[GZIP_TRAILER:]

    def decompress(self, data: bytes, max_length: int = AT_ONCE, /) -> bytes:
        if self._broken is not None:
            raise self._broken
        if self._head is not None:
            self._head += data
            begin = _gzip_head(self._head)
            if begin is None:
                return b""
            data, self._head = self._head[begin:], None
        if self._inflate.eof:
            self._rest += data
            out = b""
        else:
            out = self._inflated(data, max_length)
        self._check()
        return out

    def _inflated(self, data: bytes, max_length: int) -> bytes:
        """In small steps: what a step meets a fault in, it loses."""
        parts: list[bytes] = []
        while len(parts) < max_length // GZIP_STEP and not self._inflate.eof:
            try:
                parts.append(self._inflate.decompress(data, GZIP_STEP))
            except self._errors as error:
                self._broken = error
                break
            data = b""
            if self._inflate.needs_input:
                break
        out = b"".join(parts)
        self._crc, self._size = self._crc32(out, self._crc), self._size + len(out)
        if self._inflate.eof:
            self._rest = self._inflate.unused_data
        return out

    def _check(self) -> None:
        if self._inflate.eof and len(self._rest) >= GZIP_TRAILER:
            told = (self._crc & 0xFFFFFFFF).to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little")
            if told != self._rest[:GZIP_TRAILER]:
                self._broken = ValueError("a wrong checksum")


def _gzip_head(data: bytes) -> int | None:
    """Where the head of a gzip member ends; None where more bytes are needed. Raises ValueError where it is none."""
    if len(data) > LONGEST_GZIP_HEAD or not GZIP_MAGIC.startswith(data[: len(GZIP_MAGIC)]):
        raise ValueError("no gzip head")
    if len(data) < 10:
        return None
    flags, at = data[3], 10
    if flags & 4:  # extra fields
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (8, 16):  # name, comment
        if flags & flag:
            end = data.find(b"\0", at)
            if end < 0:
                return None
            at = end + 1
    at += 2 if flags & 2 else 0  # checksum of the head
    return at if at <= len(data) else None


class ZstandardDecoder:
    """zstandard's decoder with the interface of the others. It knows no bound on its output, so it is fed in small slices."""

    def __init__(self) -> None:
        import zstandard

        self._zstd = zstandard.ZstdDecompressor().decompressobj()
        self._waiting = memoryview(b"")

    @property
    def eof(self) -> bool:
        return bool(self._zstd.eof)

    @property
    def needs_input(self) -> bool:
        return not self._waiting

    @property
    def unused_data(self) -> bytes:
        return self._zstd.unused_data + bytes(self._waiting)

    def decompress(self, data: bytes, _max_length: int = AT_ONCE, /) -> bytes:
        self._waiting = memoryview(bytes(self._waiting) + data)
        out = b""
        while self._waiting and not out and not self.eof:
            out = self._zstd.decompress(self._waiting[:ZSTD_SLICE])
            self._waiting = self._waiting[ZSTD_SLICE:]
        return out


Loaded = tuple[Callable[[], Decoder], type[Exception]]


class Codec(msgspec.Struct, frozen=True):
    """A compressed format: its name, its magic bytes, and what loads the maker of its decoders and the error they raise."""

    name: str
    magic: bytes
    load: Callable[[], Loaded]


def _gzip() -> Loaded:
    try:
        from isal import igzip_lib, isal_zlib
    except ImportError:
        return lambda: GzipDecoder(ZlibDecoder(), zlib.crc32, zlib.error), zlib.error
    error = cast(type[Exception], igzip_lib.IsalError)
    return lambda: GzipDecoder(igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE), isal_zlib.crc32, error), error


def _zstandard() -> Loaded:
    import zstandard

    return ZstandardDecoder, zstandard.ZstdError


def _xz() -> Loaded:
    import lzma

    return lambda: lzma.LZMADecompressor(memlimit=LZMA_MEMORY), lzma.LZMAError


def _bzip2() -> Loaded:
    import bz2

    return bz2.BZ2Decompressor, OSError


CODECS = (
    Codec("gzip", GZIP_MAGIC, _gzip),
    Codec("zstd", b"\x28\xb5\x2f\xfd", _zstandard),
    Codec("xz", b"\xfd7zXZ\x00", _xz),
    Codec("bzip2", b"BZh", _bzip2),
)
_MAGICS = tuple(codec.magic for codec in CODECS)


def codec_of(first: bytes) -> Codec | None:
    """The compressed format that the first bytes of a file announce, or None where they are plain content."""
    return next((codec for codec in CODECS if first.startswith(codec.magic)), None) if first.startswith(_MAGICS) else None


def decoded(codec: Codec, chunks: Iterator[bytes], complain: Callable[[str, bool], None]) -> Iterator[bytes]:
    """What the compressed `chunks` hold, member after member; a cut or broken end is told to `complain(what, lost)`."""
    decoder: Decoder | None = None  # none between two members
    size = finished = 0  # bytes given so far, and those of them that came from whole members
    try:
        start, errors = codec.load()
    except ImportError:
        complain(f"cannot be read: no decoder for {codec.name} is installed", True)
        return
    try:
        for chunk in chunks:
            while decoder or (chunk := chunk.lstrip(b"\0")):  # zeros may pad the space between members
                decoder = decoder or start()
                out = decoder.decompress(chunk, AT_ONCE)
                chunk = b""
                if out:
                    size += len(out)
                    yield out
                if decoder.eof:
                    chunk, decoder, finished = decoder.unused_data, None, size
                elif decoder.needs_input:
                    break
    except (errors, EOFError, OSError, ValueError, MemoryError):
        if finished and size == finished:
            complain(f"ends in bytes that are no {codec.name}, after {size} bytes", False)
        else:
            complain(f"corrupt {codec.name} after {size} bytes", True)
        return
    if decoder:
        complain(f"truncated {codec.name} after {size} bytes", True)
