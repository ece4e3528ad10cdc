"""Tells which boot built each cache, by what the boot's log names and by when its files were written; where that leaves several, it says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from triage.caches.records import Cache, KnownBy, Origin
from triage.knowledge.caches import CacheKind
from triage.model import Boot, Event, Seconds

Lives = Mapping[str, tuple[Seconds, Seconds]]


class Claim(msgspec.Struct, frozen=True):
    """One line of a boot that names a cache: the path it gives, and whether it says that the cache was built or read."""

    boot: str
    path: str
    built: bool
    read: bool
    event: Event


def origins(caches: Sequence[Cache], boots: Sequence[Boot], kinds: Iterable[CacheKind]) -> dict[str, Origin]:
    """For each cache, by its path: the boot that built it, those that read it, and the lines that say so."""
    patterns = {kind.id: kind.path for kind in kinds if kind.path and not kind.holds}
    tails = {cache.path: _tail(cache, patterns) for cache in caches}
    claims = [claim for boot in boots for claim in _claims(boot)]
    lives = {boot.id: life for boot in boots if (life := _life(boot))}
    return {cache.path: _origin(cache, *_about(cache, tails, claims, lives), lives) for cache in caches}


def _claims(boot: Boot) -> list[Claim]:
    """What the lines of a boot say of caches. A line without a path speaks of the folder that its process named last."""
    last: dict[tuple[str, int | None], str] = {}
    found = []
    for event in boot.events:
        who = (event.process, event.pid)
        named = event.data.get("compile_cache", "")
        if named:
            last[who] = named
        path = named or event.data.get("cache", "") or (last.get(who, "") if event.kind == "cache" else "")
        if path:
            found.append(Claim(boot.id, path, "built" in event.data, "read" in event.data, event))
    return found


def _about(cache: Cache, tails: Mapping[str, str], claims: Sequence[Claim], lives: Lives) -> tuple[list[Claim], bool]:
    """The claims about one cache, and whether the times of its files had to say which they are. `tails`: the ends of all caches' paths.

    A path that a container gives is another one here: then the end of the path must do. Where several caches have that end (each boot
    with a folder of its own), only boots count that lived while files of this one were written.
    """
    exact = [claim for claim in claims if _is_below(claim.path, cache.path)]
    tail = tails[cache.path]
    if exact or not tail:
        return exact, False
    alike = [claim for claim in claims if f"/{tail}/" in f"{claim.path}/" and not any(_is_below(claim.path, path) for path in tails)]
    if list(tails.values()).count(tail) == 1:
        return alike, False
    return [claim for claim in alike if _wrote(claim.boot, cache, lives)], True


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def _tail(cache: Cache, patterns: Mapping[str, str]) -> str:
    found = re.search(patterns[cache.kind], cache.path) if cache.kind in patterns else None
    return found[0].lstrip("/") if found else ""


def _origin(cache: Cache, claims: Sequence[Claim], by_time: bool, lives: Lives) -> Origin:
    lines = tuple(dict.fromkeys((f"{c.event.place.file}:{c.event.place.offset}", c.event.text) for c in claims))
    built = list(dict.fromkeys(claim.boot for claim in claims if claim.built))
    by: KnownBy = "log and time" if by_time else "log"
    if len(built) > 1:  # a later one compiled more into it, or several could be meant: the first writer built it
        first = _first_writers(cache, built, lives)
        built, by = (first, "log and time") if first else (built, by)
    if not built:
        named = list(dict.fromkeys(claim.boot for claim in claims))
        built = _first_writers(cache, named or list(lives), lives)
        by = ("log and time" if named else "time") if built else ""
    read = dict.fromkeys(claim.boot for claim in claims if claim.boot not in built)
    return Origin(built=tuple(built), by=by, read=tuple(read), lines=lines)


def _first_writers(cache: Cache, boots: Iterable[str], lives: Lives) -> list[str]:
    """The boots that lived when the oldest file was written: more than one where their lives overlap."""
    oldest = cache.contents.oldest
    return [] if oldest is None else [boot for boot in boots if boot in lives and lives[boot][0] <= oldest <= lives[boot][1]]


def _wrote(boot: str, cache: Cache, lives: Lives) -> bool:
    if boot not in lives:
        return False
    began, ended = lives[boot]
    return any(began <= file.mtime_ns / 1e9 <= ended for file in cache.contents.files)


def _life(boot: Boot) -> tuple[Seconds, Seconds] | None:
    """From the first to the last line of a boot that has a time; None where none has."""
    times = [event.at for event in boot.events if event.at]
    return (min(at.earliest for at in times), max(at.latest for at in times)) if times else None
