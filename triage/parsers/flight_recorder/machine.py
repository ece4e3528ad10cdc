"""A pickle machine that can build containers, text and numbers and nothing else; every other opcode is refused by name.

Reads the stream that torch's recorder writes (protocol 2: dict, list, tuple, str, int, float, bool, None) and the same data from
Python's own pickler (protocols 2 to 5). Opcodes: the table of CPython's Lib/pickletools.py. A stream that ends early is
salvaged: what stood before the cut comes back, marked as cut.

>>> load(b"\\x80\\x02}X\\x07\\x00\\x00\\x00versionX\\x04\\x00\\x00\\x002.10s.").value
{'version': '2.10'}
>>> load(b"\\x80\\x02cposix\\nsystem\\n.")
Traceback (most recent call last):
triage.parsers.flight_recorder.machine.DumpError: opcode GLOBAL at byte 2 has no place in a dump: it names a class or function
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import msgspec

LONGEST_TEXT = 1 << 20
MOST_OPCODES = 2_000_000
DEEPEST = 64
LONGEST_INTEGER = 9  # bytes: 64 bits and a sign

FORBIDDEN = {
    0x63: ("GLOBAL", "it names a class or function"),
    0x93: ("STACK_GLOBAL", "it names a class or function"),
    0x69: ("INST", "it makes an object of a class"),
    0x6F: ("OBJ", "it makes an object of a class"),
    0x81: ("NEWOBJ", "it makes an object of a class"),
    0x92: ("NEWOBJ_EX", "it makes an object of a class"),
    0x52: ("REDUCE", "it calls a function"),
    0x62: ("BUILD", "it sets the state of an object"),
    0x50: ("PERSID", "it refers to something outside of the file"),
    0x51: ("BINPERSID", "it refers to something outside of the file"),
    0x82: ("EXT1", "it names a class or function"),
    0x83: ("EXT2", "it names a class or function"),
    0x84: ("EXT4", "it names a class or function"),
    0x97: ("NEXT_BUFFER", "it refers to something outside of the file"),
}


class DumpError(Exception):
    """A file that is no dump, or one that no honest recorder writes; the message says what and where."""


class CutError(Exception):
    """The stream ends before its STOP."""


class Loaded(msgspec.Struct, frozen=True):
    """What a stream holds, whether it was cut short, and whether this process has limits that bound what reading it further can cost."""

    value: Any
    cut: bool
    limited: bool = False


def load(data: bytes) -> Loaded:
    """Run the stream; raises DumpError for an opcode, size, depth or count that a dump does not have."""
    machine = _Machine(data)
    try:
        return Loaded(machine.run(), cut=False)
    except CutError:
        return Loaded(machine.folded(), cut=True)


class _Machine:
    """Stack, marks and memo of one run."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, end, steps = self.data, len(self.data), STEPS
        for _ in range(MOST_OPCODES):
            if self.at >= end:
                raise CutError
            opcode = data[self.at]
            self.at += 1
            if opcode == STOP:
                return self._result()
            if opcode not in steps:
                raise self._refused(opcode)
            steps[opcode](self)
        raise DumpError(f"more than {MOST_OPCODES:,} opcodes")

    def _result(self) -> Any:
        if len(self.stack) != 1 or self.marks:
            raise DumpError(f"STOP at byte {self.at - 1} leaves {len(self.stack)} values")
        return self.stack[0]

    def _refused(self, opcode: int) -> DumpError:
        name, why = FORBIDDEN.get(opcode, (f"0x{opcode:02x}", "no recorder writes it"))
        return DumpError(f"opcode {name} at byte {self.at - 1} has no place in a dump: {why}")

    def take(self, count: int) -> bytes:
        """The next `count` bytes of the stream."""
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            self.at = start
            raise CutError
        return self.data[start : self.at]

    def skip(self, count: int) -> None:
        """Pass over a frame's length: frames only group reads and say nothing about the data."""
        self.take(count)

    def integer(self, count: int) -> int:
        return int.from_bytes(self.take(count), "little")

    def text(self, length: int) -> None:
        if length > LONGEST_TEXT:
            raise DumpError(f"text at byte {self.at} claims {length:,} bytes")
        try:
            self.stack.append(self.take(length).decode())
        except UnicodeDecodeError:
            raise DumpError(f"text at byte {self.at} is no UTF-8") from None

    def number(self, length: int) -> None:
        if length > LONGEST_INTEGER:
            raise DumpError(f"integer at byte {self.at} claims {length:,} bytes")
        self.stack.append(int.from_bytes(self.take(length), "little", signed=True))

    def pop(self, count: int) -> list[Any]:
        """The last `count` values, which must stand above the last mark."""
        start = len(self.stack) - count
        if start < (self.marks[-1] if self.marks else 0):
            raise DumpError(f"stack underflow at byte {self.at - 1}")
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def mark(self) -> None:
        if len(self.marks) >= DEEPEST:
            raise DumpError(f"nested deeper than {DEEPEST} at byte {self.at - 1}")
        self.marks.append(len(self.stack))

    def above_mark(self) -> list[Any]:
        if not self.marks:
            raise DumpError(f"no mark at byte {self.at - 1}")
        start = self.marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def top(self, kind: type) -> Any:
        """The container that values are added to."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0) or type(self.stack[-1]) is not kind:
            raise DumpError(f"no {kind.__name__} to add to at byte {self.at - 1}")
        return self.stack[-1]

    def extend(self, values: list[Any]) -> None:
        self.top(list).extend(values)

    def update(self, pairs: list[Any]) -> None:
        target = self.top(dict)
        if len(pairs) % 2:
            raise DumpError(f"a key without a value at byte {self.at - 1}")
        keys = pairs[::2]
        if any(type(key) is not str for key in keys):
            raise DumpError(f"a key that is no text at byte {self.at - 1}")
        target.update(zip(keys, pairs[1::2], strict=True))

    def memoize(self, index: int) -> None:
        if not self.stack:
            raise DumpError(f"nothing to remember at byte {self.at - 1}")
        self.memo[index] = self.stack[-1]

    def recall(self, index: int) -> None:
        try:
            self.stack.append(self.memo[index])
        except KeyError:
            raise DumpError(f"memo {index} at byte {self.at - 1} was never set") from None

    def byte(self) -> None:
        """BININT1, the commonest number, without the way through `take`."""
        if self.at >= len(self.data):
            raise CutError
        self.stack.append(self.data[self.at])
        self.at += 1

    def recall_byte(self) -> None:
        """BINGET, half of all opcodes of a dump, without the way through `take`."""
        if self.at >= len(self.data):
            raise CutError
        self.recall(self.data[self.at])
        self.at += 1

    def protocol(self) -> None:
        version = self.integer(1)
        if not 2 <= version <= 5:
            raise DumpError(f"pickle protocol {version}; dumps have 2 to 5")

    def folded(self) -> Any:
        """What a cut stream had built so far: each open container gets the values that were complete."""
        while self.marks:
            values = self.above_mark()
            container = self.stack[-1] if self.stack else None
            if isinstance(container, list):
                container.extend(values)
            elif isinstance(container, dict):
                container.update((k, v) for k, v in zip(values[::2], values[1::2], strict=False) if type(k) is str)
        return self.stack[0] if self.stack else None


def _constant(value: Any) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(value)


def _tuple(count: int) -> Callable[[_Machine], None]:
    return lambda m: m.stack.append(tuple(m.pop(count)))


STOP = 0x2E
STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    0x95: lambda m: m.skip(8),
    0x28: _Machine.mark,
    0x7D: lambda m: m.stack.append({}),
    0x5D: lambda m: m.stack.append([]),
    0x29: _constant(()),
    0x74: lambda m: m.stack.append(tuple(m.above_mark())),
    0x85: _tuple(1),
    0x86: _tuple(2),
    0x87: _tuple(3),
    0x61: lambda m: m.extend(m.pop(1)),
    0x65: lambda m: m.extend(m.above_mark()),
    0x73: lambda m: m.update(m.pop(2)),
    0x75: lambda m: m.update(m.above_mark()),
    0x4E: _constant(None),
    0x88: _constant(True),
    0x89: _constant(False),
    0x4A: lambda m: m.stack.append(int.from_bytes(m.take(4), "little", signed=True)),
    0x4B: _Machine.byte,
    0x4D: lambda m: m.stack.append(m.integer(2)),
    0x8A: lambda m: m.number(m.integer(1)),
    0x8B: lambda m: m.number(m.integer(4)),
    0x47: lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0]),
    0x58: lambda m: m.text(m.integer(4)),
    0x8C: lambda m: m.text(m.integer(1)),
    0x8D: lambda m: m.text(m.integer(8)),
    0x71: lambda m: m.memoize(m.integer(1)),
    0x72: lambda m: m.memoize(m.integer(4)),
    0x94: lambda m: m.memoize(len(m.memo)),
    0x68: _Machine.recall_byte,
    0x6A: lambda m: m.recall(m.integer(4)),
}

