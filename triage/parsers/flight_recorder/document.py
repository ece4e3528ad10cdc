"""The parts of one dump, checked: version, groups, positions, entries; from a pickle's containers or from JSON, of any version.

Reads (torch's FlightRecorderDetail.hpp, versions 1.x to 2.10 and later minors):

    {"version": "2.10", "comm_lib_version": "2.27.3",
     "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
     "pg_status": {"0": {"last_enqueued_collective": 6, "last_started_collective": -1, "last_completed_collective": 5}},
     "entries": [{"record_id": 5, "pg_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 6, "p2p_seq_id": 0, ...}]}

Before version 1.1 the top level is the list of entries; 1.x numbers operations by `seq_id`; JSON has numbers of `pg_status` as
text, 0 for a time that never came, no frames, and no `entries` key where there is no entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import msgspec

from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.records import Config, Frame, Status

Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Sizes = tuple[tuple[Whole, ...], ...]

MOST_GROUPS = 4096
LARGEST_GROUP = 1 << 17  # members
MOST_MEMBERS = 2_000_000  # of all groups together
MOST_JSON_VALUES = 2_500_000
DEEPEST_STACK = 64
LONGEST_NAME = 300
# A list that entries share costs its length again each time an entry is read: this many numbers for each byte of the file.
EXPANSION = 4
SMALLEST_BUDGET = 1 << 20
TOGETHER = 256  # entries


class Row(msgspec.Struct, gc=False):
    """One entry of the recorder, as torch names its fields; what an older version lacks keeps its default."""

    process_group: tuple[str, ...] | None = None
    pg_id: Whole = -1
    collective_seq_id: Whole | None = None
    seq_id: Whole | None = None
    p2p_seq_id: Whole = 0
    profiling_name: str = ""
    time_created_ns: Whole = 0
    input_sizes: Sizes = ()
    output_sizes: Sizes = ()
    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    state: str = ""
    time_discovered_started_ns: Whole | None = None
    time_discovered_completed_ns: Whole | None = None
    retired: bool = False
    timeout_ms: Whole | None = None
    is_p2p: bool = False
    record_id: Whole = -1
    frames: Any = None


READ_JSON = msgspec.json.Decoder(Row).decode


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A dump as containers; `rows` are still raw: `read_rows` reads them one by one."""

    version: tuple[int, int]
    library: str
    config: dict[str, Config]
    status: dict[int, Status]
    rows: list[Any]
    size: int


class _Json(msgspec.Struct):
    """The top level of a JSON dump; entries stay text until they are read."""

    version: str | float = ""
    pg_config: Any = None
    pg_status: Any = None
    comm_lib_version: str = ""
    nccl_version: str = ""
    entries: list[msgspec.Raw] = []


def from_json(data: bytes) -> Document:
    """A JSON dump; raises DumpError where it is none."""
    if data.count(b",") > MOST_JSON_VALUES:
        raise DumpError(f"JSON of more than {MOST_JSON_VALUES:,} values")
    try:
        if data.lstrip()[:1] == b"[":
            return from_containers(msgspec.json.decode(data, type=list[msgspec.Raw]), len(data))
        top = msgspec.json.decode(data, type=_Json)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise DumpError(f"no JSON dump: {error}") from None
    if not top.entries and not isinstance(top.pg_config, dict) and not isinstance(top.pg_status, dict):
        raise DumpError("JSON, but no flight-recorder dump: no entries, no pg_config, no pg_status")
    library = top.comm_lib_version or top.nccl_version
    parts = {"version": top.version, "pg_config": top.pg_config, "pg_status": top.pg_status, "comm_lib_version": library}
    return _document(parts, list(top.entries), len(data))


def from_containers(top: Any, size: int) -> Document:
    """A dump out of a pickle of `size` bytes; raises DumpError where its top level is none."""
    if isinstance(top, list):
        return _document({"version": "1.0"}, top, size)
    if not isinstance(top, dict):
        raise DumpError(f"the top level is {type(top).__name__}, not a recorder's")
    entries = top.get("entries")
    if not isinstance(entries, list) and "pg_config" not in top and "pg_status" not in top:
        raise DumpError("a pickle, but no flight-recorder dump: no entries, no pg_config, no pg_status")
    return _document(top, entries if isinstance(entries, list) else [], size)


def _document(top: dict[str, Any], entries: list[Any], size: int) -> Document:
    library = top.get("comm_lib_version") or top.get("nccl_version") or ""
    return Document(
        version=_version(top.get("version")),
        library=library[:LONGEST_NAME] if isinstance(library, str) else "",
        config=dict(_config(top.get("pg_config"))),
        status=dict(_status(top.get("pg_status"))),
        rows=entries,
        size=size,
    )


def _version(given: Any) -> tuple[int, int]:
    """(major, minor) as numbers: 2.10 is later than 2.9."""
    found = re.match(r"(\d{1,6})(?:\.(\d{1,6}))?", str(given)) if isinstance(given, str | float | int) else None
    return (int(found[1]), int(found[2] or 0)) if found else (0, 0)


def _config(given: Any) -> Iterator[tuple[str, Config]]:
    """Groups by name. Members are a text such as "[0, 1]"; a text that many groups share is read once."""
    read: dict[str, tuple[int, ...]] = {}
    members = 0
    for key, value in list(given.items())[:MOST_GROUPS] if isinstance(given, dict) else ():
        if not isinstance(value, dict):
            continue
        name, ranks, desc = value.get("name", key), value.get("ranks", ""), value.get("desc", "")
        if isinstance(name, str) and isinstance(ranks, str):
            if ranks not in read:
                read[ranks] = _members(name, ranks)
            members += len(read[ranks])
            if members > MOST_MEMBERS:
                raise DumpError(f"groups of more than {MOST_MEMBERS:,} members")
            yield name[:LONGEST_NAME], Config(desc[:LONGEST_NAME] if isinstance(desc, str) else "", read[ranks])


def _members(name: str, ranks: str) -> tuple[int, ...]:
    if ranks.count(",") >= LARGEST_GROUP:
        raise DumpError(f"a group of more than {LARGEST_GROUP:,} members: {name[:LONGEST_NAME]}")
    return tuple(sorted({int(n) for n in re.findall(r"\d{1,6}", ranks)}))


def _status(given: Any) -> Iterator[tuple[int, Status]]:
    for key, value in list(given.items())[:MOST_GROUPS] if isinstance(given, dict) else ():
        if isinstance(value, dict) and (number := _number(key)) is not None:
            enqueued, started, completed = (_number(value.get(f"last_{what}_collective")) for what in ("enqueued", "started", "completed"))
            yield number, Status(*(-1 if n is None else n for n in (enqueued, started, completed)))


def _number(given: Any) -> int | None:
    if isinstance(given, str) and re.fullmatch(r"-?\d{1,19}", given):
        return int(given)
    return given if isinstance(given, int) and -(2**63) <= given < 2**63 else None


def read_rows(document: Document, *, limited: bool = False) -> Iterator[Row | None]:
    """The entries in order; None for one that is no entry.

    Raises DumpError where shared lists expand beyond what the file is worth, unless the process is `limited` anyway.
    """
    if limited:
        for start in range(0, len(document.rows), TOGETHER):
            yield from _together(document.rows[start : start + TOGETHER])
        return
    budget = max(SMALLEST_BUDGET, EXPANSION * document.size)
    for raw in document.rows:
        numbers = _numbers_in(raw) if type(raw) is dict else 0
        if numbers is not None and (budget := budget - numbers) < 0:
            raise DumpError("entries share lists that would expand beyond bounds")
        yield None if numbers is None else _row(raw)


def _together(raw: list[Any]) -> Iterable[Row | None]:
    """Rows out of many entries at once, which costs less than one by one; where one of them is none, one by one."""
    try:
        return msgspec.convert(raw, list[Row])
    except (msgspec.MsgspecError, RecursionError):
        return map(_row, raw)


def _row(raw: Any) -> Row | None:
    try:
        return READ_JSON(raw) if type(raw) is msgspec.Raw else msgspec.convert(raw, Row)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _numbers_in(raw: dict[str, Any]) -> int | None:
    """How many values reading an entry walks over, counted without walking them; None for what is no entry."""
    total = 0
    try:
        for key in ("input_sizes", "output_sizes"):
            if sizes := raw.get(key):
                total += len(sizes)
                if len(sizes) < SMALLEST_BUDGET:
                    total += len(sizes[0]) if len(sizes) == 1 else sum(map(len, sizes))
        return total + len(raw.get("input_dtypes", ())) + len(raw.get("output_dtypes", ()))
    except (TypeError, LookupError):
        return None


def frames_of(given: Any) -> tuple[Frame, ...]:
    """The stack of an entry, innermost first; frames that are none are left out."""
    if not isinstance(given, list):
        return ()
    frames = (frame for frame in given[:DEEPEST_STACK] if isinstance(frame, dict))
    return tuple(
        Frame(str(f.get("name", ""))[:LONGEST_NAME], str(f.get("filename", ""))[:LONGEST_NAME], line if isinstance(line := f.get("line"), int) else 0)
        for f in frames
        if isinstance(f.get("name"), str) and isinstance(f.get("filename"), str)
    )
