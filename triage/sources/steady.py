"""Whether a file on disk is still what it was when its reading began: a rotation that copies and truncates takes it away under the reader."""

from __future__ import annotations

import os

CUT = "was cut short while it was read, as a rotation that copies and truncates does: some of it is missing; read it again, with its copy"
FIRST = 64  # bytes of the beginning that tell whether other content was written there


class Steady:
    """An open file as it is now. `descriptor`: of a file on disk; None for anything else, which is never seen to change."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._size, self._first = _look(descriptor)

    @property
    def was_cut(self) -> bool:
        """Whether it became shorter since, or begins with something else."""
        size, first = _look(self._descriptor)
        return size < self._size or not first.startswith(self._first)


def _look(descriptor: int | None) -> tuple[int, bytes]:
    if descriptor is None:
        return 0, b""
    try:
        return os.fstat(descriptor).st_size, os.pread(descriptor, FIRST, 0)
    except OSError:
        return 0, b""  # reading on says it
