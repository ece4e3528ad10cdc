"""From folders and files to the dumps of each hang: which files belong together, and one recording for each rank.

Ranks of one hang may lie in one folder under one prefix, under a prefix for each host, or in a folder for each host. Files that
give one rank twice are of different hangs.
"""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import msgspec

from triage.model import Problem
from triage.parsers.flight_recorder.apart import parted
from triage.parsers.flight_recorder.machine import DumpError
from triage.parsers.flight_recorder.names import HEAD, PIPE, has_telling_name, is_url, looks_like_dump, take_apart
from triage.parsers.flight_recorder.reader import read_dump
from triage.parsers.flight_recorder.records import RankDumps, Recording

# Below this our own machine needs no longer than the start of a child takes.
SMALL = 1 << 20
# Folders of one hang were written by one watchdog after the other, all within the time a watchdog waits.
NEAR = 1800 * 10**9


class Place(msgspec.Struct, frozen=True, order=True):
    """A dump file that was found: where it lies, how its name starts, whose it is, and what to call it where that is not its path."""

    directory: str
    prefix: str
    rank: int
    path: str
    alias: str = ""

    @property
    def name(self) -> str:
        return self.alias or self.path


def read_folder(paths: Sequence[str], *, rank_from: str | None = None, world: int | None = None) -> tuple[RankDumps, ...]:
    """The dumps in folders (searched downwards), files and http(s) addresses, one group for each hang; `world` is the number of ranks if known.

    Files that are no dumps are passed over; pipes are never opened, links that lead out of a folder never followed. Addresses are of one hang.
    """
    files: list[str] = []
    problems: list[Problem] = []
    urls = [path for path in paths if is_url(path)]
    for path in paths:
        if path in urls:
            continue
        if os.path.isdir(path):
            for file in _walk(path):
                _consider(file, path, rank_from, files, problems)
        else:
            files.append(path)
    found = read_files(files, rank_from=rank_from, world=world, problems=problems)
    if urls:
        from triage.parsers.flight_recorder.remote import read_urls

        return (read_urls(urls, rank_from=rank_from, world=world), *found)
    return found


def read_files(
    files: Sequence[str], *, rank_from: str | None = None, world: int | None = None, problems: Sequence[Problem] = ()
) -> tuple[RankDumps, ...]:
    """The dumps in `files`, one group for each hang, however unreadable some are; `problems` of finding them join their folder's."""
    from triage.parsers.flight_recorder.copies import local_copies

    with local_copies(files) as (copies, lost):
        places, unreadable = _places(copies, rank_from)
        groups = [part for group in _hangs(places) for part in parted(read_places(group, world))]
    groups = [msgspec.structs.replace(group, unreadable=tuple(lost.get(p.file, p) for p in group.unreadable)) for group in groups] if lost else groups
    return _with_problems(_joined(groups), [*problems, *unreadable], world)


def _walk(folder: str) -> Iterator[str]:
    for directory, below, names in os.walk(folder):
        below.sort()
        yield from (os.path.join(directory, name) for name in sorted(names))


def _consider(file: str, root: str, rank_from: str | None, files: list[str], problems: list[Problem]) -> None:
    """Take `file` if it is a dump; a pipe or a link that leads out is named and left alone."""
    try:
        kind = os.lstat(file).st_mode
        if stat.S_ISLNK(kind):
            inside = os.path.realpath(file).startswith(os.path.realpath(root) + os.sep)
            if not inside or not os.path.isfile(file):
                if _named(file, rank_from):
                    problems.append(Problem(file, "a link that leads out of the folder or to no file: not followed"))
                return
        elif not stat.S_ISREG(kind):
            if stat.S_ISFIFO(kind) and (_named(file, rank_from) or file.endswith(PIPE)):
                problems.append(Problem(file, "a pipe that triggers dumps: not opened", lost=False))
            return
        with open(file, "rb") as opened:
            head = opened.read(HEAD)
    except OSError as error:
        problems.append(Problem(file, error.strerror or "cannot be read"))
        return
    if looks_like_dump(head, file) or _named(file, rank_from):
        files.append(file)


def _named(file: str, rank_from: str | None) -> bool:
    return has_telling_name(file) or bool(rank_from and take_apart(file, rank_from).rank is not None)


def _places(copies: Mapping[str, str], rank_from: str | None) -> tuple[list[Place], list[Problem]]:
    """`copies` says where each file's content lies, which is the file itself but for one elsewhere."""
    places, problems = [], []
    for file in {os.path.abspath(file): file for file in copies}.values():
        named = take_apart(file, rank_from)
        if named.rank is None:
            problems.append(Problem(file, "no rank in its name: a dump says nowhere else whose it is (--rank-from REGEX finds it)"))
        else:
            places.append(Place(os.path.dirname(file), named.prefix, named.rank, copies[file], file if copies[file] != file else ""))
    return sorted(places), problems


def _hangs(places: Sequence[Place]) -> Iterator[list[Place]]:
    """The files of each folder; by prefix where one rank comes twice, else all together."""
    for directory in dict.fromkeys(place.directory for place in places):
        here = [place for place in places if place.directory == directory]
        if len({place.rank for place in here}) == len(here):
            yield here
            continue
        for prefix in dict.fromkeys(place.prefix for place in here):
            yield from _copies([place for place in here if place.prefix == prefix])


def _copies(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Files of one prefix, the same rank never twice: `x_3` and `x_3.gz` are two sets, and so are `x_3` and `x_03`."""
    sets: dict[tuple[str, int], list[Place]] = {}
    seen: Counter[tuple[str, int]] = Counter()
    for place in places:
        suffix = _suffix(place)
        sets.setdefault((suffix, seen[suffix, place.rank]), []).append(place)
        seen[suffix, place.rank] += 1
    yield from sets.values()


def _suffix(place: Place) -> str:
    return os.path.basename(place.path)[len(place.prefix) :].lstrip("0123456789")


def read_places(places: Sequence[Place], world: int | None) -> RankDumps:
    """One recording for each place; `places` are not empty and no rank comes twice."""
    recordings: list[Recording] = []
    problems: list[Problem] = []
    lost: list[int] = []
    with _Reader(places) as reader:
        for place in places:
            try:
                recording = reader.read(place)
            except (DumpError, OSError) as error:
                problems.append(Problem(place.name, error.strerror or "cannot be read" if isinstance(error, OSError) else str(error)))
                lost.append(place.rank)
            else:
                recordings.append(recording)
                problems.extend(recording.problems)
    recordings.sort(key=lambda recording: recording.rank)
    prefix = places[0].prefix if len({place.prefix for place in places}) == 1 else ""
    return RankDumps(
        directory=places[0].directory or ".",
        prefix=prefix,
        recordings=tuple(recordings),
        unreadable=tuple(problems),
        lost=tuple(sorted(lost)),
        world=world,
        written=max((status.st_mtime for place in places if (status := _status(place.path))), default=0.0),
    )


class _Reader:
    """Reads with our own machine while there is little to read, else through the jail where the system has one."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._stack = ExitStack()
        self._jail = None
        if os.name == "posix" and sys.executable and sum(_size(place.path) for place in places) > SMALL:
            from triage.parsers.flight_recorder.jail import Jail

            self._jail = self._stack.enter_context(Jail())

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(self, place: Place) -> Recording:
        if self._jail is None:
            return read_dump(place.path, rank=place.rank, name=place.name)
        return self._jail.read(place.path, rank=place.rank, name=place.name)


def _size(path: str) -> int:
    return status.st_size if (status := _status(path)) else 0


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _joined(groups: Sequence[RankDumps]) -> list[RankDumps]:
    """Folders side by side that hold other ranks of one job at one time are one hang: a folder for each host."""
    joined: list[RankDumps] = []
    for group in groups:
        other = next((i for i, have in enumerate(joined) if _one_hang(have, group)), None)
        if other is None:
            joined.append(group)
        else:
            joined[other] = _merged(joined[other], group)
    return joined


def _one_hang(one: RankDumps, other: RankDumps) -> bool:
    if not (one.recordings and other.recordings) or {*one.ranks, *one.lost} & {*other.ranks, *other.lost}:
        return False
    if os.path.dirname(one.directory) != os.path.dirname(other.directory) and one.directory != os.path.dirname(other.directory):
        return False
    return {*one.ranks} <= _world(other) and {*other.ranks} <= _world(one) and abs(_newest(one) - _newest(other)) <= NEAR


def _world(dumps: RankDumps) -> set[int]:
    return {rank for recording in dumps.recordings for config in recording.config.values() for rank in config.ranks}


def _newest(dumps: RankDumps) -> int:
    return max((recording.newest for recording in dumps.recordings), default=0)


def _merged(one: RankDumps, other: RankDumps) -> RankDumps:
    return msgspec.structs.replace(
        one,
        directory=os.path.dirname(one.directory) if os.path.dirname(one.directory) == os.path.dirname(other.directory) else one.directory,
        prefix=one.prefix if one.prefix == other.prefix else "",
        recordings=tuple(sorted((*one.recordings, *other.recordings), key=lambda recording: recording.rank)),
        unreadable=(*one.unreadable, *other.unreadable),
        lost=tuple(sorted({*one.lost, *other.lost})),
        written=max(one.written, other.written),
    )


def _with_problems(groups: list[RankDumps], problems: Sequence[Problem], world: int | None) -> tuple[RankDumps, ...]:
    """Each problem of finding files goes to the group whose folder it is of, to the only group, or to a group of its own."""
    for problem in problems:
        directory = os.path.dirname(problem.file) or "."
        index = 0 if len(groups) == 1 else next((i for i, group in enumerate(groups) if group.directory == directory), None)
        if index is None:
            groups.append(RankDumps(directory=directory, unreadable=(problem,), world=world))
        else:
            groups[index] = msgspec.structs.replace(groups[index], unreadable=(*groups[index].unreadable, problem))
    return tuple(groups)
