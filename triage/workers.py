"""Reads sources one after the other, or several at once, each in a process of its own: what they give is the same, in the same order."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol

from triage.knowledge.table import RuleTable
from triage.model import Kind
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.sources.find import Source
from triage.sources.paths import is_regular, path_of

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.sharedctypes import Synchronized

WORTH_BYTES = 24 << 20  # of logs; for less, one process is done before others have begun
WORTH_FILES = 400
FILE_COSTS = 1 << 16  # bytes that are read in the time that opening a file takes
BATCHES_EACH = 8  # batches a process gets, so that none is left with all the rest at the end
LOOK_EVERY = 0.1  # seconds

Task = tuple[int, Source, Kind]


class Progress(Protocol):
    """Somebody who wants to know how far it is, in bytes of the files as they lie on disk."""

    def begin(self, total: int) -> None: ...

    def advance(self, size: int) -> None: ...


class Batch(NamedTuple):
    """Sources for one process to read in one go, with their places among all."""

    tasks: tuple[Task, ...]
    cost: int


class _Shared(NamedTuple):
    """What the processes have in common: rules, options, how many bytes they have read, all of them, and whether they shall stop."""

    table: RuleTable
    options: Options
    read: Synchronized[int]
    stop: Synchronized[int]


class _StoppedError(Exception):
    """Nobody waits for what this process reads."""


_shared: list[_Shared] = []


def read_all(
    sources: Sequence[tuple[Source, Kind]], table: RuleTable, options: Options, *, jobs: int = 0, progress: Progress | None = None
) -> list[Reading]:
    """What each source gave, in their order. `jobs`: how many processes may read at once; 0 for as many as there are processors to use."""
    told = None if progress is None else progress.advance
    if progress is not None:
        progress.begin(sum(_size(file) for source, _ in sources for file in source.files))
    tasks = [(number, source, kind) for number, (source, kind) in enumerate(sources)]
    most = min(jobs or _processors(), len(tasks))
    shared = [task for task in tasks if most > 1 and _may_be_shared(task[1])]
    if most < 2 or not hasattr(os, "fork") or not _is_worth_it(shared):
        shared = []
    done: dict[int, Reading] = {}
    if shared:
        done = dict(_read_at_once(_batches(shared, most), table, options, most, told))
    for number, source, kind in tasks:
        if number not in done:
            done[number] = read_source(source, kind, table, options, told)
    return [done[number] for number, _, _ in tasks]


def _processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _may_be_shared(source: Source) -> bool:
    """Whether all of it can be opened by another process: a pipe's bytes come once."""
    return all(is_regular(file) for file in source.files)


def _is_worth_it(tasks: Sequence[Task]) -> bool:
    files = sum(len(source.files) for _, source, _ in tasks)
    return len(tasks) > 1 and (files >= WORTH_FILES or sum(map(_cost, tasks)) - files * FILE_COSTS >= WORTH_BYTES)


def _cost(task: Task) -> int:
    """About how long it takes to read a source, as the number of bytes that are read in that time."""
    return sum(_size(file) + FILE_COSTS for file in task[1].files)


def _size(file: str) -> int:
    """The size of a file on disk; 0 for what has none."""
    try:
        return os.path.getsize(path_of(file)) if is_regular(file) else 0
    except OSError:
        return 0


def _batches(tasks: Sequence[Task], jobs: int) -> list[Batch]:
    """The tasks in batches of about the same cost, the dearest first, so that the processes end together."""
    costs = sorted(((_cost(task), task) for task in tasks), key=lambda one: (-one[0], one[1][0]))
    most = max(sum(cost for cost, _ in costs) // (jobs * BATCHES_EACH), 1)
    batches: list[Batch] = []
    for cost, task in costs:
        if batches and batches[-1].cost + cost <= most:
            batches[-1] = Batch((*batches[-1].tasks, task), batches[-1].cost + cost)
        else:
            batches.append(Batch((task,), cost))
    return batches


def _read_at_once(
    batches: Sequence[Batch], table: RuleTable, options: Options, jobs: int, told: Callable[[int], None] | None
) -> Iterator[tuple[int, Reading]]:
    """The readings with their places, as they are done. Where a process is killed, the sources that it had are left to who asks."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    table.ready()
    fork = multiprocessing.get_context("fork")
    shared = _Shared(table, options, fork.Value("Q", 0), fork.Value("Q", 0))
    _shared[:] = [shared]
    pool = ProcessPoolExecutor(jobs, fork, initializer=_begin)
    try:
        with _uninterrupted():
            waiting = {pool.submit(_read, batch.tasks): batch for batch in batches}
        yield from _done(waiting, shared, told)
    finally:
        # They end by themselves at the next piece: one that is killed while it answers leaves half an answer to wait for.
        shared.stop.get_obj().value = 1
        pool.shutdown(cancel_futures=True)
        _shared.clear()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C is heard at the end: between the fork of a process and the note of it, the pool would wait for it for ever."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _done(waiting: dict[Future[bytes], Batch], shared: _Shared, told: Callable[[int], None] | None) -> Iterator[tuple[int, Reading]]:
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
                readings = unpacked(one.result(), shared.table)
            except BrokenProcessPool:
                continue
            yield from zip((number for number, _, _ in batch.tasks), readings, strict=True)


def _begin() -> None:
    """A process begins: Ctrl-C, which all of a terminal's processes get, is for the one that asked to hear; with its end this one ends, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    """Whoever is killed cannot tell its processes; they would wait for work for ever."""
    from multiprocessing import connection, parent_process

    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _read(tasks: tuple[Task, ...]) -> bytes:
    from triage.parsers.sending import packed

    shared = _shared[0]

    def told(size: int) -> None:
        with shared.read.get_lock():
            shared.read.value += size
        if shared.stop.get_obj().value:
            raise _StoppedError

    return packed([read_source(source, kind, shared.table, shared.options, told) for _, source, kind in tasks])
