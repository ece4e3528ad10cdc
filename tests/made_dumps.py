"""Made-up flight-recorder dumps: entries, documents of every version, and the bytes torch, Python and JSON would make of them."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

T0 = 1_795_000_000_000_000_000  # ns since the epoch
STEP = 10_000_000  # ns between two operations
Document = dict[str, Any]
Job = dict[int, Document]

DEFAULT = ("0", "default_pg")


def entry(sequence: int, **given: Any) -> Document:
    """One collective, finished unless `state` says otherwise."""
    state = given.pop("state", "completed")
    sizes = given.pop("sizes", [[64]])
    dtype = given.pop("dtype", "Float")
    created = given.pop("created", T0 + sequence * STEP)
    made = {
        "frames": [{"name": "forward", "filename": "/srv/app/model.py", "line": 10 + sequence % 3}],
        "record_id": sequence,
        "pg_id": 0,
        "process_group": DEFAULT,
        "thread_name": "python",
        "thread_id": "140",
        "collective_seq_id": sequence,
        "p2p_seq_id": 0,
        "op_id": sequence,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": created,
        "input_sizes": sizes,
        "input_dtypes": [dtype],
        "output_sizes": sizes,
        "output_dtypes": [dtype],
        "state": state,
        "time_discovered_started_ns": created + 1000 if state == "started" else None,
        "time_discovered_completed_ns": created + 2000 if state == "completed" else None,
        "retired": state == "completed",
        "timeout_ms": 600_000,
        "is_p2p": False,
    }
    return made | given


def transfer(kind: str, here: int, there: int, number: int, **given: Any) -> Document:
    """A send or receive between two ranks of a group, not finished."""
    name = f"nccl:{kind} {here}{'->' if kind == 'send' else '<-'}{there}"
    return entry(0, **({"profiling_name": name, "p2p_seq_id": number, "is_p2p": True, "state": "scheduled", "created": T0 + number * STEP} | given))


def config(name: str, ranks: Iterable[int], desc: str = "") -> Document:
    return {name: {"name": name, "desc": desc or ("default_pg" if name == "0" else f"group {name}"), "ranks": str(list(ranks))}}


def document(entries: list[Document], groups: Document, *, version: str = "2.10") -> Document:
    """What one rank writes; positions follow from the entries."""
    status: Document = {}
    for e in entries:
        place = status.setdefault(str(e["pg_id"]), dict.fromkeys((f"last_{w}_collective" for w in ("enqueued", "started", "completed")), -1))
        place["last_enqueued_collective"] = max(place["last_enqueued_collective"], e["collective_seq_id"])
        if e["retired"]:
            place["last_completed_collective"] = max(place["last_completed_collective"], e["collective_seq_id"])
    return {"version": version, "pg_config": groups, "comm_lib_version": "2.27.3", "pg_status": status, "entries": entries}


def job(world: int = 4, last: int = 6, *, stuck: Iterable[int] | None = None, **of_last: Any) -> Job:
    """A job whose ranks finished all_reduces up to `last` - 1; `stuck` ranks (default all) have entered `last` and not finished it."""
    inside = set(range(world)) if stuck is None else set(stuck)
    done = [entry(s) for s in range(1, last)]
    return {
        rank: document(done + ([entry(last, state="scheduled", **of_last)] if rank in inside else []), config("0", range(world)))
        for rank in range(world)
    }


def again(made: Document, entries: list[Document] | None = None) -> Document:
    """The document with positions that fit (other) entries."""
    return document(made["entries"] if entries is None else entries, made["pg_config"], version=made["version"])


def old(made: Document, version: str) -> Document:
    """The document as an older recorder would write it."""
    major, minor = map(int, version.split("."))
    entries = [dict(e) for e in made["entries"]]
    out = dict(made) | {"version": version, "entries": entries}
    if (major, minor) < (2, 10):
        out["nccl_version"] = out.pop("comm_lib_version")
    if (major, minor) < (2, 3):
        del out["pg_status"]
    for e in entries:
        if (major, minor) < (2, 8):
            del e["thread_name"], e["thread_id"]
        if (major, minor) < (2, 2):
            del e["input_dtypes"], e["output_dtypes"], e["is_p2p"], e["timeout_ms"]
        if major == 1:
            e["seq_id"] = e.pop("collective_seq_id")
            del e["p2p_seq_id"]
    return out


def torch_pickle(value: Any) -> bytes:
    """Protocol 2 as torch's own pickler writes it: texts and frames are remembered, containers are not."""
    out = bytearray(b"\x80\x02")
    memo: dict[Any, int] = {}
    _write(value, out, memo)
    return bytes(out + b".")


def _write(value: Any, out: bytearray, memo: dict[Any, int]) -> None:
    if value is None or isinstance(value, bool):
        out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
    elif isinstance(value, int):
        out += _integer(value)
    elif isinstance(value, float):
        out += b"G" + struct.pack(">d", value)
    elif isinstance(value, str):
        _remembered(value, memo, out, lambda: b"X" + struct.pack("<I", len(value.encode())) + value.encode())
    elif isinstance(value, tuple):
        for item in value:
            _write(item, out, memo)
        out += b"\x86"
    elif isinstance(value, list):
        out += b"]("
        for item in value:
            _write(item, out, memo)
        out += b"e"
    else:
        key = tuple(value.values()) if value.keys() == {"name", "filename", "line"} else None
        if key is not None and key in memo:
            out += _recall(memo[key])
            return
        out += b"}("
        for name, item in value.items():
            _write(name, out, memo)
            _write(item, out, memo)
        out += b"u"
        if key is not None:
            memo[key] = len(memo)
            out += _store(memo[key])


def _integer(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    return b"J" + struct.pack("<i", value) if -(2**31) <= value < 2**31 else b"\x8a\x08" + struct.pack("<q", value)


def _remembered(key: Any, memo: dict[Any, int], out: bytearray, written: Callable[[], bytes]) -> None:
    if key in memo:
        out += _recall(memo[key])
    else:
        memo[key] = len(memo)
        out += written() + _store(memo[key])


def _store(index: int) -> bytes:
    return b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)


def _recall(index: int) -> bytes:
    return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)


def as_json(made: Document) -> bytes:
    """The form that torch's `_json` functions give: no frames, positions as text, 0 for no time, no key for no entries."""
    out = dict(made) | {"pg_status": {k: {n: str(v) for n, v in p.items()} for k, p in made.get("pg_status", {}).items()}}
    out["entries"] = [{k: (0 if v is None else v) for k, v in e.items() if k != "frames"} for e in made["entries"]]
    if not out["entries"]:
        del out["entries"]
    return json.dumps(out, separators=(",", ":")).encode()


def python_pickle(protocol: int) -> Callable[[Any], bytes]:
    return lambda value: pickle.dumps(value, protocol=protocol)


def lay(folder: Path, made: Job, write: Callable[[Any], bytes] = torch_pickle, name: str = "comm_lib_trace_rank_{}") -> Path:
    """Write the dumps of a job into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for rank, of_rank in made.items():
        (folder / name.format(rank)).write_bytes(write(of_rank))
    return folder
