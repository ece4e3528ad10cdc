"""Tells what a file is by what stands in it, not by its name: engine output, probe log, kernel log, flight-recorder dump, or nothing of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice

from triage.expressions import compiled_later
from triage.model import Kind
from triage.parsers.kernel import is_kernel_line, looks_like_kernel_log
from triage.sources.pieces import looks_binary

DOCUMENT_SUFFIXES = frozenset(
    (".md", ".rst", ".toml", ".yaml", ".yml", ".py", ".sh", ".html", ".css", ".js", ".ini", ".cfg", ".png", ".jpg", ".svg", ".pdf", ".tsv")
)
LINES_LOOKED_AT = 200
FIRST_LINES = 12
PLAIN = 4
DUMPS_BEGIN = (b"\x80", b"{", b"[", b"")  # pickles and JSON; an empty file may be the dump of a rank that died over it
_DUMP_NAME = compiled_later(r"trace_rank|comm_lib_trace|fr_trace|flight_recorder|dump", re.IGNORECASE)

# What only engines, their libraries and what launches them write: such a log needs no look for probes.
_ENGINE = compiled_later(
    r"\bpid=\d+\) |(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d |\[TRT-LLM\]|\bNCCL (?:INFO|WARN|error)|server_args="
    r"|Traceback \(most recent|\b(?:slurmstepd|srun|mpirun|prterun|mpiexec)\b\S*: |\*\*\* (?:JOB|STEP) \d"
    r"|(?:CUDA|HIP) (?:[Ee]rror|out of memory)|\b(?:Runtime|OutOfMemory)Error: "
    r'|"(?:OOMKilled|ExitCode|FinishedAt)": |\bFile "[^"]{1,400}", line \d+|\bFatal Python error: '
    r"|^\s*[\w./+-]{1,80}: (?:fatal )?error: (?!.*(?i:refused|time(?:d |-)?out|connect|http))"
)
# What their servers, package managers, and warnings write into the same log, and what no prose looks like.
_ENGINE_CHATTER = compiled_later(
    r'(?m)^(?:INFO|WARNING|ERROR|DEBUG|CRITICAL):(?: {2,}|\w)|HTTP/[12](?:\.\d)?" \d{3}\b|\d%\||\b(?:site|dist)-packages/|\b[A-Z]\w+Warning: '
    r"|^(?:Collecting|Requirement already satisfied:|Successfully installed) |\[rank\d+\]|\[Gloo\]|^CUDA Version \d"
    r"|\[TensorRT-LLM\]|NVIDIA-SMI|\bcuda:\d|\bnvidia-nvswitch\d|\bNVSwitch\b| - (?:INFO|WARNING|ERROR|DEBUG) - "
    r"|(?i:\bepoch\b.{0,80}\bloss\b)|\bSLURM_"
)
# A client's row: date, target, status, and figures. Engines write nothing like it, nor what kubelet says. (An expression that begins with
# plain characters is found many times as fast as one that begins with an anchor.)
_PROBE_ROW = compiled_later(
    rb"(?m)20(?<=^20)\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s,;]{0,12}+[ ,;\t]++(?:https?://[^\s,;]{1,200}[ ,;\t]+)?"
    rb"(?:[a-z_]{1,12}=)?(?:000|[1-5]\d\d)"
    rb"(?:[ ,;\t]+(?:[a-z_]{1,12}=)?\d{1,6}(?:\.\d{1,9})?(?:ms|s)?){0,3}\r?$"
)
_KUBELET = compiled_later(rb'(?m)^.{0,400}(?: probe failed: |"Probe failed" probeType=).{0,400}$')
_KUBELET_WORDS = b"robe failed"
ENOUGH_ROWS = 3


def is_document(file: str) -> bool:
    """Whether a file's name says that it is no log: documents and programs in a folder are not evidence."""
    return os.path.splitext(file)[1].lower() in DOCUMENT_SUFFIXES


def sniff(name: str, head: bytes, lines: Iterable[str]) -> Kind | None:
    """The kind of a file with this head; `lines` are its first lines without their envelopes, drawn as needed. None: nothing of ours."""
    if (head[:1] in DUMPS_BEGIN or _DUMP_NAME.search(os.path.basename(name))) and _is_dump(head, name):
        return "flight_recorder"
    if looks_binary(head):
        return None
    coming = iter(lines)
    first = list(islice(coming, FIRST_LINES))
    if _is_plainly_an_engine(first):
        return "engine"
    first += islice(coming, LINES_LOOKED_AT - FIRST_LINES)
    if looks_like_kernel_log(first):
        return "kernel"
    if any(_ENGINE.search(line) for line in first):
        return "engine"
    if _is_gpu_memory(first):
        return "gpu_memory"
    return "probe" if _is_probe_log(first) else "engine"


def speaks_like_an_engine(name: str, head: bytes) -> bool:
    """Whether a log in which no line was understood is one of ours nevertheless: its head is such as engines and what they run on write."""
    text = head.decode("latin-1")
    return not is_document(name) and bool(_ENGINE.search(text) or _ENGINE_CHATTER.search(text))


def probe_rows(text: bytes) -> list[str]:
    """Lines of an engine's log that look like health probes; none where they are too few to tell."""
    found = [*_PROBE_ROW.finditer(text), *(_KUBELET.finditer(text) if _KUBELET_WORDS in text else ())]
    rows = sorted((row.start(), row[0].decode("utf-8", "replace").strip()) for row in found)
    return [row for _, row in rows] if len(rows) >= ENOUGH_ROWS else []


def _is_plainly_an_engine(lines: Sequence[str]) -> bool:
    """Whether some of a file's very first lines are such as only engines write, and none is the kernel's: no more of them need be looked at."""
    engines = islice(filter(_ENGINE.search, lines), PLAIN)
    return len(list(engines)) == PLAIN and not any(map(is_kernel_line, lines))


def _is_dump(head: bytes, name: str) -> bool:
    from triage.parsers.flight_recorder import looks_like_dump

    return looks_like_dump(head, name)


def _is_gpu_memory(lines: Sequence[str]) -> bool:
    from triage.parsers.gpu_memory import looks_like_gpu_memory

    return looks_like_gpu_memory(lines)


def _is_probe_log(lines: Sequence[str]) -> bool:
    from triage.parsers.probe import looks_like_probe_log

    return looks_like_probe_log(lines)
