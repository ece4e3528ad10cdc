"""An expression that is compiled on first use is the same as one that is compiled at once, and each of ours is one."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.test_layers import MODULES, name_of
from triage.expressions import _Later, compiled_later


def later_ones() -> Iterator[tuple[str, re.Pattern[str]]]:
    for path in MODULES:
        if "compiled_later(" in path.read_text(encoding="utf-8") and name_of(path) != "expressions":
            module = import_module(f"triage.{name_of(path)}")
            yield from ((f"{name_of(path)}.{name}", value) for name, value in vars(module).items() if isinstance(value, _Later))


LATER = dict(later_ones())


@pytest.mark.parametrize("name", LATER)
def test_each_of_ours_can_be_compiled(name: str) -> None:
    assert re.compile(LATER[name].pattern, LATER[name].flags).groups == LATER[name].groups


def test_there_are_some() -> None:
    assert len(LATER) > 50


def test_nothing_is_compiled_before_it_is_used() -> None:
    wrong = compiled_later("(")
    with pytest.raises(re.error):
        wrong.search("x")


def test_it_answers_like_one_that_is_compiled_at_once() -> None:
    now, later = re.compile("A(?P<n>x+)", re.IGNORECASE), compiled_later("A(?P<n>x+)", re.IGNORECASE)
    for _ in range(2):
        assert [m.span() for m in later.finditer("axx ax b")] == [m.span() for m in now.finditer("axx ax b")]
        assert later.sub(r"<\g<n>>", "axx b") == now.sub(r"<\g<n>>", "axx b") == "<xx> b"
        assert (later.pattern, later.flags, later.groupindex) == (now.pattern, now.flags, now.groupindex)


def test_it_can_be_copied() -> None:
    assert copy.copy(compiled_later(b"x+")).fullmatch(b"xx")


def test_what_no_expression_has_is_no_attribute() -> None:
    assert not hasattr(compiled_later("x"), "nothing")
