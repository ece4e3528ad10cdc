"""Draws from an iterator one item ahead of who uses the items, in a thread: reading and scanning let go of the interpreter."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
AHEAD = 1


class _Drawer(Generic[T]):
    """The thread's side: what is drawn, and how much of it may lie ready."""

    def __init__(self, items: Iterator[T]) -> None:
        self.items = items
        self.drawn: SimpleQueue[T | BaseException | None] = SimpleQueue()
        self.room = Semaphore(AHEAD)
        self.wanted = True

    def run(self) -> None:
        """Draws until the end, or until nobody wants more. The last thing that lies ready is None or what went wrong."""
        last: BaseException | None = None
        try:
            for item in self.items:
                self.drawn.put(item)
                self.room.acquire()
                if not self.wanted:
                    return
        except BaseException as error:  # it belongs to whoever waits for the item
            last = error
        finally:
            _close(self.items)
            self.drawn.put(last)


def _close(items: Iterator[T]) -> None:
    """Lets a generator end where it stands, with the files that it has open."""
    if isinstance(items, Generator):
        items.close()


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The items in order, each drawn while the one before is worked on. What drawing one raises is raised in its place."""
    drawer = _Drawer(items)
    thread = Thread(target=drawer.run, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no more threads are to be had
        yield from items
        return
    try:
        while (item := drawer.drawn.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            drawer.room.release()
            yield item
    finally:
        drawer.wanted = False
        drawer.room.release()
        thread.join()
