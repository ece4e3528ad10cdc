"""What comes after an event, asked of many at once, is what comes after it when each is asked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.model import Event, Instant, Place
from triage.verdict.later import NEVER, Later, is_later

times = st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(0, 3)).map(lambda pair: Instant(pair[0], pair[0] + pair[1], "computed")))
events = st.builds(
    lambda source, order, at: Event(kind="progress", rule="vllm/progress-stats", place=Place(source, source, order), text="", at=at, order=order),
    st.sampled_from("ab"),
    st.integers(0, 20),
    times,
)


@given(st.lists(events, max_size=12), events)
def test_it_agrees_with_asking_each(known: list[Event], event: Event) -> None:
    after = [other for other in known if is_later(other, event)]
    later = Later(known)
    assert later.follow(event) == bool(after)
    assert later.latest(event) == max((other.at.earliest for other in after if other.at), default=NEVER)
    assert later.in_source(event) == sum(other.place.source == event.place.source for other in after)
