"""An iterator drawn one item ahead gives what it gives without that, and nobody is left waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.sources.ahead import one_ahead
from triage.sources.clock import Clock
from triage.sources.find import Source
from triage.sources.pieces import WORTH_A_THREAD, Piece, pieces


def counted(upto: int, drawn: list[int], error: BaseException | None = None) -> Iterator[int]:
    for number in range(upto):
        drawn.append(number)
        yield number
    if error is not None:
        raise error


@pytest.mark.parametrize("upto", [0, 1, 2, 50])
def test_all_items_come_in_order(upto: int) -> None:
    assert list(one_ahead(counted(upto, []))) == list(range(upto))


@pytest.mark.parametrize("error", [MemoryError, ValueError, KeyboardInterrupt])
def test_what_drawing_raises_is_raised_where_the_item_would_have_come(error: type[BaseException]) -> None:
    taken = []
    with pytest.raises(error):
        for item in one_ahead(counted(3, [], error())):
            taken.append(item)  # noqa: PERF402 - what was taken before the error counts
    assert taken == [0, 1, 2]


def test_no_more_than_two_lie_ready_and_the_thread_ends_with_whoever_asked() -> None:
    drawn: list[int] = []
    before = threading.active_count()
    items = one_ahead(counted(1000, drawn))
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    assert len(drawn) <= 4
    assert threading.active_count() == before


def test_a_generator_that_nobody_draws_from_any_more_is_closed() -> None:
    closed = []

    def opened() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    items = one_ahead(opened())
    next(items)
    items.close()  # type: ignore[attr-defined]
    assert closed == [True]


def test_without_threads_everything_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refused)
    assert list(one_ahead(counted(9, []))) == list(range(9))


@pytest.mark.parametrize(("size", "ahead"), [(1000, False), (WORTH_A_THREAD + 1000, True)])
def test_a_big_file_is_looked_at_in_another_thread_and_a_small_one_is_not(size: int, ahead: bool, tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes((b"x" * 99 + b"\n") * (size // 100))
    seen: list[tuple[Piece, threading.Thread]] = []
    given = list(pieces(Source(str(file), (str(file),)), Clock(), look=lambda piece: seen.append((piece, threading.current_thread()))))
    assert [piece for piece, _ in seen] == (given if ahead else [])
    assert threading.current_thread() not in {thread for _, thread in seen}
