"""A bar on stderr while logs are read, where it is a terminal, the work is known to be some, and it takes more than a second."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import click

PATIENCE = 1.0  # seconds before a bar is worth looking at
GONE = "\r\x1b[2K\x1b[?25h"  # the line is empty again, and the cursor back


class Progress:
    """Takes note of the bytes that were read, of so many in all, and shows them once it takes long."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._total = self._read = 0
        self._bar: Any = None

    def begin(self, total: int) -> None:
        """So many bytes are to be read."""
        self._total, self._began = total, time.monotonic()

    def advance(self, size: int) -> None:
        """So many more have been."""
        self._read += size
        if self._bar is not None:
            self._bar.update(size, self._rate())
        elif time.monotonic() - self._began > PATIENCE and self._total > self._read:
            self._bar = click.progressbar(
                length=self._total, label="reading", file=sys.stderr, item_show_func=lambda rate: rate, width=0, show_pos=False
            )
            self._bar.update(self._read, self._rate())

    def end(self) -> None:
        """Nothing is left of the bar: what follows is the answer."""
        if self._bar is not None:
            with suppress(OSError):
                click.echo(GONE, nl=False, err=True)
            self._bar = None

    def _rate(self) -> str:
        return f"{self._read / 1e6 / max(time.monotonic() - self._began, 1e-3):,.0f} MB/s"


@contextmanager
def shown(wanted: bool) -> Iterator[Progress | None]:
    """Progress to tell of while something is read; None where nobody would see it."""
    if not wanted or not _is_terminal():
        yield None
        return
    progress = Progress()
    try:
        yield progress
    finally:
        progress.end()


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):
        return False
