"""Random caches: folders with awkward names, empty folders, links inside, files of several names; and what an archive must know of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hypothesis import strategies as st

from triage.caches.contents import contents_of
from triage.caches.records import GONE, Cache
from triage.knowledge.caches import CacheKind

OLD = 1_600_000_000
KIND = CacheKind(id="made", title="made for a test", holds="never", evidence=("*.json", "*.log", "deep/**"), samples=(), near_misses=())

_LETTERS = st.sampled_from(["a", "b", "Z", "0", ".", "-", " ", "\n", "\t", "\\", "*", "'", "é", "😀", "\udcff", "\x01"])
_NAME = st.text(_LETTERS, min_size=1, max_size=8).filter(lambda name: name not in (".", "..") and not name.startswith(GONE))
_ENDING = st.sampled_from(["", ".json", ".log", ".so", "lock"])
_PATH = st.lists(_NAME, min_size=1, max_size=4)
FILES = st.lists(st.tuples(_PATH, _ENDING, st.binary(max_size=300)), max_size=12)
FOLDERS = st.lists(_PATH, max_size=4)
LINKS = st.lists(st.tuples(_NAME, st.integers(0, 20)), max_size=3)


def lay(folder: Path, files: list[tuple[list[str], str, bytes]], folders: list[list[str]] = [], links: list[tuple[str, int]] = []) -> Path:  # noqa: B006
    """Lays a tree; what cannot stand beside what is there already is left out."""
    folder.mkdir(parents=True)
    made: list[Path] = []
    for names, ending, content in files:
        path = folder.joinpath(*names[:-1], names[-1] + ending)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError:
            continue
        os.utime(path, ns=(OLD * 10**9 + len(made), OLD * 10**9 + len(made)))
        made.append(path)
    for names in folders:
        try:
            folder.joinpath(*names).mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
    for name, which in links:
        link = folder / name
        if made and not os.path.lexists(link):
            link.symlink_to(os.path.relpath(made[which % len(made)], folder)) if which % 3 else os.link(made[which % len(made)], link)
    return folder


def cache_of(folder: Path, kind: str = "made") -> Cache:
    path = os.path.realpath(folder)
    return Cache(kind=kind, key=folder.name, path=path, shown=str(folder), contents=contents_of(path))


def hashes(folder: str) -> dict[str, str]:
    """The SHA-256 of every regular file below a folder, by its path from there; nothing where there is no folder."""
    found = {}
    for where, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(where, name)
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found
