"""The lines that the scanner's hits stand in, as bytes: nothing is decoded to find them."""

from __future__ import annotations

from collections.abc import Iterator

from triage.knowledge.scanner import Hits


def whole_line(data: bytes, hits: Hits) -> tuple[int, bytes]:
    """Where the line around some hits begins, and the line."""
    begin = data.rfind(b"\n", 0, hits[0][0] - 1) + 1
    end = data.find(b"\n", hits[-1][0] - 1)
    return begin, data[begin : end if end >= 0 else len(data)]


def by_line(data: bytes, hits: Hits) -> Iterator[Hits]:
    """The hits in groups that end in one line each."""
    first = 0
    while first < len(hits):
        stop = data.find(b"\n", hits[first][0] - 1)
        last = first + 1
        while last < len(hits) and (stop < 0 or hits[last][0] <= stop):
            last += 1
        yield hits[first:last]
        first = last
