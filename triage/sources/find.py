"""Turns what the user named (files, folders, globs, `-`) into sources: each log once, its rotations together, oldest first."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Sequence

import msgspec

from triage.expressions import compiled_later
from triage.model import Kind, Problem

from .opening import head, identity, size_of
from .paths import STDIN, real_path, reason, shown
from .rotation import plain_name, rotations
from .urls import is_url

_ARCHIVE = compiled_later(r"\.(?:tar(?:\.\w+)?|t[gbx]z2?|tzst|zip|7z|rar)$", re.IGNORECASE)
_TAR_MAGIC = slice(257, 262)
_GLOB = compiled_later(r"[*?\[]")


class Source(msgspec.Struct, frozen=True):
    """One stream of bytes in order: a log with its rotations, oldest first; the file `-` is standard input.

    Names and files are as `opening.shown` gives them, so that they can be told in every format.
    `kind` is set only where the user said what it is.
    """

    name: str
    files: tuple[str, ...]
    kind: Kind | None = None


def find(paths: Sequence[str], *, kind: Kind | None = None) -> tuple[list[Source], list[Problem]]:
    """The sources that the paths lead to, and what was passed over or is missing. A file met twice is read once.

    Folders are read with all below them, sorted, without hidden files. A source is named like its newest file, as the user
    gave it or from the folder given on.
    """
    search = _Search()
    for path in paths:
        search.add(path)
    logs = rotations(search.without_copies())
    short = [_name(log, search.below) for log in logs]
    often = Counter(short)
    names = [name if often[name] == 1 else _name(log, {}) for log, name in zip(logs, short, strict=True)]
    return [Source(shown(name), tuple(map(shown, log)), kind) for log, name in zip(logs, names, strict=True)], search.problems


def _matching(pattern: str) -> list[str]:
    from glob import glob

    return sorted(glob(pattern, recursive=True))


def _name(log: Sequence[str], below: dict[str, str]) -> str:
    newest = below.get(log[-1], log[-1])
    return newest if any(file == plain_name(file) for file in log) else plain_name(newest)


class _Search:
    """Collects files, each once."""

    def __init__(self) -> None:
        self.below: dict[str, str] = {}  # each file as it was reached, and from the folder given on
        self.problems: list[Problem] = []
        self._seen: set[tuple[int, int]] = set()

    def add(self, path: str) -> None:
        """Take in what the user named."""
        if path == STDIN:
            self.below[STDIN] = STDIN
        elif is_url(path):
            self._add_url(path)
        elif os.path.isdir(path):
            self._add_folder(path)
        elif os.path.lexists(path):
            self._add_file(path, path, named=True)
        elif _GLOB.search(path) and (found := _matching(path)):
            for each in found:
                self._add_folder(each) if os.path.isdir(each) else self._add_file(each, each, named=False)
        else:
            self._pass_over(path, "no such file or folder", lost=True)

    def without_copies(self) -> list[str]:
        """The files found, without compressed ones that hold what another one of their name holds as well."""
        by_name: dict[str, list[str]] = defaultdict(list)
        for file in self.below:
            by_name[os.path.basename(plain_name(file))].append(file)
        copies: set[str] = set()
        for files in by_name.values():
            if len(files) > 1 and any(file != plain_name(file) for file in files):
                copies |= self._copies(files)
        return [file for file in self.below if file not in copies]

    def _copies(self, files: Sequence[str]) -> set[str]:
        copies = set()
        kept: dict[tuple[str, int], str] = {}
        heads = {file: identity(file) for file in files}
        often = Counter(heads.values())
        for file in sorted(files, key=lambda file: file != plain_name(file)):  # plain ones first: they are kept
            if often[heads[file]] == 1:
                continue
            original = kept.setdefault((heads[file], size_of(file)), file)
            if original != file and file != plain_name(file):
                self._pass_over(file, f"holds the same as {original}, which is read")
                copies.add(file)
        return copies

    def _add_folder(self, folder: str) -> None:
        inside = os.path.join(real_path(folder), "")
        for where, folders, files in os.walk(folder, onerror=self._unreadable):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            below = os.path.relpath(where, folder)
            for name in sorted(name for name in (*folders, *files) if not name.startswith(".")):
                path = os.path.join(where, name)
                if os.path.islink(path) and not real_path(path).startswith(inside):
                    self._pass_over(path, "is a link out of the folder: name it to have it read")
                elif name not in folders:
                    self._add_file(path, name if below == os.curdir else os.path.join(below, name), named=False)

    def _add_url(self, url: str) -> None:
        from .remote import RemoteError, below, found

        try:
            inside = found(url)
        except RemoteError as error:
            self._pass_over(url, reason(error), lost=True)
            return
        for each in inside:
            if _ARCHIVE.search(each):
                self._pass_over(each, "is an archive: unpack it and give the folder", lost=True)
            else:
                self.below.setdefault(each, below(each, url))

    def _add_file(self, path: str, below: str, *, named: bool) -> None:
        try:
            status = os.stat(path)
        except OSError as error:
            self._pass_over(path, f"cannot be opened: {reason(error)}", lost=True)
            return
        if stat.S_ISFIFO(status.st_mode) and named and not path.endswith(".pipe"):  # those trigger dumps, and opening one may block
            self.below.setdefault(path, below)
        elif not stat.S_ISREG(status.st_mode):
            self._pass_over(path, "is no regular file: not opened")
        elif _ARCHIVE.search(path) or (path != plain_name(path) and head(path, 512)[_TAR_MAGIC] == b"ustar"):
            self._pass_over(path, "is an archive: unpack it and give the folder", lost=True)
        elif (status.st_dev, status.st_ino) not in self._seen:
            self._seen.add((status.st_dev, status.st_ino))
            self.below[path] = below

    def _unreadable(self, error: OSError) -> None:
        self._pass_over(error.filename, f"cannot be opened: {reason(error)}", lost=True)

    def _pass_over(self, path: str, why: str, *, lost: bool = False) -> None:
        self.problems.append(Problem(shown(path), why, lost))
