"""Removes what a verified archive lists, and nothing else.

Caches are moved aside in one step each, so that no engine ever meets half of one, and looked at once more; then their files go, each only where it
is still what the archive says. A run that was killed is finished by the next one: what is left is part of the same list.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from triage.caches.contents import contents_of
from triage.caches.manifest import Entry, Kept
from triage.caches.records import GONE, Cache, Contents, Hold

Looking = Callable[[Sequence[Cache]], Mapping[str, Sequence[Hold]]]


class Outcome(msgspec.Struct, frozen=True):
    """What came of one cache: bytes that were freed on disk, and why it (or some of it) still stands."""

    kept: Kept
    removed: bool
    freed: int = 0
    why: str = ""


def aside_of(path: str) -> str:
    """Where a cache waits for its removal."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f"{GONE}{name}")


def under(listed: Iterable[Kept], roots: Iterable[str]) -> list[Kept]:
    """Those of an archive's caches that lie at or below the folders `roots`, and of which anything is left."""
    real = [os.path.realpath(root) for root in roots]
    inside = [kept for kept in listed if any(kept.path == root or kept.path.startswith(os.path.join(root, "")) for root in real)]
    return [kept for kept in inside if os.path.lexists(kept.path) or os.path.lexists(aside_of(kept.path))]


def is_as_archived(kept: Kept, inside: Contents) -> bool:
    """Whether a cache holds just what the archive lists."""
    files = {(file.path, file.size, file.mtime_ns) for file in inside.files}
    listed = {(file.path, file.size, file.mtime_ns) for file in kept.files}
    return not inside.problems and files == listed and dict(inside.links) == dict(kept.links) and set(inside.folders) == set(kept.folders)


def remove(listed: Sequence[Kept], look: Looking) -> list[Outcome]:
    """Removes caches that were archived. `look` tells what holds each of some caches; it is asked before and after they are moved aside."""
    outcomes = {kept.path: _leftover(kept) for kept in listed}
    ready = [kept for kept in listed if outcomes[kept.path] is None]
    caches = [_cache(kept, kept.path) for kept in ready]
    held = look(caches) if caches else {}
    for kept, cache in zip(ready, caches, strict=True):
        changed = "" if is_as_archived(kept, cache.contents) else "it changed since it was archived: archive it under another name"
        why = changed or _first(held[kept.path])
        outcomes[kept.path] = Outcome(kept, removed=False, why=why) if why else _moved(kept)
    moved = [kept for kept in ready if outcomes[kept.path] is None]
    held = look([_cache(kept, aside_of(kept.path)) for kept in moved]) if moved else {}
    return [outcomes[kept.path] or _ended(kept, _first(held[aside_of(kept.path)])) for kept in listed]


def _leftover(kept: Kept) -> Outcome | None:
    """Deletes what a run that was killed left aside; None where that was not so."""
    aside = aside_of(kept.path)
    if not os.path.lexists(aside):
        return None
    outcome = _delete(kept, aside)
    if outcome.removed and os.path.lexists(kept.path):
        return msgspec.structs.replace(outcome, removed=False, why="it was built anew since it was archived: archive it under another name")
    return outcome


def _moved(kept: Kept) -> Outcome | None:
    """Moves a cache aside; None where that could be done."""
    try:
        os.rename(kept.path, aside_of(kept.path))
    except OSError as error:
        return Outcome(kept, removed=False, why=f"cannot be moved aside: {error.strerror}")
    return None


def _ended(kept: Kept, held: str) -> Outcome:
    """Deletes a cache that was moved aside, or puts it back where something holds it."""
    if not held:
        return _delete(kept, aside_of(kept.path))
    with contextlib.suppress(OSError):
        os.rename(aside_of(kept.path), kept.path)
    return Outcome(kept, removed=False, why=held)


def _first(held: Sequence[Hold]) -> str:
    return held[0].why if held else ""


def _cache(kept: Kept, path: str) -> Cache:
    return Cache(kind=kept.kind, key=kept.key, path=path, shown=path, contents=contents_of(path))


def _delete(kept: Kept, aside: str) -> Outcome:
    """Deletes what is listed, deepest first. Folders are held open, so that nobody can put a link in the way."""
    if not stat.S_ISDIR(os.lstat(aside).st_mode):
        return Outcome(kept, removed=False, why=f"{aside} is no folder: it was not put there by triage")
    listed = {file.path: file for file in kept.files}
    strangers: list[str] = []
    freed = 0
    try:
        for where, folders, files, handle in os.fwalk(aside, topdown=False, follow_symlinks=False):
            below = os.path.relpath(where, aside)
            for name in files:
                path = name if below == "." else os.path.join(below, name)
                freed += _unlink(name, handle, path, listed.get(path), kept.links, strangers)
            for name in folders:
                _remove_folder(name, handle, name if below == "." else os.path.join(below, name), kept.links, strangers)
        if not strangers:
            os.rmdir(aside)
    except OSError as error:
        return Outcome(kept, removed=False, freed=freed, why=f"cannot be removed whole: {error.strerror}: {error.filename}; run it again")
    except RecursionError:
        return Outcome(kept, removed=False, freed=freed, why=f"its folders are nested too deep to be removed: what is left waits in {aside}")
    if strangers:
        why = f"{strangers[0]} in it is not in the archive: what is left waits in {aside}"
        return Outcome(kept, removed=False, freed=freed, why=why)
    return Outcome(kept, removed=True, freed=freed)


def _unlink(name: str, handle: int, path: str, listed: Entry | None, links: dict[str, str], strangers: list[str]) -> int:
    """Unlinks one file or link if it is what the archive lists; the bytes on disk that this frees."""
    status = os.stat(name, dir_fd=handle, follow_symlinks=False)
    if stat.S_ISLNK(status.st_mode) and links.get(path) == os.readlink(name, dir_fd=handle):
        os.unlink(name, dir_fd=handle)
        return 0
    if listed is None or not stat.S_ISREG(status.st_mode) or (status.st_size, status.st_mtime_ns) != (listed.size, listed.mtime_ns):
        strangers.append(path)
        return 0
    os.unlink(name, dir_fd=handle)
    return getattr(status, "st_blocks", 0) * 512 if status.st_nlink == 1 else 0


def _remove_folder(name: str, handle: int, path: str, links: dict[str, str], strangers: list[str]) -> None:
    """Removes a folder that is empty now, or a link to one."""
    if stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        _unlink(name, handle, path, None, links, strangers)
        return
    try:
        os.rmdir(name, dir_fd=handle)
    except OSError:
        strangers.append(path)
