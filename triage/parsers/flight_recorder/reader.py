"""Reads one dump file: opened with care, unpacked, loaded by the machine that fits, digested. Everything else is DumpError."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable

from triage.parsers.flight_recorder import document, machine
from triage.parsers.flight_recorder.digest import digest
from triage.parsers.flight_recorder.machine import DumpError, Loaded
from triage.parsers.flight_recorder.names import GZIP
from triage.parsers.flight_recorder.records import Recording

LARGEST = 32 << 20  # bytes, unpacked; a dump of 20,000 entries with stacks has 4 MB

Load = Callable[[bytes], Loaded]


def read_dump(path: str, *, rank: int, name: str, load: Load = machine.load) -> Recording:
    """The recording in `path`, which `name` stands for in messages; raises DumpError with what is wrong, OSError where it cannot be read."""
    data = unpacked(regular_file(path))
    if not data:
        raise DumpError("0 bytes: the rank began to dump and wrote nothing")
    if data[:1] == b"\x80":
        loaded = load(data)
        return digest(document.from_containers(loaded.value, len(data)), rank=rank, file=name, cut=loaded.cut, limited=loaded.limited)
    text = data.removeprefix(b"\xef\xbb\xbf")
    if text.lstrip()[:1] in (b"{", b"["):
        return digest(document.from_json(text), rank=rank, file=name, cut=False)
    raise DumpError("neither a pickle (protocol 2 to 5) nor JSON")


def regular_file(path: str) -> bytes:
    """The bytes of a regular file; anything else is refused without waiting on it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise DumpError("no regular file")
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DumpError(f"larger than {LARGEST >> 20} MiB")
    return data


def unpacked(data: bytes) -> bytes:
    """The content of a gzip file, as far as it goes; other data as it is."""
    if not data.startswith(GZIP):
        return data
    unpack = zlib.decompressobj(wbits=31)
    try:
        content = unpack.decompress(data, LARGEST + 1)
    except zlib.error as error:
        raise DumpError(f"broken gzip: {error}") from None
    if len(content) > LARGEST:
        raise DumpError(f"unpacks to more than {LARGEST >> 20} MiB")
    return content
