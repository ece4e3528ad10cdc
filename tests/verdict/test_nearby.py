"""Events around a moment are those that asking each of them gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.model import Event, Instant, Place
from triage.verdict.nearby import Nearby

times = st.one_of(st.none(), st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda pair: Instant(pair[0], pair[0] + pair[1], "computed")))
events = st.builds(lambda at: Event(kind="trouble", rule="trouble/level", place=Place("a", "a", 0), text="", at=at), times)


@given(st.lists(events, max_size=12), st.integers(0, 70), st.integers(0, 20))
def test_it_agrees_with_asking_each(known: list[Event], low: int, length: int) -> None:
    found = Nearby(known).within(low, low + length)
    asked = [event for event in known if event.at and event.at.earliest <= low + length and event.at.latest >= low]
    assert found == sorted(asked, key=lambda event: event.at.earliest if event.at else 0)
