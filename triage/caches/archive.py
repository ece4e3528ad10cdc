"""Writes the archive of some caches (a tar inside zstd), reads it back, and gives it its name only when every byte of it was found again.

The members: `logs/<boot>.log` (the lines that name a cache), `caches/<n>-<kind>/<path>` (the files that are evidence, or all of them), and last
`manifest.json` and its own hash. A crash at any moment leaves either no archive or a whole one.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, cast

from triage.caches.manifest import NAME, ArchiveError, Entry, Kept, Manifest, from_json, kept_of, lives, to_json
from triage.caches.records import Cache, File, Origin
from triage.history.locking import locked
from triage.knowledge.caches import CacheKind
from triage.model import Boot, Seconds
from triage.sources.paths import reason

PIECE = 1 << 20
LARGEST_EVIDENCE = 16 << 20  # bytes: a text longer than this is data, and its hash must do
LARGEST_MANIFEST = 1 << 30
SEAL = f"{NAME}.sha256"


class Order:
    """What is to be archived: the caches with their origins, the boots, and which files are kept."""

    def __init__(
        self, caches: Sequence[Cache], origins: Mapping[str, Origin], boots: Sequence[Boot], kinds: Sequence[CacheKind], *, whole: bool = False
    ) -> None:
        self.caches = tuple(caches)
        self.origins = {cache.path: origins.get(cache.path, Origin()) for cache in caches}
        self.boots = tuple(boots)
        self.evidence = {kind.id: kind.evidence for kind in kinds}
        self.whole = whole

    def keeps(self, cache: Cache, file: File) -> bool:
        """Whether a file's bytes go into the archive, and not its hash alone."""
        return self.whole or is_evidence(file, self.evidence.get(cache.kind, ()))


    def kept(self) -> tuple[int, int]:
        """How many files would be kept, and their bytes."""
        sizes = [file.size for cache in self.caches for file in cache.contents.files if self.keeps(cache, file)]
        return len(sizes), sum(sizes)


def is_evidence(file: File, globs: Sequence[str]) -> bool:
    """Whether a file tells what was built: by its name, or by its path where the glob has a slash."""
    name = file.path.rsplit("/", 1)[-1]
    fits = any(fnmatch.fnmatchcase(file.path if "/" in glob else name, glob.replace("**", "*")) for glob in globs)
    return fits and file.size <= LARGEST_EVIDENCE


def write(path: str, order: Order, *, now: Seconds, version: str) -> Manifest:
    """Writes the archive and returns what it holds. Raises ArchiveError where it cannot be written, or a file changes while it is read."""
    folder, name = os.path.split(os.path.abspath(path))
    partial = os.path.join(folder, f".{name}.partial")
    try:
        with _alone(partial, path) as file:
            try:
                manifest = _written(file, order, now, version)
                file.flush()
                os.fsync(file.fileno())
                if verified(partial) != manifest or not _stands(partial, file):
                    raise ArchiveError(f"{path}: what was read back is not what was written; nothing was removed")
                _named(partial, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(partial)
                raise
        _sync_folder(folder)
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written: {reason(error)}; nothing was removed") from error
    return manifest


@contextlib.contextmanager
def _alone(partial: str, path: str) -> Iterator[IO[bytes]]:
    """The unfinished archive, new and empty, for one run at a time.

    What a killed run left is unlinked, never written over: it may be an archive that already has its name elsewhere.
    """
    with contextlib.suppress(FileNotFoundError), open(partial, "rb") as left:
        if not locked(left):
            raise ArchiveError(f"{path}: another run is writing it")
        os.unlink(partial)
    handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)  # logs may hold what is nobody else's business
    with os.fdopen(handle, "rb+") as file:
        if not locked(file):
            raise ArchiveError(f"{path}: another run is writing it")
        yield file


def _stands(partial: str, file: IO[bytes]) -> bool:
    """Whether the path still leads to the file that was written."""
    return os.path.samestat(os.stat(partial), os.fstat(file.fileno()))


def _named(partial: str, path: str) -> None:
    """Gives the archive its name; one that has come to stand there meanwhile is not written over."""
    try:
        os.link(partial, path)
        os.unlink(partial)
    except FileExistsError as error:
        raise ArchiveError(f"{path}: stands there already; nothing was removed") from error
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise ArchiveError(f"{path}: stands there already; nothing was removed") from None
        os.rename(partial, path)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _written(file: IO[bytes], order: Order, now: Seconds, version: str) -> Manifest:
    import zstandard

    digests: dict[str, str] = {}
    with (
        zstandard.ZstdCompressor(level=3, threads=-1 if order.whole else 0, write_checksum=True).stream_writer(file, closefd=False) as packed,
        tarfile.open(fileobj=cast("IO[bytes]", packed), mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for boot, lines in _lines(order).items():
            _add(tar, f"logs/{boot}.log", io.BytesIO(lines), len(lines), now, digests)
        kept = tuple(_add_cache(tar, number, cache, order, digests) for number, cache in enumerate(order.caches, 1))
        made = Manifest(triage=version, made=now, whole=order.whole, caches=kept, boots=lives(order.boots, order.origins), digests=digests)
        text = to_json(made)
        seal = _add(tar, NAME, io.BytesIO(text), len(text), now, {}).encode()
        _add(tar, SEAL, io.BytesIO(seal), len(seal), now, {})
    return made


def _lines(order: Order) -> dict[str, bytes]:
    """For each boot the lines that name a cache of the order."""
    meant = {line for origin in order.origins.values() for line in origin.lines}
    told: dict[str, bytes] = {}
    for boot in order.boots:
        own = [(f"{e.place.file}:{e.place.offset}", e.text) for e in boot.events]
        lines = [f"{place}\t{text}\n" for place, text in own if (place, text) in meant]
        if lines:
            told[boot.id] = "".join(lines).encode("utf-8", "surrogateescape")
    return told


def _add_cache(tar: tarfile.TarFile, number: int, cache: Cache, order: Order, digests: dict[str, str]) -> Kept:
    files = []
    for file in cache.contents.files:
        name = f"caches/{number:04}-{cache.kind}/{file.path}" if order.keeps(cache, file) else ""
        with _opened(cache, file) as data:
            digest = _add(tar, name, data, file.size, file.mtime_ns // 1_000_000_000, digests) if name else _digest(data)
            if not _is_same(os.fstat(data.fileno()), file):
                raise ArchiveError(f"{cache.path}/{file.path}: was written while it was read: the cache is in use; nothing was removed")
        files.append(Entry(file.path, file.size, file.mtime_ns, digest, name))
    return kept_of(cache, files, order.origins[cache.path])


def _opened(cache: Cache, file: File) -> IO[bytes]:
    handle = os.open(os.path.join(cache.path, file.path), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not _is_same(os.fstat(handle), file):
        os.close(handle)
        raise ArchiveError(f"{cache.path}/{file.path}: is another file than a moment ago: the cache is in use; nothing was removed")
    return os.fdopen(handle, "rb")


def _is_same(status: os.stat_result, file: File) -> bool:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns) == (file.device, file.inode, file.size, file.mtime_ns)


class _Hashing(io.RawIOBase):
    """Passes bytes on and hashes them."""

    def __init__(self, source: IO[bytes]) -> None:
        self.source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        data = self.source.read(size)
        self.digest.update(data)
        return data


def _add(tar: tarfile.TarFile, name: str, data: IO[bytes], size: int, mtime: float, digests: dict[str, str]) -> str:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, int(mtime), 0o600
    source = _Hashing(data)
    tar.addfile(member, cast("IO[bytes]", source))
    digests[name] = source.digest.hexdigest()
    return digests[name]


def _digest(data: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while piece := data.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def verified(path: str) -> Manifest:
    """Reads an archive whole and returns its manifest. Raises ArchiveError where a member is missing, damaged or not in the manifest."""
    import zstandard

    found: dict[str, str] = {}
    text = seal = b""
    try:
        with (
            open(path, "rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=False) as plain,
            tarfile.open(fileobj=cast("IO[bytes]", plain), mode="r|") as tar,
        ):
            for member in tar:
                data = tar.extractfile(member)
                if data is None:
                    raise ArchiveError(f"{path}: {member.name!r} in it is no file: triage did not write this archive")
                if member.name == NAME:
                    text = data.read(LARGEST_MANIFEST)
                elif member.name == SEAL:
                    seal = data.read(64)
                else:
                    found[member.name] = _digest(data)
            while plain.read(PIECE):  # to the end, where zstd's own checksum stands
                pass
    except (OSError, tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise ArchiveError(f"{path}: cannot be read back: {error}") from error
    if not text or not seal:
        raise ArchiveError(f"{path}: has no {NAME}: triage did not write it, or not to its end")
    if hashlib.sha256(text).hexdigest().encode() != seal:
        raise ArchiveError(f"{path}: its {NAME} is damaged")
    manifest = from_json(text, path)
    if found != manifest.digests:
        wrong = sorted(set(found.items()) ^ set(manifest.digests.items()))
        raise ArchiveError(f"{path}: {wrong[0][0]!r} in it is not what the manifest says: the archive is damaged")
    return manifest
