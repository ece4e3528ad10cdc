"""Reads parts of a plain file on disk by their offsets, one part ahead: most of a big log comes this way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread

EDGE = 1 << 13  # bytes before the end of a part in which its last newline is looked for
AHEAD = 1


def whole_lines(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    """Parts of up to `size` bytes (more than `EDGE`) from `offset` on, each of whole lines, one after the other.

    The next part is read while the last one is worked on. Ends before the end of the file, a line longer than `EDGE`, and what cannot be
    read: whoever asks goes on from there himself.
    """
    first = _part(descriptor, offset, size)
    if not first:
        return
    parts: SimpleQueue[bytes] = SimpleQueue()
    room = Semaphore(AHEAD)
    wanted = [True]
    reader = Thread(target=_read_on, args=(descriptor, offset + len(first), size, parts, room, wanted), daemon=True)
    try:
        reader.start()
    except RuntimeError:  # no more threads are to be had: parts of it come one by one
        yield first
        return
    try:
        yield first
        while part := parts.get():
            room.release()
            yield part
    finally:
        wanted.clear()
        room.release()
        reader.join()


def _read_on(descriptor: int, offset: int, size: int, parts: SimpleQueue[bytes], room: Semaphore, wanted: list[bool]) -> None:
    part = b"first"
    try:
        while part and wanted:
            room.acquire()
            part = _part(descriptor, offset, size) if wanted else b""
            offset += len(part)
            parts.put(part)
    finally:
        parts.put(b"")  # whatever happens, nobody waits for ever


def _part(descriptor: int, offset: int, size: int) -> bytes:
    try:
        edge = os.pread(descriptor, EDGE, offset + size - EDGE)
        cut = edge.rfind(b"\n") + 1
        whole = size - EDGE + cut
        data = os.pread(descriptor, whole, offset) if cut and len(edge) == EDGE else b""
    except (OSError, MemoryError):
        return b""
    return data if len(data) == whole and data.endswith(b"\n") else b""
