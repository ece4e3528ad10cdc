"""Rewrites logs whose lines are records into the plain lines they stand for, so that they too are scanned in one go.

Samples of what is read, and what it becomes::

    {"log":"TEXT\\n","stream":"stderr","time":"2026-11-01T09:43:00.1Z"}     docker json-file: 2026-11-01T09:43:00.1Z TEXT
    2026-11-01T09:43:00.1Z stderr P TE                                     CRI: pieces of a line are joined,
    2026-11-01T09:43:00.2Z stderr F XT                                       2026-11-01T09:43:00.1Z stderr F TEXT
    {"__REALTIME_TIMESTAMP":"1793526180000000","MESSAGE":"TEXT", ...}      journalctl -o json: see envelopes.JOURNAL_MARK
    {"asctime": "2026-11-01 09:43:00,123", "levelname": "ERROR", ...}      vLLM's JSON formatter:
                                                     (EngineCore pid=7) ERROR 2026-11-01 09:43:00,123 [vllm.v1.engine.core] TEXT

A record with several lines of text becomes several lines. A line that is no record stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from triage.expressions import compiled_later
from triage.model import Problem

from .cutting import Block
from .envelopes import HEAD_LINES, JOURNAL_COMMA, JOURNAL_MARK
from .origins import Mark, Rewritten, is_noisy, stripped

LONGEST_LINE = 1 << 20  # bytes of a line that are put together again
LONGEST_STAMP = 40
LONGEST_WORD = 96
LINES_OF_RECORD = 4096  # lines that one record may become
_CRI = compiled_later(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([FP])(?::\S*)? ")
_SENDER = (
    "_TRANSPORT", "_HOSTNAME", "_PID", "CONTAINER_NAME", "UNIT", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "INVOCATION_ID", "_SYSTEMD_INVOCATION_ID",
)  # fmt: skip
_UNFIT = compiled_later(r"[^\w.:@/-]", re.ASCII)


Lines = list[tuple[Mark, bytes]]


class Joiner:
    """Puts together again the lines that a container runtime has split; holds back the begun ones, one for each of its streams."""

    def __init__(self) -> None:
        self._begun: dict[str, tuple[Mark, bytes, bytearray]] = {}

    def __bool__(self) -> bool:
        return bool(self._begun)

    def add(self, stream: str, mark: Mark, prefix: bytes, text: bytes, complete: bool) -> Lines:
        """The lines that this part completes."""
        if stream not in self._begun and complete:
            return prefixed(mark, prefix, text)
        mark, prefix, begun = self._begun.pop(stream, (mark, prefix, bytearray()))
        begun += text
        if complete or len(begun) > LONGEST_LINE:
            return prefixed(mark, prefix, bytes(begun))
        self._begun[stream] = mark, prefix, begun
        return []

    def rest(self) -> Lines:
        """What was begun and never completed."""
        lines = [line for mark, prefix, begun in self._begun.values() for line in prefixed(mark, prefix, bytes(begun))]
        self._begun.clear()
        return lines


def prefixed(mark: Mark, prefix: bytes, text: bytes) -> Lines:
    """Each line of a text with the prefix in front."""
    if b"\n" not in text:
        return [(mark, prefix + text)]
    first, *others = text.split(b"\n", LINES_OF_RECORD)
    return [(mark, prefix + first), *((mark, prefix + line.replace(b"\n", b" ")) for line in others)]


class Rewriter:
    """Rewrites the blocks of one file whose head has these shapes; records that came without their text are told to `problems`."""

    def __init__(self, shapes: frozenset[str], file: str, problems: list[Problem]) -> None:
        self._shapes = shapes
        self._no_text = Problem(file, "journalctl left out messages for their length (MESSAGE is null): run it with --all")
        self._problems = problems
        self._joiner = Joiner()
        readers = {"docker": self._docker, "journal": self._journal, "cri": self._cri}
        self._read = next((read for shape, read in readers.items() if shape in shapes), self._as_it_is)

    @property
    def rewrites(self) -> bool:
        """Whether the file is written in records, whose lines are numbered while they are read."""
        return bool(self._shapes)

    def rewrite(self, block: Block, first_line: int) -> tuple[bytes, Rewritten] | None:
        """The lines that the block stands for and where they came from, or None where it stands for itself."""
        if block.inside or block.open or not self._applies(block.raw):
            return None
        origins = Rewritten()
        lines: list[bytes] = []
        start = 0
        for mark, line in self._lines(block, first_line):
            if is_noisy(line):
                line = stripped(line)
            origins.add(start, mark)
            lines.append(line)
            start += len(line) + 1
        return b"\n".join([*lines, b""]) if lines else b"", origins

    def _applies(self, raw: bytes) -> bool:
        if self._shapes == {"cri"}:
            return bool(self._joiner) or b" stderr P" in raw or b" stdout P" in raw
        return bool(self._shapes)

    def _lines(self, block: Block, first_line: int) -> Iterator[tuple[Mark, bytes]]:
        offset = block.base
        records = block.raw.split(b"\n")
        for number, record in enumerate(records if records[-1] else records[:-1], first_line):
            for mark, line in self._read(record, (offset, number)):
                yield from vllm_lines(mark, line) if b'"levelname"' in line else ((mark, line),)
            offset += len(record) + 1
        for mark, line in self._joiner.rest() if block.last else ():
            yield from vllm_lines(mark, line)

    def _as_it_is(self, line: bytes, mark: Mark) -> Lines:
        return [(mark, line)]

    def _cri(self, line: bytes, mark: Mark) -> Lines:
        if not (found := _CRI.match(line)):
            return [(mark, line)]
        stamp, stream, flag = found.groups()
        return self._joiner.add(stream.decode(), mark, stamp + b" " + stream + b" F ", line[found.end() :], flag == b"F")

    def _docker(self, line: bytes, mark: Mark) -> Lines:
        record = _record(line)
        text, stamp = record.get("log"), record.get("time")
        if not isinstance(text, str) or not isinstance(stamp, str) or len(stamp) > LONGEST_STAMP or not stamp.isprintable():
            return [(mark, line)]
        return self._joiner.add(str(record.get("stream")), mark, f"{stamp} ".encode(), text.removesuffix("\n").encode(), text.endswith("\n"))

    def _journal(self, line: bytes, mark: Mark) -> Lines:
        record = _record(line)
        if "__REALTIME_TIMESTAMP" not in record:
            return [(mark, line)]
        message = record.get("MESSAGE", "")
        if message is None and self._no_text not in self._problems:
            self._problems.append(self._no_text)
        return prefixed(mark, _journal_prefix(record), _journal_text(message))


@lru_cache(maxsize=2)  # a small file is asked about when it is sniffed and when it is read
def shapes_of(head: bytes) -> frozenset[str]:
    """The kinds of record that the head of a file holds."""
    may_be_json = b"{" in head and b'"' in head
    seen = {
        "docker": may_be_json and (head.startswith(b'{"log":') or b'\n{"log":' in head),
        "journal": may_be_json and b'"__REALTIME_TIMESTAMP"' in head,
        "cri": b" std" in head and any(map(_CRI.match, head.split(b"\n", HEAD_LINES)[:HEAD_LINES])),
        "vllm": may_be_json and b'"levelname"' in head and b'"message"' in head,
    }
    return frozenset(shape for shape, is_there in seen.items() if is_there)


def vllm_lines(mark: Mark, line: bytes) -> Lines:
    """The lines that a record of vLLM's JSON formatter stands for, behind whatever envelope it has; any other line as it is."""
    begin = max(line.find(b'{"'), 0)
    record = _record(line[begin:])
    message, stamp = record.get("message"), record.get("asctime")
    if not isinstance(message, str) or not isinstance(stamp, str):
        return [(mark, line)]
    process = f"({_word(record.get('processName'))} pid={_word(record['process'])}) " if record.get("process") else ""
    level, name = _word(record.get("levelname")), _word(record.get("name"))
    prefix = f"{process}{level} {stamp[:LONGEST_STAMP]} [{name}] ".replace("\n", " ")
    text = "\n".join([message, *(record[key] for key in ("exc_info", "stack_info") if isinstance(record.get(key), str))])
    return prefixed(mark, line[:begin] + prefix.encode(), text.encode())


def _record(line: bytes) -> dict[str, Any]:
    import orjson

    try:
        record = orjson.loads(line) if line.startswith(b"{") else {}
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _text(value: object) -> str:
    """A field's value as text; the first one where a record has the field several times."""
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _word(value: object) -> str:
    """A field's value as text that fits between separators."""
    return _UNFIT.sub("?", _text(value)[:LONGEST_WORD])


def _journal_prefix(record: dict[str, Any]) -> bytes:
    said = [value if isinstance(value, str) else _text(value) for value in map(record.get, _SENDER)]
    return f"{JOURNAL_MARK}{_word(record['__REALTIME_TIMESTAMP'])}".encode() + _sender(*said)


@lru_cache(maxsize=1024)  # few senders write most of a journal
def _sender(transport: str, host: str, pid: str, container: str, about: str, unit: str, identifier: str, about_run: str, run: str) -> bytes:
    """Whose message it is. What systemd says about a unit goes to that unit's stream, under the unit's own invocation."""
    name = "kernel" if transport == "kernel" else about or unit or identifier
    fields = (host, name, pid, "" if container else about_run or run, container or name)
    return f"{JOURNAL_COMMA}{JOURNAL_COMMA.join(map(_word, fields))}{JOURNAL_MARK}".encode()


def _journal_text(message: object) -> bytes:
    """A message is a string, or a list of its bytes where it is no clean UTF-8, or a list of messages."""
    if isinstance(message, list) and all(type(byte) is int and 0 <= byte < 256 for byte in message):
        return bytes(message)
    if isinstance(message, list):
        return b"\n".join(_journal_text(part) for part in message[:16] if not isinstance(part, list) or all(type(byte) is int for byte in part))
    return message.encode() if isinstance(message, str) else b""
