"""Tells what keeps a cache from being removed: a process that holds it, a lock, a write not long ago, a link that leads out.

A process in a container calls a file by another path, so files are told by device and inode: `/proc/PID/fd`, `/proc/PID/maps`, `/proc/locks`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from triage.caches.records import Cache, Hold
from triage.model import Seconds
from triage.report.words import clean, number, stretch

PROC = "/proc"
_LOCK_NAME = re.compile(r"(?:^|\.)lock$")
_ENGINE = re.compile(r"vllm|sglang|trtllm|tensorrt|tritonserver|^ray::|^pt_main_thread|^python", re.IGNORECASE)
_MAPPED = re.compile(r"^\S+ \S+ \S+ ([0-9a-f]+):([0-9a-f]+) (\d+)\s+(\S.*)$")
_LOCKED = re.compile(r"^\d+: (?:-> )?\S+ +\S+ +\S+ +(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) ")

Inode = tuple[int, int]


def holds(caches: Sequence[Cache], *, now: Seconds, idle: Seconds, proc: str = PROC) -> dict[str, list[Hold]]:
    """For each cache, by its path, why it must stay. `idle`: how long nothing must have been written to it."""
    owners = {inode: cache for cache in caches for inode in cache.contents.inodes}
    found: dict[str, list[Hold]] = {cache.path: [*_refusals(cache), *_recent(cache, now, idle), *_locks(cache)] for cache in caches}
    unseen = []
    for pid in _pids(proc):
        seen = False
        for inode, how in _held(f"{proc}/{pid}"):
            seen = True
            cache = owners.get(inode) or _by_path(caches, how)
            if cache is not None:
                found[cache.path].append(Hold("in use", f"process {pid} ({_name(proc, pid)}) has {_short(cache, how)} open"))
        if not seen and _ENGINE.search(_name(proc, pid)) and not os.access(f"{proc}/{pid}/fd", os.R_OK):
            unseen.append(f"{pid} ({_name(proc, pid)})")
    for inode, owner in _locked(proc):
        if inode in owners:
            found[owners[inode].path].append(Hold("in use", f"process {owner} has a lock in it"))
    if unseen:
        what = f"{number(len(unseen), 'process')} of other users cannot be looked into ({', '.join(unseen[:3])}): run as root to be sure"
        for held in found.values():
            held.append(Hold("unsure", what))
    if not os.path.isdir(proc):
        for held in found.values():
            held.append(Hold("unsure", "this system has no /proc: whether a process has it open cannot be seen"))
    return {path: list(dict.fromkeys(held)) for path, held in found.items()}


def _refusals(cache: Cache) -> list[Hold]:
    home = [os.path.realpath(os.path.expanduser("~")), os.getcwd()]
    if any(own == cache.path or own.startswith(os.path.join(cache.path, "")) for own in home):
        return [Hold("refused", "your home or working folder lies in it")]
    lost = [Hold("refused", f"{clean(p.file)} {clean(p.what)}") for p in cache.contents.problems]
    return [Hold("refused", clean(why)) for why in cache.contents.refusals] + lost


def _recent(cache: Cache, now: Seconds, idle: Seconds) -> list[Hold]:
    newest = cache.contents.newest
    if newest is None or newest <= now - idle:
        return []
    when = f"{stretch(now - newest)} ago" if newest <= now else f"{stretch(newest - now)} in the future"
    return [Hold("recent", f"a file in it was written {when} (--idle {stretch(idle)})")]


def _locks(cache: Cache) -> list[Hold]:
    """Lock files that somebody holds; those that are left behind, as most are, say nothing."""
    names = [file.path for file in cache.contents.files if _LOCK_NAME.search(os.path.basename(file.path))]
    return [Hold("in use", f"the lock {clean(name)} is held") for name in names if _is_locked(os.path.join(cache.path, name))]


def _is_locked(path: str) -> bool:
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _pids(proc: str) -> list[int]:
    try:
        return sorted(int(name) for name in os.listdir(proc) if name.isdecimal() and int(name) != os.getpid())
    except OSError:
        return []


def _held(folder: str) -> Iterator[tuple[Inode, str]]:
    """What one process has open, mapped, or as its working folder; nothing where it may not be looked into or is gone."""
    names = ["cwd", "root"]
    try:
        names += [f"fd/{name}" for name in os.listdir(f"{folder}/fd")]
    except OSError:
        return
    for name in names:
        try:
            status = os.stat(f"{folder}/{name}")
            yield (status.st_dev, status.st_ino), os.readlink(f"{folder}/{name}")
        except OSError:
            continue
    yield from _mapped(folder)


def _mapped(folder: str) -> Iterator[tuple[Inode, str]]:
    try:
        with open(f"{folder}/maps", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                found = _MAPPED.match(line)
                if found and found[3] != "0":
                    yield (os.makedev(int(found[1], 16), int(found[2], 16)), int(found[3])), found[4].rstrip("\n")
    except OSError:
        return


def _locked(proc: str) -> Iterator[tuple[Inode, str]]:
    try:
        with open(f"{proc}/locks", encoding="ascii", errors="replace") as file:
            for line in file:
                if (found := _LOCKED.match(line)) and found[1] != str(os.getpid()):
                    yield (os.makedev(int(found[2], 16), int(found[3], 16)), int(found[4])), found[1]
    except OSError:
        return


def _by_path(caches: Sequence[Cache], path: str) -> Cache | None:
    """By its path, for file systems that give another device to a mapping than to a file."""
    return next((cache for cache in caches if path == cache.path or path.startswith(f"{cache.path}/")), None)


def _short(cache: Cache, path: str) -> str:
    return clean(path.removeprefix(f"{cache.path}/").removesuffix(" (deleted)"))


def _name(proc: str, pid: int) -> str:
    try:
        with open(f"{proc}/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return clean(file.read().strip())
    except OSError:
        return "?"
