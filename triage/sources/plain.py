"""Reads parts of a plain file on disk by their offsets: most of a big log comes this way."""

from __future__ import annotations

import os
from collections.abc import Iterator

EDGE = 1 << 13  # bytes before the end of a part in which its last newline is looked for


def whole_lines(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    """Parts of up to `size` bytes (more than `EDGE`) from `offset` on, each of whole lines, one after the other.

    Ends before the end of the file, a line longer than `EDGE`, and what cannot be read: whoever asks goes on from there himself.
    """
    while part := _part(descriptor, offset, size):
        yield part
        offset += len(part)


def _part(descriptor: int, offset: int, size: int) -> bytes:
    try:
        edge = os.pread(descriptor, EDGE, offset + size - EDGE)
        cut = edge.rfind(b"\n") + 1
        whole = size - EDGE + cut
        data = os.pread(descriptor, whole, offset) if cut and len(edge) == EDGE else b""
    except OSError:
        return b""
    return data if len(data) == whole and data.endswith(b"\n") else b""
