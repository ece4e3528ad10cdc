"""Who holds up whom: roots that wait nowhere, that went past an operation, that are as many as those who wait for them."""

from __future__ import annotations

from collections.abc import Iterable

from triage.verdict.dumps.blame import Root, blame
from triage.verdict.dumps.records import Wait


def wait(rank: int, group: str, absent: Iterable[int] = (), *, at: int = 1, unseen: Iterable[int] = ()) -> Wait:
    return Wait(
        rank=rank, group=group, what="", sequence=1, created=at, absent=frozenset(absent), unseen=frozenset(unseen), sibling=(group, "", 1)
    )


def roots(*waits: Wait) -> dict[int, Root]:
    return dict(blame(waits, ()).roots)


def test_a_rank_that_waits_nowhere_is_a_root_and_its_victims_are_not() -> None:
    found = roots(wait(0, "a", [1]), wait(1, "b", [2]))
    assert set(found) == {2}
    assert not found[2].waits


def test_more_must_wait_than_are_absent() -> None:
    assert roots(wait(0, "a", [2]), wait(1, "a", [2]))[2].most_wait
    even = roots(wait(0, "a", [1]))[1]
    assert (even.most_wait, even.outnumbered) == (False, False)
    few = roots(wait(0, "a", [1, 2]))
    assert [root.outnumbered for root in few.values()] == [True, True]


def test_another_group_in_which_more_wait_makes_up_for_one_in_which_few_do() -> None:
    found = roots(wait(0, "a", [2, 3]), wait(1, "b", [2]), wait(4, "b", [2]))
    assert not found[2].outnumbered
    assert found[3].outnumbered


def test_a_peer_in_the_same_step_that_went_on_shows_that_the_step_holds_nobody() -> None:
    found = roots(wait(0, "a", [9], at=1), wait(1, "a", [9], at=1), wait(1, "b", [0], at=5))
    assert set(found) == {0, 9}
    assert found[0].waits


def test_whoever_waits_where_everybody_has_come_is_excused() -> None:
    assert roots(wait(0, "a", at=1), wait(1, "a", at=1), wait(1, "b", [0], at=5)) == {}


def test_whoever_waits_in_several_steps_needs_a_peer_that_stands_in_all_of_them() -> None:
    own = [wait(0, "a", [9]), wait(0, "c", [9])]
    assert set(roots(*own, wait(1, "a", [9]), wait(1, "b", [0], at=5))) == {9}
    assert set(roots(*own, wait(1, "a", [9]), wait(1, "c", [9]), wait(1, "b", [0], at=5))) == {0, 9}


def test_whoever_stands_past_an_operation_that_most_entered_before_went_past_it() -> None:
    others = [w for rank in (1, 2) for w in (wait(rank, "a", [0], at=1), wait(rank, "b", unseen=[7], at=2))]
    passed = roots(wait(0, "b", unseen=[7]), *others)[0].passed
    assert passed is not None
    assert passed.group == "b"


def test_as_many_that_went_past_it_may_be_right() -> None:
    assert roots(wait(0, "b", unseen=[7]), wait(1, "a", [0], at=1), wait(1, "b", unseen=[7], at=2)) == {}


def test_hundreds_of_groups_with_a_culprit_each() -> None:
    waits = [wait(2 * pair, f"pair {pair}", [2 * pair + 1]) for pair in range(600)]
    everyone = [wait(2 * pair, "all", [2 * other + 1 for other in range(600)]) for pair in range(600)]
    found = roots(*waits, *everyone)
    assert set(found) == {2 * pair + 1 for pair in range(600)}
    assert not any(root.outnumbered or root.most_wait for root in found.values())
