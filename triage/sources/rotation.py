"""Tells which files are one log and in what order: numbers, dates, and the files that Kubernetes keeps for a container.

Oldest first, the live file last::

    x.log-20261101.gz  x.log.2.gz  x.log.1  x.log
    x.2.log  x.1.log  x.log                              only where their first stamps are in this order: x.1.log may be a rank's
    x-20261101.log  x-20261102.log                       x.log.2026-11-01  x.log
    ns_pod_uid/engine/0.log.20261101-120000.gz  ns_pod_uid/engine/0.log  ns_pod_uid/engine/1.log    the number counts restarts
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from triage.expressions import compiled_later

from .opening import head
from .paths import real_path
from .urls import is_url, parted

COMPRESSED = compiled_later(r"\.(?:gz|zst|zstd|xz|bz2)$", re.IGNORECASE)
LOG_LIKE = compiled_later(r"\.(?:log|txt|out|err|jsonl?)$", re.IGNORECASE)
_DATE = r"(?P<date>(?:19|20)\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])(?:[-_T]?\d\d(?:[-_:]?\d\d(?:[-_:]?\d\d)?)?)?)"
_NUMBERED = compiled_later(r"(?P<base>.+)\.(?P<number>\d{1,3})", re.ASCII)
_NUMBERED_INSIDE = compiled_later(r"(?P<base>.+)\.(?P<number>\d{1,3})(?P<suffix>\.(?:log|txt|out|err))", re.ASCII | re.IGNORECASE)
_STAMP = compiled_later(rb"(?:\d{4}-)?\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_DATED = compiled_later(rf"(?P<base>.+)[-._]{_DATE}", re.ASCII)
_DATED_INSIDE = compiled_later(rf"(?P<base>.+)[-._]{_DATE}(?P<suffix>\.[A-Za-z]\w*)", re.ASCII)
_POD_FILE = compiled_later(r"(?P<restart>\d+)\.log(?:\.(?P<date>\d{8}-\d{6}))?", re.ASCII)
_POD_FOLDER = compiled_later(r"[^_]+_[^_]+_[0-9A-Fa-f-]{16,}")

Log = tuple[str, str]  # folder and name of the live file
Age = tuple[int, int, str, bool]  # compares smaller for older files
STAMP_WITHIN = 16384  # bytes of a file in which its first stamp is looked for
DATED, NUMBERED, LIVE = range(3)  # where one log has all of them, those with a date are the oldest


def plain_name(path: str) -> str:
    """The path without the suffix of a compression."""
    return COMPRESSED.sub("", path)


def rotations(paths: Sequence[str]) -> list[list[str]]:
    """The paths, those of one log together and oldest first, in the order in which the logs were first met."""
    real = lru_cache(maxsize=None)(real_path)
    places = {path: parted(path) if is_url(path) else (real(os.path.dirname(path)), os.path.basename(path)) for path in paths}
    present = set(places.values())
    counted = _counted_inside(places)
    logs: dict[Log, list[tuple[Age, str]]] = {}
    for path, (folder, name) in places.items():
        log, age = _place(folder, name, present, counted)
        logs.setdefault(log, []).append(((*age, name == plain_name(name)), path))
    return [[path for _, path in sorted(files)] for files in logs.values()]


def _counted_inside(places: dict[str, Log]) -> set[Log]:
    """The logs whose rotations have their number before the suffix: counted from 1, and each begins before the one that it precedes."""
    numbered: dict[Log, dict[int, str]] = {}
    for path, (folder, file) in places.items():
        name = plain_name(file)
        if _has_figure(name) and (found := _NUMBERED_INSIDE.fullmatch(name)):
            numbered.setdefault((folder, found["base"] + found["suffix"]), {}).setdefault(int(found["number"]), path)
    for path, (folder, file) in places.items():
        if (log := (folder, plain_name(file))) in numbered and numbered[log].setdefault(0, path) != path:
            del numbered[log]
    return {log for log, files in numbered.items() if _is_one_log(files)}


def _is_one_log(files: dict[int, str]) -> bool:
    numbers = sorted(files)
    if len(numbers) < 2 or numbers not in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
        return False
    begins = [_STAMP.search(head(files[number], STAMP_WITHIN)) for number in numbers]
    stamps = [found[0] for found in begins if found]
    ordered = all(len(one) == len(other) and one > other for one, other in pairwise(stamps))
    return ordered and len(stamps) == len(numbers)


def _has_figure(name: str) -> bool:
    """Whether a name may have a number or a date."""
    return any(map(str.isdecimal, name))


def _place(folder: str, file: str, present: set[Log], counted: set[Log]) -> tuple[Log, tuple[int, int, str]]:
    """The log that a file belongs to, and its age among that log's files."""
    name = plain_name(file)
    if not _has_figure(name):
        return (folder, name), (LIVE, 0, "")
    pod_file = _POD_FILE.fullmatch(name)
    if pod_file and _POD_FOLDER.fullmatch(os.path.basename(os.path.dirname(folder))):
        return (folder, ""), (LIVE, int(pod_file["restart"]), pod_file["date"] or "~")
    if dated := _DATED.fullmatch(name) or _DATED_INSIDE.fullmatch(name):
        return (folder, dated["base"] + dated.groupdict().get("suffix", "")), (DATED, 0, re.sub(r"\D", "", dated["date"]))
    inside = _NUMBERED_INSIDE.fullmatch(name)
    if inside and (log := (folder, inside["base"] + inside["suffix"])) in counted:
        return log, (NUMBERED, -int(inside["number"]), "")
    numbered = _NUMBERED.fullmatch(name)
    if numbered and (LOG_LIKE.search(numbered["base"]) or (folder, numbered["base"]) in present or file != name):
        return (folder, numbered["base"]), (NUMBERED, -int(numbered["number"]), "")
    return (folder, name), (LIVE, 0, "")
