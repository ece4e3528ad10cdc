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

import re
from typing import NamedTuple


class Tag(NamedTuple):
    """The speaker of a line, and the line without that."""

    process: str = ""
    pid: int | None = None
    rank: int | None = None
    level: str = ""
    message: str = ""


_PROCESS = r"\((?P<process>[A-Za-z][\w.\-]*)(?:\[rank=(?P<actor_rank>\d+)\])?(?: rank=(?P<worker_rank>\d+))? pid=(?P<pid>\d+)[^)]{0,60}\) ?"
_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})? (?:\[[^\]]{1,120}\]|[\w./]{1,80}:\d+\]) ?"
_VLLM = re.compile(rf"(?:{_PROCESS})?(?:{_LEVEL})?")
_SGLANG = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?P<parts>(?: [A-Z_]+\d+)*)\] ?")
_TENSORRT = re.compile(
    r"(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] )?\[TRT-LLM\] (?:\[(?:MPI_Rank|RANK) (?P<rank>\d+)\] )?"
    r"\[(?P<level>[FEWIV])\] ?(?:\[[\w.]+\])?(?:\[(?:MPI_Rank|RANK) (?P<late_rank>\d+)\] ?)?"
)
_TP = re.compile(r"TP(\d+)")


def tag(text: str) -> Tag:
    """Who speaks in `text` (a line without its envelope), as far as its prefix says."""
    text = text.removeprefix("> ")  # somebody quotes a log
    if text.startswith("[2"):
        found = _SGLANG.match(text)
        if found:
            return Tag(found["parts"].strip(), None, _tensor_rank(found["parts"]), "", text[found.end() :])
    trt = _TENSORRT.match(text) if "[TRT-LLM]" in text[:40] else None
    if trt:
        told = trt["rank"] or trt["late_rank"]
        return Tag("", None, int(told) if told else None, trt["level"], text[trt.end() :])
    found = _VLLM.match(text)
    if found is None or not found.end():
        return Tag(message=text)
    rank = found["worker_rank"] or found["actor_rank"]
    pid = int(found["pid"]) if found["pid"] else None
    process = found["process"] or ""
    return Tag(process, pid, int(rank) if rank else _tensor_rank(process), found["level"] or "", text[found.end() :])


def _tensor_rank(name: str) -> int | None:
    found = _TP.search(name)
    return int(found[1]) if found else None
