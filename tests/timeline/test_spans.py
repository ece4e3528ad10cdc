"""Stretches of time are found by the hours they lie in, and the answer is that of asking each of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.timeline.spans import HOUR, WIDEST, Spans

moments = st.floats(-100 * HOUR, 100 * HOUR)
stretches = st.tuples(moments, st.floats(0, 2 * WIDEST * HOUR)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(stretches, max_size=20), stretches)
def test_found_are_those_that_have_a_moment_in_between(put: list[tuple[float, float]], asked: tuple[float, float]) -> None:
    spans = Spans()
    for number, (low, high) in enumerate(put):
        spans.put(number, low, high)
    low, high = asked
    assert spans.reaching(low, high) == [number for number, (start, end) in enumerate(put) if start <= high and end >= low]


@given(stretches, stretches, stretches)
def test_what_is_put_again_stands_where_it_was_put_last(first: tuple[float, float], then: tuple[float, float], asked: tuple[float, float]) -> None:
    spans = Spans()
    spans.put(0, *first)
    spans.put(0, *then)
    assert spans.reaching(*asked) == ([0] if then[0] <= asked[1] and then[1] >= asked[0] else [])
