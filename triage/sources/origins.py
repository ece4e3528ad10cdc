"""Maps positions in what the scanner sees back to the raw file: terminal sequences taken out, records rewritten into lines."""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

import msgspec

from triage.expressions import compiled_later

_MARK = b"\xef\xbb\xbf"  # a byte order mark
_ESCAPE = (
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    rb"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC and kin: titles, links
    rb"|[()*+][ -~]"  # character sets
    rb"|[@-~]?)"
)
_ESCAPES = compiled_later(_ESCAPE)  # by itself, since an expression that can begin in several ways is twelve times slower
_NOISE = compiled_later(rb"\A" + _MARK + rb"|\x00+|" + _ESCAPE)  # never a newline, so that lines keep their numbers
STEP = 1024


def is_noisy(raw: bytes) -> bool:
    """Whether there is anything to take out."""
    return b"\x1b" in raw or b"\0" in raw or raw.startswith(_MARK)


def stripped(raw: bytes) -> bytes:
    """The bytes without terminal sequences, zeros and a byte order mark at the start."""
    bare = raw.removeprefix(_MARK)
    return (_ESCAPES.sub(b"", bare) if b"\x1b" in bare else bare).replace(b"\0", b"")


class Origin(msgspec.Struct, frozen=True):
    """A place in the raw file: byte offset and line number (1-based; 0 where lines are not numbered)."""

    offset: int
    number: int


Mark = tuple[int, int]  # what makes an Origin; quicker to make by the million


class Origins(Protocol):
    """Where the lines of a piece came from. `are_raw`: the data are the very bytes of the file."""

    @property
    def are_raw(self) -> bool: ...

    def origin(self, data: bytes, position: int) -> Origin:
        """The place of the line, or of the part of a line, that begins at `position` of the piece's data."""
        ...


class Unchanged:
    """The data are the raw bytes from `base` on, which is in line `first_line`; 0 where lines are not numbered."""

    are_raw = True

    def __init__(self, base: int, first_line: int) -> None:
        self._base = base
        self._numbered = first_line > 0
        self._counted = (0, first_line)  # places are mostly asked for in order, so newlines are counted from the last one on

    def origin(self, data: bytes, position: int) -> Origin:
        start, number = self._counted
        if not self._numbered:
            return Origin(self._base + self._raw_position(data, position), 0)
        if position >= start:
            number += data.count(b"\n", start, position)
        else:
            number -= data.count(b"\n", position, start)
        self._counted = (position, number)
        return Origin(self._base + self._raw_position(data, position), number)

    def _raw_position(self, _data: bytes, position: int) -> int:
        return position


class Stripped(Unchanged):
    """The data are the raw bytes without their noise: line by line the same, so that lines are counted to get from one to the other."""

    are_raw = False

    def __init__(self, base: int, first_line: int, raw: bytes) -> None:
        super().__init__(base, first_line)
        self._raw = raw
        self._noise = _NOISE if b"\0" in raw or raw.startswith(_MARK) else _ESCAPES
        self._line = (0, 0)  # where the line asked for last begins, in the data and in the raw bytes

    def _raw_position(self, data: bytes, position: int) -> int:
        """Where the byte at `position` of the data stands, from `base` on."""
        begin = data.rfind(b"\n", 0, position) + 1
        known, raw_known = self._line if self._line[0] <= begin else (0, 0)
        raw_begin = _lines_on(self._raw, raw_known, data.count(b"\n", known, begin))
        self._line = (begin, raw_begin)
        raw_position = raw_begin + position - begin
        raw_end = self._raw.find(b"\n", raw_begin)  # noise holds no line feed, so what comes after this line need not be looked through
        for found in self._noise.finditer(self._raw, raw_begin, raw_end if raw_end >= 0 else len(self._raw)):
            if found.start() > raw_position:
                break
            raw_position += found.end() - found.start()
        return raw_position


def _lines_on(raw: bytes, position: int, count: int) -> int:
    """Where the line begins that comes `count` lines after the one at `position`; where a line feed stands is found by counting, which is quick."""
    size = STEP
    while (there := raw.count(b"\n", position, position + size)) < count:
        count, position, size = count - there, position + size, 2 * size
    while size > STEP:
        size //= 2
        if (there := raw.count(b"\n", position, position + size)) < count:
            count, position = count - there, position + size
    for _ in range(count):
        position = raw.index(b"\n", position) + 1
    return position


class Rewritten:
    """The data are lines made from records; where each record stands was noted."""

    are_raw = False

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._marks: list[Mark] = []

    def add(self, start: int, mark: Mark) -> None:
        """A line begins at `start` of the data that was made from the record there."""
        self._starts.append(start)
        self._marks.append(mark)

    def origin(self, _data: bytes, position: int) -> Origin:
        return Origin(*self._marks[bisect_right(self._starts, position) - 1])
