"""What explains what is found by time and by rule, and is what asking each pair gives."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.schema import Signature
from triage.model import Event, Instant, Kind, Place
from triage.verdict.explaining import Candidate, explains, unexplained

times = st.one_of(st.none(), st.tuples(st.integers(0, 300), st.integers(0, 80)).map(lambda pair: Instant(pair[0], pair[0] + pair[1], "computed")))


def signature(rule: str, *explained: str, sources: tuple[Kind, ...] = ("engine",), generic: bool = False) -> Signature:
    texts = {"pattern": "x", "summary": "", "safety": "", "samples": ("x",), "near_misses": ("y",)}
    return Signature(id=rule, role="root", sources=sources, explains=explained, generic=generic, **texts)  # type: ignore[arg-type]


SIGNATURES = (
    signature("oom/a"), signature("sticky/a", "*", "cublas/a"), signature("cublas/a"), signature("xid/a", "*", "oom", sources=("kernel",)),
    signature("crash/a", "oom/a", sources=("kernel",)), signature("exception/a", generic=True),
)  # fmt: skip


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    rule, order = draw(st.sampled_from(SIGNATURES)), draw(st.integers(0, 6))
    source = draw(st.sampled_from("ab"))
    event = Event(
        kind="signature", rule=rule.id, place=Place(source, source, order), text="", at=draw(times), order=order, role="root",
        fault=rule.id.partition("/")[0], rank=draw(st.sampled_from([None, 0, 1])),
    )  # fmt: skip
    return Candidate(event, rule, fault=True)


@given(st.lists(candidates(), max_size=10))
def test_it_agrees_with_asking_each_pair(known: list[Candidate]) -> None:
    explained = [any(explains(other, one) for other in known if other is not one) for one in known]
    lines = {one.event.line for one, is_explained in zip(known, explained, strict=True) if is_explained}
    left = [c for c, is_explained in zip(known, explained, strict=True) if not is_explained and not (c.signature.generic and c.event.line in lines)]
    assert list(map(id, unexplained(known))) == list(map(id, left))
