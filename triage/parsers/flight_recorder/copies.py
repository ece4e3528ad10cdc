"""Dumps in an object store or on a web server: copied into a folder that goes when they are read, because files are what is read with care."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress

from triage.model import Problem
from triage.parsers.flight_recorder.reader import LARGEST
from triage.sources.opening import written_at
from triage.sources.paths import path_of
from triage.sources.urls import is_url, parted

CHUNK = 1 << 20


@contextmanager
def local_copies(files: Sequence[str]) -> Iterator[tuple[dict[str, str], dict[str, Problem]]]:
    """Where the content of each file lies on this machine, and for each that could not be fetched, why: there lies none, so its rank is lost.

    A copy never has many more than LARGEST bytes.
    """
    urls = [file for file in files if is_url(path_of(file))]
    if not urls:
        yield {file: path_of(file) for file in files}, {}
        return
    lost: dict[str, Problem] = {}
    with tempfile.TemporaryDirectory(prefix="triage-dump-", ignore_cleanup_errors=True) as folder:
        copies = {url: os.path.join(folder, str(number), parted(url)[1] or "dump") for number, url in enumerate(urls)}
        for url, copy in copies.items():
            try:
                _fetch(url, copy)
            except OSError as error:
                lost[url] = Problem(url, str(error))
        yield {file: copies.get(file) or path_of(file) for file in files}, lost


def _fetch(url: str, copy: str) -> None:
    """Raises OSError where the object cannot be read; what came of it is not kept, since a part of a dump may look like a whole one."""
    from triage.sources.remote import opened

    view = memoryview(bytearray(CHUNK))
    os.mkdir(os.path.dirname(copy))
    try:
        with closing(opened(url)) as source, open(copy, "wb") as target:
            while target.tell() <= LARGEST and (size := source.readinto(view)):
                target.write(view[:size])
    except OSError:
        with suppress(OSError):
            os.unlink(copy)
        raise
    with suppress(OSError):
        os.utime(copy, (at := written_at(url), at))
