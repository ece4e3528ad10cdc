"""How a command ends when it is interrupted, or when nobody takes what it prints: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from typing import Any

import click

INTERRUPTED = 130
NOT_WRITTEN = 2


class Ending(click.Group):
    """A group that answers Ctrl-C with 130 and an answer that could not be written with 2. A reader that leaves early is no error."""

    def main(self, *args: Any, **extra: Any) -> Any:
        if sys.stdout is None:
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
        try:
            return super().main(*args, **extra)
        except OSError as error:
            _forget_output()
            with contextlib.suppress(OSError):
                click.echo(f"triage: {error.filename or 'the answer could not be written'}: {error.strerror or error}", err=True)
            raise SystemExit(NOT_WRITTEN) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):
                click.echo("triage: interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None


class _Closed(io.RawIOBase):
    """Stands where stdout was closed, so that printing fails as it does on a full disk and is not lost without a word."""

    def writable(self) -> bool:
        return True

    def write(self, _data: Any) -> int:
        raise OSError(errno.EBADF, "stdout is closed")


def _forget_output() -> None:
    """What could not be written is not tried again when the interpreter flushes its streams at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        return
    sys.stdout = io.StringIO()
