"""One writer at a time: the lock of an open file, which goes with the process, however that ends."""

from __future__ import annotations

from typing import IO


def locked(file: IO[bytes]) -> bool:
    """Takes the lock of a file until it is closed; whether nobody else has it. On systems without flock nobody has."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
