"""Where compiled rules are kept between runs; every failure here is harmless, it only costs the next run some time."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """`$TRIAGE_CACHE`, else `$XDG_CACHE_HOME/triage`, else `~/.cache/triage`; it need not exist."""
    own = os.environ.get("TRIAGE_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "triage"


def write_atomically(path: Path, data: bytes) -> bool:
    """Write `data` to `path` so that a reader sees all of it or none. False where the place cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        return False
    return True
