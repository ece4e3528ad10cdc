"""Reads what lies in one cache, without following any link and without opening a file."""

from __future__ import annotations

import os
import stat

from triage.caches.records import Contents, File
from triage.model import Problem
from triage.sources.paths import reason, shown


def contents_of(path: str) -> Contents:
    """Everything below the folder `path`. What must not be touched (links that lead out, other file systems, pipes) is told in `refusals`."""
    walk = _Walk(path)
    walk.run()
    return Contents(
        files=tuple(sorted(walk.files)),
        folders=tuple(sorted(walk.folders)),
        links=dict(sorted(walk.links.items())),
        refusals=tuple(walk.refusals),
        problems=tuple(walk.problems),
        inodes=frozenset(walk.inodes),
    )


class _Walk:
    def __init__(self, path: str) -> None:
        self.path = path
        self.files: list[File] = []
        self.folders: list[str] = []
        self.links: dict[str, str] = {}
        self.refusals: list[str] = []
        self.problems: list[Problem] = []
        self.inodes: set[tuple[int, int]] = set()
        self.device = -1

    def run(self) -> None:
        try:
            top = os.lstat(self.path)
        except OSError as error:
            self._lost(self.path, error)
            return
        if not stat.S_ISDIR(top.st_mode):
            self.refusals.append(f"{shown(self.path)} is no folder")
            return
        self.device = top.st_dev
        self.inodes.add((top.st_dev, top.st_ino))
        waiting = [""]
        while waiting:
            waiting += self._folder(waiting.pop())

    def _folder(self, below: str) -> list[str]:
        """Takes in one folder; the folders in it."""
        inside = []
        try:
            with os.scandir(os.path.join(self.path, below)) as entries:
                for entry in entries:
                    inside += self._entry(entry, os.path.join(below, entry.name))
        except OSError as error:
            self._lost(os.path.join(self.path, below), error)
        return inside

    def _entry(self, entry: os.DirEntry[str], below: str) -> list[str]:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            self._link(entry.path, below)
        elif status.st_dev != self.device:
            self.refusals.append(f"{shown(below)} lies on another file system")
        elif stat.S_ISDIR(status.st_mode):
            self.folders.append(below)
            self.inodes.add((status.st_dev, status.st_ino))
            return [below]
        elif stat.S_ISREG(status.st_mode):
            disk = getattr(status, "st_blocks", 0) * 512
            self.files.append(File(below, status.st_size, disk, status.st_mtime_ns, status.st_dev, status.st_ino))
            self.inodes.add((status.st_dev, status.st_ino))
        else:
            self.refusals.append(f"{shown(below)} is a pipe, a socket or a device")
        return []

    def _link(self, path: str, below: str) -> None:
        target = os.readlink(path)
        self.links[below] = target
        real = os.path.realpath(path)
        if real != self.path and not real.startswith(os.path.join(self.path, "")):
            self.refusals.append(f"{shown(below)} is a link that leads out, to {shown(target)}")

    def _lost(self, path: str, error: OSError) -> None:
        self.problems.append(Problem(shown(path), f"cannot be read: {reason(error)}"))
