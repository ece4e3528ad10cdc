"""Reads sources one after the other, or several at once, each in a process of its own: what they give is the same, in the same order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Protocol

import msgspec

from triage.knowledge.table import RuleTable
from triage.model import Kind
from triage.parsers.options import Options
from triage.parsers.reading import Reading
from triage.parsers.sorting import Read, read_one
from triage.sources.find import Source
from triage.sources.paths import size_on_disk

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.sharedctypes import Synchronized

WORTH_BYTES = 24 << 20  # of logs; for less, one process is done before others have begun
WORTH_FILES = 400
FILE_COSTS = 1 << 16  # bytes that are read in the time that opening a file takes
BATCHES_EACH = 8  # batches a process gets, so that none is left with all the rest at the end
LOOK_EVERY = 0.1  # seconds


class Task(msgspec.Struct, frozen=True):
    """A source to read, its place among all, its kind where that is known, and the bytes of its files on disk.

    `is_shared`: all of it can be opened by another process; a pipe's bytes come once.
    """

    number: int
    source: Source
    kind: Kind | None
    size: int
    is_shared: bool

    @property
    def cost(self) -> int:
        """About how long it takes to read it, as the number of bytes that are read in that time."""
        return self.size + FILE_COSTS * len(self.source.files)


class Progress(Protocol):
    """Somebody who wants to know how far it is, in bytes of the files as they lie on disk."""

    def begin(self, total: int) -> None: ...

    def advance(self, size: int) -> None: ...


Batch = tuple[Task, ...]  # for one process to read in one go


class _Shared(msgspec.Struct, frozen=True):
    """What the processes have in common: rules, options, how many bytes they have read, all of them, and whether they shall stop."""

    table: RuleTable
    options: Options
    read: Synchronized[int]
    stop: Synchronized[int]


class _StoppedError(Exception):
    """Nobody waits for what this process reads."""


_shared: list[_Shared] = []


def read_all(
    sources: Sequence[tuple[Source, Kind | None]], table: RuleTable, options: Options, *, jobs: int = 0, progress: Progress | None = None
) -> list[Read]:
    """What each source gave, in their order; it is found out what those are that come without a kind.

    `jobs`: how many processes may read at once; 0 for as many as there are processors to use.
    """
    told = None if progress is None else progress.advance
    tasks = [_task(number, source, kind) for number, (source, kind) in enumerate(sources)]
    if progress is not None:
        progress.begin(sum(task.size for task in tasks))
    most = min(jobs or _processors(), len(tasks))
    shared = [task for task in tasks if most > 1 and task.is_shared]
    if most < 2 or not hasattr(os, "fork") or not _is_worth_it(shared):
        shared = []
    done: dict[int, Read] = {}
    if shared:
        done = dict(_read_at_once(_batches(shared, most), table, options, most, told))
    return [done[task.number] if task.number in done else _read_task(task, table, options, told) for task in tasks]


def _task(number: int, source: Source, kind: Kind | None) -> Task:
    sizes = list(map(size_on_disk, source.files))
    return Task(number, source, kind, sum(filter(None, sizes)), None not in sizes)


def _read_task(task: Task, table: RuleTable, options: Options, told: Callable[[int], None] | None) -> Read:
    read = read_one(task.source, task.kind, table, options, told)
    if told is not None and not isinstance(read, Reading):
        told(task.size)  # there is nothing left to read of it
    return read


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _is_worth_it(tasks: Sequence[Task]) -> bool:
    files = sum(len(task.source.files) for task in tasks)
    return len(tasks) > 1 and (files >= WORTH_FILES or sum(task.size for task in tasks) >= WORTH_BYTES)


def _batches(tasks: Sequence[Task], jobs: int) -> list[Batch]:
    """The tasks in batches of about the same cost, the dearest first, so that the processes end together."""
    most = max(sum(task.cost for task in tasks) // (jobs * BATCHES_EACH), 1)
    batches: list[list[Task]] = []
    cost = 0
    for task in sorted(tasks, key=lambda task: (-task.cost, task.number)):
        if batches and cost + task.cost <= most:
            batches[-1].append(task)
            cost += task.cost
        else:
            batches.append([task])
            cost = task.cost
    return [tuple(batch) for batch in batches]


def _read_at_once(
    batches: Sequence[Batch], table: RuleTable, options: Options, jobs: int, told: Callable[[int], None] | None
) -> Iterator[tuple[int, Read]]:
    """What was read with their places, as they are done. Where a process is killed, the sources that it had are left to who asks."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    table.ready()
    fork = multiprocessing.get_context("fork")
    shared = _Shared(table, options, fork.Value("Q", 0), fork.Value("Q", 0))
    _shared[:] = [shared]
    pool = ProcessPoolExecutor(jobs, fork, initializer=_begin)
    try:
        with _uninterrupted():
            waiting = {pool.submit(_read, batch): batch for batch in batches}
        yield from _done(waiting, shared, told)
    finally:
        # They end by themselves at the next piece: one that is killed while it answers leaves half an answer to wait for.
        shared.stop.get_obj().value = 1
        pool.shutdown(cancel_futures=True)
        _shared.clear()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C is heard at the end: between the fork of a process and the note of it, the pool would wait for it for ever."""
    import signal

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _done(waiting: dict[Future[bytes], Batch], shared: _Shared, told: Callable[[int], None] | None) -> Iterator[tuple[int, Read]]:
    from concurrent.futures import FIRST_COMPLETED, wait
    from concurrent.futures.process import BrokenProcessPool

    from triage.parsers.sending import unpacked

    read = 0
    while waiting:
        done, _ = wait(waiting, LOOK_EVERY, FIRST_COMPLETED)
        if told is not None and (now := shared.read.get_obj().value) > read:  # without its lock, which an interrupt could leave closed
            read, before = now, read
            told(read - before)
        for one in done:
            batch = waiting.pop(one)
            try:
                read_there = unpacked(one.result(), shared.table)
            except BrokenProcessPool:
                continue
            yield from zip((task.number for task in batch), read_there, strict=True)


def _begin() -> None:
    """A process begins: Ctrl-C, which all of a terminal's processes get, is for the one that asked to hear; with its end this one ends, too."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Whoever is killed cannot tell its processes; they would wait for work for ever."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _read(batch: Batch) -> bytes:
    from triage.parsers.sending import packed

    shared = _shared[0]

    def told(size: int) -> None:
        with shared.read.get_lock():
            shared.read.value += size
        if shared.stop.get_obj().value:
            raise _StoppedError

    return packed([_read_task(task, shared.table, shared.options, told) for task in batch])
