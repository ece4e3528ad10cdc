"""Reads who speaks in an engine's line: process name, pid, rank and level.

Samples of what stands before the message::

    (Worker_TP3 pid=812) ERROR 11-20 05:51:01 [multiproc_executor.py:844] WorkerProc hit an exception.
    [2025-11-06 16:46:01 DP0 TP3 EP3] Scheduler hit an exception: ...
    [TRT-LLM] [MPI_Rank 3] [E] ...
    [Rank 3] Watchdog caught collective operation timeout: ...

>>> tag("(Worker_TP3 pid=812) ERROR 11-20 05:51:01 [multiproc_executor.py:844] WorkerProc hit an exception.")
Tag(process='Worker_TP3', pid=812, rank=3, level='ERROR', message='WorkerProc hit an exception.')
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from triage.expressions import compiled_later

LONGEST_KEPT = 512


class Tag(msgspec.Struct, frozen=True):
    """The speaker of a line, and the line without that."""

    process: str = ""
    pid: int | None = None
    rank: int | None = None
    level: str = ""
    message: str = ""


_PROCESS = r"\((?P<process>[A-Za-z][\w.\-]*)(?:\[rank=(?P<actor_rank>\d+)\])?(?: rank=(?P<worker_rank>\d+))? pid=(?P<pid>\d+)[^)]{0,60}\) ?"
_STAMP = r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?"
_PLACE = r"\[?[\w./]{1,80}:\d+\]"
_LEVEL = rf"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) +(?:{_STAMP} (?:\[[^\]]{{1,120}}\]|{_PLACE})|{_PLACE}) ?"
_VLLM = compiled_later(rf"(?:{_PROCESS})?(?:{_LEVEL})?")
_SGLANG = compiled_later(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?P<parts>(?: [A-Z_]+\d+)*)\] ?")
_TENSORRT = compiled_later(
    r"(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] )?\[TRT-LLM\] (?:\[(?:MPI_Rank|RANK) (?P<rank>\d+)\] )?"
    r"\[(?P<level>[FEWIV])\] ?(?:\[[\w.]+\])?(?:\[(?:MPI_Rank|RANK) (?P<late_rank>\d+)\] ?)?"
)
_TP = compiled_later(r"TP(\d+)")
_RANK = compiled_later(r"\[rank(\d+)\]:")
_RANK_AHEAD = 80  # characters in which other writers' prefixes may stand before a rank


def tag(text: str) -> Tag:
    """Who speaks in `text` (a line without its envelope), as far as its prefix says. A log may be quoted, indented, or in a frame."""
    return _tag(text) if len(text) > LONGEST_KEPT else _kept(text)


@lru_cache(maxsize=1024)
def _kept(text: str) -> Tag:
    """The same; one line is asked about again and again: by each rule that hits it, and by each traceback that goes by it."""
    return _tag(text)


def _tag(text: str) -> Tag:
    text = text.removeprefix("> ").removeprefix("│ ")
    bare = text.lstrip(" ")
    return _sglang(bare) or _tensorrt(bare) or _vllm(bare) or Tag(rank=_told_rank(text), message=text)


def _sglang(text: str) -> Tag | None:
    found = _SGLANG.match(text) if text.startswith("[2") else None
    return Tag(found["parts"].strip(), None, _tensor_rank(found["parts"]), "", text[found.end() :]) if found else None


def _tensorrt(text: str) -> Tag | None:
    found = _TENSORRT.match(text) if "[TRT-LLM]" in text[:40] else None
    if found is None:
        return None
    told = found["rank"] or found["late_rank"]
    return Tag("", None, int(told) if told else None, found["level"], text[found.end() :])


def _vllm(text: str) -> Tag | None:
    found = _VLLM.match(text)
    if found is None or not found.end():
        return None
    rank = found["worker_rank"] or found["actor_rank"]
    pid = int(found["pid"]) if found["pid"] else None
    process = found["process"] or ""
    message = text[found.end() :]
    told = int(rank) if rank else _tensor_rank(process)
    return Tag(process, pid, _told_rank(message) if told is None else told, found["level"] or "", message)


def _told_rank(text: str) -> int | None:
    """The rank in torch's own prefix, where something else stands before it."""
    found = _RANK.search(text, 0, _RANK_AHEAD) if "[rank" in text[:_RANK_AHEAD] else None
    return int(found[1]) if found else None


def _tensor_rank(name: str) -> int | None:
    found = _TP.search(name)
    return int(found[1]) if found else None
