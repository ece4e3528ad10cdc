"""Two operations that everybody has entered and nobody can finish: fewer ranks entered them the other way round."""

from __future__ import annotations

from collections.abc import Iterable

from triage.verdict.dumps.order import turned
from triage.verdict.dumps.records import Wait


def waits(of: Iterable[tuple[int, str, int]], absent: Iterable[int] = ()) -> list[Wait]:
    return [
        Wait(rank=r, group=g, what="", sequence=1, created=at, absent=frozenset(absent), unseen=frozenset(), sibling=(g, "", 1)) for r, g, at in of
    ]


def test_the_few_are_named_with_what_they_entered_first() -> None:
    (one,) = turned(waits([(0, "a", 1), (0, "b", 2), (1, "a", 1), (1, "b", 2), (2, "b", 1), (2, "a", 2)]))
    assert (one.rank, one.first.group, one.then.group, one.others) == (2, "b", "a", (0, 1))


def test_as_many_on_either_side_name_nobody() -> None:
    assert not list(turned(waits([(0, "a", 1), (0, "b", 2), (1, "b", 1), (1, "a", 2)])))


def test_operations_that_some_have_not_entered_say_nothing_of_order() -> None:
    assert not list(turned(waits([(0, "a", 1), (0, "b", 2), (1, "a", 1), (1, "b", 2), (2, "b", 1), (2, "a", 2)], absent=[7])))


def test_enqueued_at_one_time_is_no_order() -> None:
    assert not list(turned(waits([(0, "a", 1), (0, "b", 2), (1, "a", 1), (1, "b", 2), (2, "b", 1), (2, "a", 1)])))
