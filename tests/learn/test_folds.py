"""What is asked about came later and on another host than what was learnt from, and an episode is never parted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.learn.made_examples import HOUR, T0, labelled
from triage.learn.examples import Example, episodes, support
from triage.learn.folds import LEAST, folds

MOMENTS = st.lists(st.tuples(st.integers(0, 400), st.sampled_from(["a", "b", "c", "d"])), min_size=1, max_size=120)


def incidents(moments: list[tuple[int, str]]) -> list[Example]:
    return [Example(id=str(i), label="x", lines=(), host=host, at=T0 + 600.0 * at) for i, (at, host) in enumerate(moments)]


@given(MOMENTS)
def test_folds_look_only_forward_and_at_other_hosts(moments: list[tuple[int, str]]) -> None:
    listed = incidents(moments)
    numbers = episodes(listed)
    several = len({e.host for e in listed}) > 1
    for fold in folds(listed):
        assert len(fold.learnt) >= LEAST
        assert not {numbers[i] for i in fold.learnt} & {numbers[i] for i in fold.asked}
        assert not several or not {listed[i].host for i in fold.learnt} & {listed[i].host for i in fold.asked}


@given(MOMENTS)
def test_no_episode_that_is_learnt_begins_after_one_that_is_asked_about(moments: list[tuple[int, str]]) -> None:
    listed = incidents(moments)
    numbers = episodes(listed)
    began: dict[int, float] = {}
    for number, e in zip(numbers, listed, strict=True):
        began[number] = min(e.at, began.get(number, e.at))
    for fold in folds(listed):
        assert max(began[numbers[i]] for i in fold.learnt) <= min(began[numbers[i]] for i in fold.asked)


def test_a_crash_loop_is_one_episode_and_teaches_once() -> None:
    loop = [Example(id=str(i), label="x", lines=(), host="a", at=T0 + 300.0 * i) for i in range(30)]
    later = Example(id="later", label="x", lines=(), host="a", at=T0 + 30 * HOUR)
    assert support([*loop, later]) == {"x": (31, 2)}


def test_incidents_of_one_boot_are_one_episode_however_far_apart() -> None:
    pair = [Example(id=str(i), label="x", lines=(), host="a", boot="b1", at=T0 + 50 * HOUR * i) for i in range(2)]
    assert len(set(episodes(pair))) == 1


def test_folds_of_a_history_cover_what_is_not_first() -> None:
    listed = labelled(120)
    asked = sorted(i for fold in folds(listed) for i in fold.asked)
    assert asked == list(range(asked[0], 120))
    assert 30 <= asked[0] <= 60
