"""The list that an archive carries: every cache, every file of it with its hash, and the boots that built it. It is also what a removal goes by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec

from triage.caches.records import Cache, Origin
from triage.model import Boot, Seconds

SCHEMA = "triage-caches/1"
NAME = "manifest.json"


class ArchiveError(Exception):
    """An archive that cannot be written or trusted; the message names the file and says what to do."""


class Entry(msgspec.Struct, frozen=True):
    """One file of a cache: path below it, size in bytes, last change in ns since the epoch, SHA-256, and its name in the archive if it is kept."""

    path: str
    size: int
    mtime_ns: int
    sha256: str
    kept: str = ""


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """One cache as it was archived."""

    kind: str
    key: str
    path: str
    files: tuple[Entry, ...]
    folders: tuple[str, ...] = ()
    links: dict[str, str] = {}
    disk: int = 0
    origin: Origin = Origin()

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def newest(self) -> Seconds | None:
        return max(file.mtime_ns for file in self.files) / 1e9 if self.files else None


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """One boot that built or read an archived cache: times in seconds since the epoch, None where they are not known."""

    id: str
    source: str
    engine: str = ""
    version: str = ""
    host: str = ""
    start: Seconds | None = None
    ready: Seconds | None = None
    config: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """`digests` has the SHA-256 of each member of the archive but for the manifest itself."""

    schema: str = SCHEMA
    triage: str = ""
    made: Seconds = 0.0
    whole: bool = False
    caches: tuple[Kept, ...] = ()
    boots: tuple[Life, ...] = ()
    digests: dict[str, str] = {}


def kept_of(cache: Cache, files: Sequence[Entry], origin: Origin) -> Kept:
    """What a manifest says of one cache."""
    inside = cache.contents
    return Kept(kind=cache.kind, key=cache.key, path=cache.path, files=tuple(files), folders=inside.folders, links=inside.links,
                disk=inside.disk, origin=origin)  # fmt: skip


def lives(boots: Sequence[Boot], origins: Mapping[str, Origin]) -> tuple[Life, ...]:
    """The boots that some cache comes from or that read one, with what they were configured with."""
    meant = {boot for origin in origins.values() for boot in (*origin.built, *origin.read)}
    return tuple(
        Life(
            id=boot.id,
            source=boot.source,
            engine=boot.engine,
            version=boot.version,
            host=boot.host,
            start=boot.start.earliest if boot.start else None,
            ready=boot.ready.earliest if boot.ready else None,
            config=boot.config,
        )
        for boot in boots
        if boot.id in meant
    )


def to_json(manifest: Manifest) -> bytes:
    """As JSON in ASCII: names that are no UTF-8 survive it, which a faster encoder refuses."""
    return json.dumps(msgspec.to_builtins(manifest), indent=1, sort_keys=True).encode("ascii")


def from_json(data: bytes, where: str) -> Manifest:
    """A manifest from its JSON. Raises ArchiveError naming `where` it stands, for anything else."""
    try:
        told = json.loads(data)
        if not isinstance(told, dict) or told.get("schema") != SCHEMA:
            raise ArchiveError(f"{where}: is no list of caches that this triage knows (schema {SCHEMA})")
        return msgspec.convert(told, Manifest)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{where}: its {NAME} cannot be read: {error}") from error
