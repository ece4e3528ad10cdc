"""Plans a tear-down, and carries it out: archive first, then remove what the archive holds; or finish what a killed run began."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from triage.caches.archive import Order, verified, write
from triage.caches.manifest import ArchiveError, Kept, Manifest
from triage.caches.records import Cache, Hold
from triage.caches.removal import Looking, Outcome, remove, under
from triage.history.locking import locked
from triage.model import Seconds


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done: caches to archive, caches of an archive that stands already to remove, and those that stay, with the reason."""

    archive: tuple[Cache, ...] = ()
    listed: tuple[Kept, ...] = ()
    stay: tuple[tuple[Cache, Hold], ...] = ()
    resumed: bool = False


def plan(caches: Sequence[Cache], holds: Mapping[str, list[Hold]], roots: Sequence[str], archive: str, *, removing: bool) -> Plan:
    """What a run with this archive would do. Raises ArchiveError for an archive that is damaged, in a cache, or there already without `--remove`."""
    real = os.path.realpath(archive)
    if inside := next((cache for cache in caches if real.startswith(f"{cache.path}/")), None):
        raise ArchiveError(f"{archive}: lies in the cache {inside.shown}: name a file elsewhere")
    if os.path.lexists(archive):
        return _again(caches, holds, roots, archive, removing=removing)
    bars = ("refused", "in use", "recent", "unsure") if removing else ("refused",)
    barred = {cache.path: next((hold for hold in holds.get(cache.path, ()) if hold.word in bars), None) for cache in caches}
    stay = tuple((cache, hold) for cache in caches if (hold := barred[cache.path]))
    return Plan(archive=tuple(cache for cache in caches if not barred[cache.path]), stay=stay)


def _again(caches: Sequence[Cache], holds: Mapping[str, list[Hold]], roots: Sequence[str], archive: str, *, removing: bool) -> Plan:
    """An archive of that name stands already: what it lists may go, and nothing else."""
    if not removing:
        raise ArchiveError(f"{archive}: stands there already: name another file, or give --remove to remove what it holds")
    listed = under(verified(archive).caches, roots)
    known = {kept.path for kept in listed}
    missing = Hold("refused", f"not in {archive}, which stands already: archive it under another name")
    stay = [(cache, missing) for cache in caches if cache.path not in known]
    free = [kept for kept in listed if not holds.get(kept.path)]
    held = {kept.path for kept in listed if holds.get(kept.path)}
    stay += [(cache, holds[cache.path][0]) for cache in caches if cache.path in held]
    return Plan(listed=tuple(free), stay=tuple(stay), resumed=True)


def archived(path: str, order: Order, *, now: Seconds, version: str) -> Manifest:
    """Writes the archive. Raises ArchiveError."""
    if not order.caches:
        raise ArchiveError(f"{path}: there is nothing to archive")
    return write(path, order, now=now, version=version)


def removed(archive: str, listed: Sequence[Kept], look: Looking) -> list[Outcome]:
    """Removes the caches that an archive holds, which is read whole once more before the first one goes. Raises ArchiveError."""
    with open(archive, "rb") as file:
        if not locked(file):
            raise ArchiveError(f"{archive}: another run removes what it holds")
        held = {kept.path: kept for kept in verified(archive).caches}
        return remove([held[kept.path] for kept in listed], look)
