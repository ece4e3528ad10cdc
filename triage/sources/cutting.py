"""Cuts a stream into blocks of whole lines; a line longer than a block is cut into blocks that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from triage.sources.plain import whole_lines

OVERLAP = 4096  # bytes of a long line that are given again with its next block, so that nothing across the cut is missed
ROOM = 1 << 22  # glibc keeps what is freed for the next block, and asks the kernel for none, once a block of this size was freed
SMALL = 1 << 14  # bytes of a file for which no bigger buffer is made: a folder may hold thousands of them
GROWTH = 8  # times that a buffer grows which is full: to clear a megabyte takes longer than to read a small file


class Bytes(Protocol):
    """Anything that can fill a buffer, such as an open stream. `descriptor`: of a file that can be read by offsets as well.

    `consumed`: how many bytes of the file, as it lies on disk, were read so far.
    """

    @property
    def consumed(self) -> int: ...

    @property
    def descriptor(self) -> int | None: ...

    def fill(self, view: memoryview) -> int: ...

    def seek(self, offset: int) -> None: ...


class Block(msgspec.Struct, frozen=True):
    """Raw bytes from one file, from offset `base` on. The first `overlap` bytes were in the block before, too.

    `inside`: the block begins inside a line. `open`: it ends inside one. `last`: the file ends with it.
    """

    raw: bytes
    base: int
    overlap: int = 0
    inside: bool = False
    open: bool = False
    last: bool = False

    @property
    def newlines(self) -> int:
        """How many lines end in the block."""
        return 0 if self.open else self.raw.count(b"\n")


def blocks(stream: Bytes, size: int) -> Iterator[Block]:
    """Blocks of up to `size` bytes (two or more), through one buffer of that size. The last one may be empty.

    Most of a plain file needs no buffer: its whole lines are read at once, until they end or one is too long.
    """
    buffer = bytearray(min(size, SMALL))
    filled = stream.fill(memoryview(buffer))
    while filled == len(buffer) < size:
        buffer.extend(bytes(min(size, GROWTH * filled) - filled))
        filled += stream.fill(memoryview(buffer)[filled:])
    last = filled < len(buffer)
    if len(buffer) > SMALL:
        bytes(ROOM)
    view = memoryview(buffer)
    base = overlap = 0
    inside = False
    while True:
        if not last:
            filled += stream.fill(view[filled:])
            last = filled < len(view)
        cut = filled if last else buffer.rfind(b"\n", overlap, filled) + 1
        is_open = not last and not cut
        yield Block(bytes(view[: filled if is_open else cut]), base, overlap, inside, is_open, last)
        if last:
            return
        overlap = min(OVERLAP, size // 2) if is_open else 0
        kept = overlap if is_open else filled - cut
        view[:kept] = bytes(view[filled - kept : filled])
        base += filled - kept
        filled, inside = kept, is_open
        if not is_open and stream.descriptor is not None:
            stream.seek(base)
            for raw in whole_lines(stream.descriptor, base, size):
                base += len(raw)
                stream.seek(base)
                yield Block(raw, base - len(raw))
            filled = 0
