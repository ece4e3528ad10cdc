"""The records of caches: what lies in one, which boots wrote or read it, and what keeps it from being removed."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from triage.model import Problem, Seconds

KnownBy = Literal["log", "log and time", "time", ""]
GONE = ".triage-removing-"  # before the name of a cache that was moved aside: nothing finds it there, and it is about to go


class File(NamedTuple):
    """A regular file of a cache: path below it, size and space on disk in bytes, last change in ns since the epoch, and which file it is."""

    path: str
    size: int
    disk: int
    mtime_ns: int
    device: int
    inode: int


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What lies in one cache. `links` map a path below it to what the link says; `refusals` are reasons why it must not be touched.

    `inodes` are those of all files and folders, by which a process that holds one is found whatever it calls it.
    """

    files: tuple[File, ...] = ()
    folders: tuple[str, ...] = ()
    links: dict[str, str] = {}
    refusals: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    inodes: frozenset[tuple[int, int]] = frozenset()

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def disk(self) -> int:
        """Bytes on disk, a file of several names once."""
        return sum({(file.device, file.inode): file.disk for file in self.files}.values())

    @property
    def oldest(self) -> Seconds | None:
        return min(file.mtime_ns for file in self.files) / 1e9 if self.files else None

    @property
    def newest(self) -> Seconds | None:
        return max(file.mtime_ns for file in self.files) / 1e9 if self.files else None


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """One cache: its kind (an id of rules/caches.toml), its name, its real path, and the path as it was reached."""

    kind: str
    key: str
    path: str
    shown: str
    contents: Contents = Contents()


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a cache comes from. `built` are ids of boots: one where that is known, several where it was one of them, none where nothing tells.

    `read` are the boots that took what it holds, `lines` the places and texts of the log lines that say so.
    """

    built: tuple[str, ...] = ()
    by: KnownBy = ""
    read: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()


class Hold(msgspec.Struct, frozen=True):
    """Why a cache counts as in use: one word for a table, and a sentence."""

    word: Literal["in use", "recent", "unsure", "refused"]
    why: str
