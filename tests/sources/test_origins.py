"""A place in stripped text is a place in the raw bytes: every position of any text maps to where its byte stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.sources.origins import _ESCAPES, STEP, Stripped, stripped

parts = st.sampled_from([b"\x1b[0;36m", b"\x1b[0m", b"\x1b]0;title\x07", b"\n", b"\n\n", b"a", b"word ", b"x" * 40, b"\xc3\xa9", b"\x00"])
texts = st.lists(parts, max_size=60).map(b"".join)


def places(raw: bytes) -> list[int]:
    """Where each byte that is left stands in the raw text."""
    gone = {i for found in _ESCAPES.finditer(raw) for i in range(*found.span())} | {i for i, byte in enumerate(raw) if byte == 0}
    return [i for i in range(len(raw)) if i not in gone]


@given(texts, st.booleans(), st.data())
def test_every_position_maps_to_where_its_byte_stands(raw: bytes, numbered: bool, draw: st.DataObject) -> None:
    raw = raw.replace(b"\x1b]0;title\x07", b"") if b"\x00" in raw else raw  # a zero ends no title, but is taken out of one
    text, where = stripped(raw), places(raw)
    assert bytes(raw[i] for i in where) == text
    origins = Stripped(1000, 5 if numbered else 0, raw)
    for position in draw.draw(st.permutations(range(len(text)))):
        origin = origins.origin(text, position)
        assert origin.offset == 1000 + where[position]
        assert origin.number == (5 + raw.count(b"\n", 0, where[position]) if numbered else 0)


def test_lines_far_apart_are_found_by_counting() -> None:
    raw = b"".join(b"\x1b[31mline %d\x1b[0m\n" % number for number in range(4 * STEP))
    text = stripped(raw)
    origins = Stripped(0, 1, raw)
    for number in (0, 3 * STEP, 17, 4 * STEP - 1, 2 * STEP):
        origin = origins.origin(text, text.index(b"line %d\n" % number))
        assert raw[origin.offset :].startswith(b"line %d\x1b" % number)
        assert origin.number == number + 1


class Watched:
    """An expression that notes what it is asked to look through."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    def finditer(self, raw: bytes, begin: int, end: int) -> Iterator[re.Match[bytes]]:
        self.seen.append(raw[begin:end])
        return _ESCAPES.finditer(raw, begin, end)


def test_to_place_a_line_no_other_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each place in a log whose last escape is far away would cost a look through all that comes before that."""
    raw = b"one\n" + b"\x1b[0mtwo\n" + b"three\n" * 1000 + b"\x1b[0m"
    watched = Watched()
    monkeypatch.setattr("triage.sources.origins._ESCAPES", watched)
    origins = Stripped(0, 1, raw)
    text = b"one\ntwo\n" + b"three\n" * 1000
    assert [origins.origin(text, text.index(word)).offset for word in (b"one", b"two", b"three")] == [0, 8, 12]
    assert watched.seen == [b"one", b"\x1b[0mtwo", b"three"]
