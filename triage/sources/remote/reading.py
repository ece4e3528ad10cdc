"""Reads one object elsewhere as a stream: ahead of whoever works on it, and on from the byte where a connection broke."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Lock, Semaphore, Thread
from typing import TypeVar

from triage.sources.remote.objects import FIRST_BLOCK, CutError, Object, RemoteError

T = TypeVar("T")
AHEAD = 4  # chunks that are fetched before they are asked for
TRIES = 5  # connections in a row that give not a single byte
FIRST_PAUSE = 0.2  # seconds before the second of them; each further pause is twice as long
HEADS_KEPT = 512  # first blocks: what a log is and which log it is are asked before it is read

_heads: dict[Object, bytes] = {}  # by the object as it was found: found again, it may be another one
_heads_lock = Lock()


class RemoteFile:
    """An object as a raw stream. Holds the chunk in hand and at most AHEAD others; nothing is fetched before the first block is used up."""

    def __init__(self, of: Object) -> None:
        self._of = of
        self._left = memoryview(b"")
        self._begun = self._ends = False
        self._ahead: _Ahead | None = None

    def readinto(self, view: memoryview, /) -> int:
        """Fill `view` from its start; 0 at the end. Raises RemoteError where the object cannot be read any further."""
        if not self._left:
            self._left = memoryview(self._next())
        size = min(len(view), len(self._left))
        view[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        """Let go of the connection."""
        if self._ahead is not None:
            self._ahead.stop()

    def _next(self) -> bytes:
        if not self._begun:
            self._begun = self._ends = True  # also where this raises: then there is no more to come
            first = first_block(self._of)
            self._ends = len(first) < FIRST_BLOCK or len(first) == self._of.size
            return first
        if self._ends:
            return b""
        if self._ahead is None:
            self._ahead = _Ahead(self._of, FIRST_BLOCK)
        return self._ahead.next()


class _Ahead:
    """A thread that fetches chunks before they are needed."""

    def __init__(self, of: Object, start: int) -> None:
        self._parts: SimpleQueue[bytes | RemoteError] = SimpleQueue()
        self._room = Semaphore(AHEAD)
        self._wanted = True
        self._ended = False
        Thread(target=self._fetch, args=(of, start), daemon=True).start()

    def next(self) -> bytes:
        """The next chunk, empty at the end. Raises RemoteError."""
        if self._ended:
            return b""
        part = self._parts.get()
        self._room.release()
        self._ended = not isinstance(part, bytes) or not part
        if isinstance(part, RemoteError):
            raise part
        return part

    def stop(self) -> None:
        self._wanted = False
        self._room.release()

    def _fetch(self, of: Object, start: int) -> None:
        last: bytes | RemoteError = b""
        try:
            for chunk in whole(of, start):
                self._room.acquire()
                if not self._wanted:
                    return
                self._parts.put(chunk)
        except RemoteError as error:
            last = error
        except Exception as error:  # whatever a library raises must not leave the reader waiting
            last = RemoteError(f"cannot be read any further: {type(error).__name__}")
        self._parts.put(last)


def first_block(of: Object) -> bytes:
    """The first FIRST_BLOCK bytes of an object, or all of a smaller one. Raises RemoteError."""
    with _heads_lock:
        if (known := _heads.get(of)) is not None:
            return known
    first = b"".join(whole(of, 0, FIRST_BLOCK))
    with _heads_lock:
        if len(_heads) >= HEADS_KEPT:
            del _heads[next(iter(_heads))]
        _heads[of] = first
    return first


def patiently(ask: Callable[[], T]) -> T:
    """The answer to a question that may be asked again where the connection breaks. Raises RemoteError."""
    tried = 0
    while True:
        try:
            return ask()
        except CutError as error:
            tried = _again(tried, 0, error)


def whole(of: Object, start: int, stop: int | None = None) -> Iterator[bytes]:
    """All bytes of an object from `start` to `stop`, over as many connections as that takes. Raises RemoteError."""
    tried = 0
    while True:
        try:
            for chunk in of.chunks(start, stop):
                start, tried = start + len(chunk), 0
                yield chunk
            if of.size is None or start >= of.size or (stop is not None and start >= stop):
                return
            raise CutError("the connection ended early")
        except CutError as error:
            tried = _again(tried, start, error)


def _again(tried: int, at: int, error: CutError) -> int:
    """Wait before the next try, and count it. Raises RemoteError where that was the last one."""
    if tried + 1 >= TRIES:
        raise RemoteError(f"{error}{f' at byte {at:,}' if at else ''}, {TRIES} times in a row") from error
    time.sleep(FIRST_PAUSE * 2**tried)
    return tried + 1
