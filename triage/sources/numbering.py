"""Finds the line numbers of a few places in a file by reading it once more: counting all lines of all logs costs more than finding faults."""

from __future__ import annotations

from collections.abc import Iterable

from .cutting import SMALL
from .opening import Stream
from .paths import size_on_disk

CHUNK = 1 << 18


def line_numbers(file: str, offsets: Iterable[int], *, whole: bool = False) -> tuple[dict[int, int], int]:
    """The line (1-based) in which each byte offset (decompressed) lies, and how many newlines were read to find that.

    Reading stops behind the last offset; with `whole` it goes on to the end, and the count is that of all lines. A file that
    has become shorter or unreadable since gives no numbers for what lies beyond.
    """
    wanted = sorted(set(offsets), reverse=True)
    found: dict[int, int] = {}
    base = lines = 0
    size = size_on_disk(file)
    buffer = bytearray(CHUNK if size is None or size > SMALL else SMALL)
    view = memoryview(buffer)
    with Stream(file, []) as stream:
        while (wanted or whole) and (filled := stream.fill(view)):
            counted = 0
            while wanted and wanted[-1] < base + filled:
                offset = wanted.pop()
                lines += buffer.count(b"\n", counted, offset - base)
                counted = offset - base
                found[offset] = lines + 1
            lines += buffer.count(b"\n", counted, filled)
            base += filled
    return found, lines
