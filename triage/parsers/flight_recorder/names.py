"""Which files are flight-recorder dumps, and the rank that a file's name ends in.

torch writes `<prefix><rank>` and stores no rank inside, so the name is all there is:

    comm_lib_trace_rank_3   nccl_trace_rank_host-7_3   _dump_3   rank_3.json   nccl_trace_rank_3.gz
"""

from __future__ import annotations

import os
import re
import zlib

import msgspec

SUFFIXES = re.compile(r"(?:\.(?:gz|json|pkl|pickle|bin|trace))+$", re.IGNORECASE)
NUMBERED = re.compile(r"(?P<prefix>.*?)(?<!\d)(?P<rank>\d{1,6})$", re.DOTALL)
TELLING = re.compile(r"(?:trace_rank|comm_lib_trace|fr_trace|flight_recorder|(?:^|_)dump)_?(?:[\w.-]*_)?\d{1,6}$", re.IGNORECASE)
OWN = re.compile(r"(?:trace_rank|comm_lib_trace|fr_trace|flight_recorder)_?(?:[\w.-]*_)?\d{1,6}$", re.IGNORECASE)  # whatever stands in it
PIPE = ".pipe"

PICKLE_KEYS = (b"pg_config", b"pg_status", b"collective_seq_id", b"profiling_name", b"record_id", b"nccl_version", b"comm_lib_version")
JSON_KEYS = tuple(b'"' + key + b'"' for key in PICKLE_KEYS)
GZIP = b"\x1f\x8b"
HEAD = 8192
MOST_RANKS = 10**6


class Named(msgspec.Struct, frozen=True):
    """A file's name taken apart: what stands before the rank, and the rank (None where the name has none)."""

    prefix: str
    rank: int | None


def take_apart(file: str, rank_from: str | None = None) -> Named:
    """The rank in the name of `file`. `rank_from` is a regex whose first group is the rank, tried on the base name.

    >>> take_apart("/tmp/nccl_trace_rank_node-2_11.gz")
    Named(prefix='nccl_trace_rank_node-2_', rank=11)
    """
    base = os.path.basename(file)
    if rank_from:
        found = re.search(rank_from, base)
        rank = rank_in(found.group(1)) if found and found.re.groups else None
        return Named(base[: found.start(1)], rank) if found and rank is not None else Named(base, None)
    numbered = NUMBERED.match(SUFFIXES.sub("", base))
    return Named(numbered["prefix"], int(numbered["rank"])) if numbered else Named(base, None)


def rank_in(digits: str | None) -> int | None:
    """The rank that digits stand for; None for other text and for more than any job has."""
    return int(digits) if digits and digits.isdecimal() and len(digits) < len(str(MOST_RANKS)) else None


def looks_like_dump(head: bytes, name: str) -> bool:
    """Whether a file is a dump, by its first bytes; an empty, broken or hostile one by a name that only a recorder gives."""
    if name.endswith(PIPE):
        return False
    if OWN.search(_bare(name)):
        return True
    telling = has_telling_name(name)
    if head.startswith(GZIP):
        head = _first_bytes(head)
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        return telling or any(key in head for key in PICKLE_KEYS)
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return telling or any(key in head for key in JSON_KEYS)
    return telling and (not head or b"\0" in head)


def has_telling_name(name: str) -> bool:
    """Whether a file has a name that recorders give, and nothing else does."""
    return TELLING.search(_bare(name)) is not None


def is_url(path: str) -> bool:
    """Whether a path is an address to ask and not a file."""
    return path.startswith(("http://", "https://"))


def _bare(name: str) -> str:
    return SUFFIXES.sub("", os.path.basename(name))


def _first_bytes(head: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD)
    except zlib.error:
        return b""
