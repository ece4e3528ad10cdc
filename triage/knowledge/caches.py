"""The shape of rules/caches.toml: which folders are caches of compiled code, and what of them is evidence."""

# Annotations are no texts here (`from __future__ import annotations`): msgspec would have to evaluate each of them in every run.

import msgspec


class CacheKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kind of cache.

    `path`: regex searched in a folder's path (its group `key` names the cache); `holds`: regex that some name in it must match as a whole;
    `only`: one that every name in it must match, or it is never removed. `evidence`: names (or, with a slash, paths below the folder) of
    text files that say what was built.
    `moved_by`: environment variables that put it elsewhere; `default`: where it lies without them.
    `samples` and `near_misses`: a path, and after ` : ` what it holds.
    """

    id: str
    title: str
    path: str = ""
    holds: str = ""
    only: str = ""
    evidence: tuple[str, ...] = ()
    moved_by: tuple[str, ...] = ()
    default: tuple[str, ...] = ()
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]


class CacheKinds(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"kinds": "cache"}):
    """rules/caches.toml: the first kind that fits a folder is its kind."""

    kinds: tuple[CacheKind, ...] = ()
