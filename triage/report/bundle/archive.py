"""A bundle as bytes: a plain tar of small files, compressed with zstandard; the same files give the same bytes, and nothing else is read back.

Of tar only what `packed` writes is known: regular files of the format of POSIX.1-1988 (ustar), in order, then two blocks of zeros. Links,
devices, folders, long names and extensions are refused: no bundle has any, and each is a way to harm whoever opens one.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext

from triage.sources.paths import STDIN

LEVEL = 19
BLOCK = 512
LONGEST_NAME = 99
MOST_FILES = 20_000
LARGEST = 128 << 20  # bytes of a bundle unpacked
LARGEST_PACKED = 64 << 20
SUFFIX = ".tar.zst"
_NAME = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/){0,8}[A-Za-z0-9_][A-Za-z0-9_.-]*")
_MAGIC = b"ustar\x0000"


class BundleError(ValueError):
    """A file that is no bundle, or one that is damaged or does harm: the message says which and where."""


def packed(files: Mapping[str, bytes]) -> bytes:
    """The files as a bundle, sorted by name, all of them of 1970 and nobody's. Raises BundleError where they are too much for one."""
    import tarfile

    import zstandard

    out = io.BytesIO()
    for name in sorted(files):
        if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
            raise BundleError(f"{name!r} is no name for a file in a bundle")
        info = tarfile.TarInfo(name)
        info.size = len(files[name])
        out.write(info.tobuf(tarfile.USTAR_FORMAT))
        out.write(files[name] + bytes(-len(files[name]) % BLOCK))
    out.write(bytes(2 * BLOCK))
    if out.tell() > LARGEST or len(files) > MOST_FILES:
        raise BundleError(f"more than {LARGEST >> 20} MiB or {MOST_FILES:,} files: bundle fewer incidents at once")
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True).compress(out.getvalue())


def read_bundle(path: str) -> dict[str, bytes]:
    """The files of a bundle by name; `-` is stdin. Raises BundleError where it is none or is damaged, OSError where it cannot be read."""
    with nullcontext(sys.stdin.buffer) if path == STDIN else open(path, "rb") as file:
        data = file.read(LARGEST_PACKED + 1)
    if len(data) > LARGEST_PACKED:
        raise BundleError(f"larger than {LARGEST_PACKED >> 20} MiB: no bundle is")
    return dict(_members(_unpacked(data)))


def _unpacked(data: bytes) -> bytes:
    """The tar in one frame of zstandard that says how large it is, so that no more memory is taken than is allowed."""
    import zstandard

    if not data.startswith(zstandard.FRAME_HEADER):
        raise BundleError(f"no bundle: a {SUFFIX} file of `triage bundle` begins otherwise")
    try:
        size = zstandard.frame_content_size(data)
        if size < 0:
            raise BundleError("does not say how large it is: not packed by triage")
        if size > LARGEST:
            raise BundleError(f"says that it unpacks to {size:,} bytes: no bundle does")
        return zstandard.ZstdDecompressor(max_window_size=LARGEST).decompress(data, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise BundleError(f"damaged: {error}") from None


def _members(tar: bytes) -> Iterator[tuple[str, bytes]]:
    at, seen = 0, set[str]()
    while any(head := tar[at : at + BLOCK]):
        name, size = _header(head, at)
        if name in seen or len(seen) >= MOST_FILES:
            raise BundleError(f"{name}: comes twice" if name in seen else f"more than {MOST_FILES:,} files")
        seen.add(name)
        at += BLOCK
        if at + size > len(tar):
            raise BundleError(f"{name}: cut short")
        yield name, tar[at : at + size]
        at += size + -size % BLOCK
    if any(tar[at:]) or len(tar) - at < 2 * BLOCK:
        raise BundleError("damaged: something stands behind its end" if any(tar[at:]) else "cut short")


def _header(head: bytes, at: int) -> tuple[str, int]:
    """Name and size of the file whose header stands at `at`. Raises BundleError where it is no header that `packed` writes."""
    import tarfile

    name = head[:100].rstrip(b"\0").decode("ascii", "backslashreplace")
    size = head[124:135]
    if len(head) < BLOCK or head[257:265] != _MAGIC or head[156:157] != b"0" or any(head[157:257]) or any(head[345:]):
        raise BundleError(f"{name!r}: no plain file (byte {at:,}): not packed by triage, nothing of it was written")
    if not _NAME.fullmatch(name) or not re.fullmatch(rb"[0-7]{11}", size):
        raise BundleError(f"{name!r}: no name or size that a bundle has (byte {at:,}): nothing of it was written")
    info = tarfile.TarInfo(name)
    info.size = int(size, 8)
    if info.tobuf(tarfile.USTAR_FORMAT) != head:
        raise BundleError(f"{name}: its header is damaged or was not written by triage (byte {at:,})")
    return name, info.size
