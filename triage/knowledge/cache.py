"""Where compiled rules are kept between runs; every failure here is harmless, it only costs the next run some time."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

SEAL = 32  # bytes of a SHA-256
KEPT = 16  # files of one kind: rules of the user's own and other versions of triage have theirs


def cache_folder() -> Path:
    """`$TRIAGE_CACHE`, else `$XDG_CACHE_HOME/triage`, else `~/.cache/triage`; it need not exist."""
    own = os.environ.get("TRIAGE_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "triage"


def read_sealed(path: Path) -> bytes:
    """What `write_sealed` wrote. Raises OSError where there is none, and ValueError where a bit of it has changed since."""
    kept = path.read_bytes()
    seal, data = kept[:SEAL], kept[SEAL:]
    if hashlib.sha256(data).digest() != seal:
        raise ValueError(f"{path}: is damaged")
    return data


def write_sealed(path: Path, data: bytes) -> bool:
    """Write `data` with a hash before it, by which `read_sealed` knows it again. False where the place cannot be written."""
    return write_atomically(path, hashlib.sha256(data).digest() + data)


def write_atomically(path: Path, data: bytes) -> bool:
    """Write `data` to `path` so that a reader sees all of it or none. False where the place cannot be written."""
    import tempfile  # most runs only read

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
        _prune(path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True


def _prune(newest: Path) -> None:
    """Removes the oldest files of its kind (`scan-*.hsdb`) beside the newest, but for so many."""
    kind = f"{newest.name.partition('-')[0]}-*{newest.suffix}"
    with contextlib.suppress(OSError):
        by_age = sorted(newest.parent.glob(kind), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in by_age[KEPT:]:
            old.unlink()
