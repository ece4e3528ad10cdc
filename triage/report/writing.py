"""Writes a file whole or not at all, and through what is no regular file: a device or a pipe is never replaced."""

from __future__ import annotations

import contextlib
import os
import stat


def write_whole(output: str, content: bytes, *, mode: int | None = None) -> None:
    """Write a file so that a reader sees the old one or the new one; what is no regular file is written through. Raises OSError.

    A file gets the `mode` given, else keeps its own; a link stays a link to it.
    """
    try:
        before = os.stat(output).st_mode
    except FileNotFoundError:
        before = None
    if before is not None and not stat.S_ISREG(before):
        with open(os.open(output, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), "wb") as file:
            file.write(content)
        return
    path = os.path.realpath(output)
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
            file.write(content)
        if mode is not None or before is not None:
            os.chmod(beside, mode if mode is not None else stat.S_IMODE(before or 0))
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
