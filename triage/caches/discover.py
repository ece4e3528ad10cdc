"""Finds the caches below some folders, by what rules/caches.toml says of them; a cache inside another one belongs to that."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterable, Sequence

import msgspec

from triage.caches.contents import contents_of
from triage.caches.records import GONE, Cache
from triage.knowledge.caches import CacheKind
from triage.model import Problem
from triage.sources.paths import reason, shown

DEEPEST = 24


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
    caches = tuple(_with_contents(cache, search.strangers[cache.path]) for cache in search.caches.values())
    problems = (*search.problems, *(problem for cache in caches for problem in cache.contents.problems))
    return Found(caches=caches, others=tuple(search.others), problems=problems)


def _with_contents(cache: Cache, strangers: Sequence[str]) -> Cache:
    inside = contents_of(cache.path)
    if strangers:
        why = f"{shown(strangers[0])} in it is nothing of such a cache (more of it may be somebody's own)"
        inside = msgspec.structs.replace(inside, refusals=(*inside.refusals, why))
    return msgspec.structs.replace(cache, contents=inside)


def default_places(kinds: Iterable[CacheKind]) -> list[str]:
    """The folders in which this user's caches lie where nothing moved them, as far as they exist; and those that the environment names."""
    named = [os.environ[name] for kind in kinds for name in kind.moved_by if name not in ("TMPDIR", "XDG_CACHE_HOME") and os.environ.get(name)]
    usual = [os.path.expanduser(place.replace("{user}", getpass.getuser())) for kind in kinds for place in kind.default]
    return [place for place in dict.fromkeys((*named, *usual)) if os.path.isdir(place)]


def kind_of(path: str, kinds: Iterable[CacheKind], below: Iterable[str]) -> tuple[CacheKind, str] | None:
    """The first kind that a folder fits and the name that gives it; `below` are the names in it."""
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
        self.strangers: dict[str, list[str]] = {}  # by cache, names in it that are none of its kind

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
        names = [entry.name for entry in found]
        fits = kind_of(here, self.kinds, names)
        if fits:
            self.strangers[here] = [name for name in names if fits[0].only and not re.fullmatch(fits[0].only, name)]
            self.caches[here] = Cache(kind=fits[0].id, key=fits[1], path=here, shown=os.path.normpath(os.path.join(given, below)))
            return []
        self.others += [entry.path for entry in found if entry.is_file(follow_symlinks=False)]
        folders = [e.name for e in found if e.is_dir(follow_symlinks=False) and not e.name.startswith(GONE)]
        return [os.path.join(below, name) for name in reversed(folders)]
