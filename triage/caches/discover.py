"""Finds the caches below some folders, by what rules/caches.toml says of them; a cache inside another one belongs to that."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from triage.caches.contents import contents_of
from triage.caches.records import GONE, Cache
from triage.knowledge.caches import CacheKind
from triage.model import Problem
from triage.sources.paths import reason, shown

DEEPEST = 24
MOST_LOOKED_AT = 4096  # names below a folder that `holds` is tried on: a kernel folder is among the first, or it is no cache


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The caches below what was named, the other files there, and what could not be read."""

    caches: tuple[Cache, ...] = ()
    others: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def discover(paths: Sequence[str], kinds: Sequence[CacheKind]) -> Found:
    """The caches at or below `paths`, each once, with what lies in them. Links are not followed, but for a path that was named."""
    search = _Search(kinds)
    for path in paths:
        search.add(path)
    caches = tuple(msgspec.structs.replace(cache, contents=contents_of(cache.path)) for cache in search.caches.values())
    problems = (*search.problems, *(problem for cache in caches for problem in cache.contents.problems))
    return Found(caches=caches, others=tuple(search.others), problems=problems)


def default_places(kinds: Iterable[CacheKind]) -> list[str]:
    """The folders in which this user's caches lie where nothing moved them, as far as they exist; and those that the environment names."""
    named = [os.environ[name] for kind in kinds for name in kind.moved_by if name not in ("TMPDIR", "XDG_CACHE_HOME") and os.environ.get(name)]
    usual = [os.path.expanduser(place.replace("{user}", getpass.getuser())) for kind in kinds for place in kind.default]
    return [place for place in dict.fromkeys((*named, *usual)) if os.path.isdir(place)]


def kind_of(path: str, kinds: Iterable[CacheKind], below: Iterable[str]) -> tuple[CacheKind, str] | None:
    """The first kind that a folder fits and the name that gives it; `below` are paths of what it holds, one or two levels deep."""
    held = list(below)
    for kind in kinds:
        named = re.search(kind.path, path) if kind.path else None
        if kind.path and not named:
            continue
        if kind.holds and not any(re.fullmatch(kind.holds, one) for one in held):
            continue
        key = named.groupdict().get("key") if named else None
        return kind, key or "/".join(path.rstrip("/").rsplit("/", 2)[-2:])
    return None


class _Search:
    def __init__(self, kinds: Sequence[CacheKind]) -> None:
        self.kinds = kinds
        self.caches: dict[str, Cache] = {}
        self.others: list[str] = []
        self.problems: list[Problem] = []
        self._deep = any("/" in kind.holds for kind in kinds)

    def add(self, path: str) -> None:
        """Takes in one folder that was named, with all below it."""
        real = os.path.realpath(path)
        waiting = [("", 0)]
        while waiting:
            below, depth = waiting.pop()
            waiting += [(one, depth + 1) for one in self._folder(path, real, below)] if depth < DEEPEST else []

    def _folder(self, given: str, real: str, below: str) -> list[str]:
        here = os.path.join(real, below) if below else real
        if here in self.caches:
            return []
        try:
            with os.scandir(here) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.problems.append(Problem(shown(here), f"cannot be read: {reason(error)}"))
            return []
        fits = kind_of(here, self.kinds, _names_below(here, [e.name for e in found], deep=self._deep))
        if fits:
            self.caches[here] = Cache(kind=fits[0].id, key=fits[1], path=here, shown=os.path.normpath(os.path.join(given, below)))
            return []
        self.others += [entry.path for entry in found if entry.is_file(follow_symlinks=False)]
        folders = [e.name for e in found if e.is_dir(follow_symlinks=False) and not e.name.startswith(GONE)]
        return [os.path.join(below, name) for name in reversed(folders)]


def _names_below(here: str, names: Sequence[str], *, deep: bool) -> Iterator[str]:
    """What stands below a folder, one and (in folders named `cache`, where kernels are kept) two levels deep."""
    yield from names[:MOST_LOOKED_AT]
    if deep and "cache" in names and not os.path.islink(os.path.join(here, "cache")):
        try:
            with os.scandir(os.path.join(here, "cache")) as entries:
                yield from (f"cache/{entry.name}" for entry, _ in zip(entries, range(MOST_LOOKED_AT), strict=False))
        except OSError:
            return
