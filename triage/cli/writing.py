"""Where answers go: to stdout, whole into a file, or through a device or a pipe as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

import click

NOT_WRITTEN = 2
STDOUT = ("-", "/dev/stdout")


def emit(text: str, output: str | None = None) -> None:
    """Print `text`, or write it to a file; exits with 2 and a word where that file cannot be written."""
    if output is None or output in STDOUT:
        click.echo(text)
        return
    from triage.report.writing import write_whole

    try:
        write_whole(output, f"{text}\n".encode(errors="replace"))
    except OSError as error:
        raise _refused(output, f"cannot be written: {error.strerror or error}") from error


def refuse_input(output: str | None, inputs: Iterable[str]) -> None:
    """Exits with 2 and a word where `output` is one of the files that are read: evidence is never written over."""
    if output is None or not os.path.isfile(output):
        return
    if _is_dump(output):
        raise _refused(output, "is a flight-recorder dump: name another file for the answer")
    for file in inputs:
        with contextlib.suppress(OSError):
            if os.path.samefile(file, output):
                raise _refused(output, "is read as input: name another file for the answer")


def _is_dump(file: str) -> bool:
    from triage.parsers.flight_recorder import looks_like_dump
    from triage.sources.opening import head

    return looks_like_dump(head(file), file)


def _refused(output: str, why: str) -> SystemExit:
    click.echo(f"triage: --output {output}: {why}", err=True)
    return SystemExit(NOT_WRITTEN)
