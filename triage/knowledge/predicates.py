"""Small conditions on what an engine booted with: `graphs.mixed == FULL`, `nccl < 2.28.3 and tensor_parallel_size > 1`.

>>> holds(parsed("nccl < 2.28.3"), {"nccl": "2.28.9"}.get)
False
>>> holds(parsed("nccl < 2.28.3"), {}.get) is None
True
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import msgspec

MOST_TERMS = 16
_TERM = re.compile(r"\s*(?P<name>[A-Za-z_][\w.-]*)\s*(?P<op>==|!=|<=|>=|<|>)\s*(?P<value>'[^']*'|\"[^\"]*\"|[^\s'\"]+)\s*")
_VERSION = re.compile(r"v?(?P<numbers>\d+(?:\.\d+)+)(?P<rest>.*)")
_OPS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
# Names whose values are versions even where they look like a number.
VERSIONED = frozenset({"nccl", "torch", "cuda", "driver", "flashinfer", "engine", "version", "vllm", "sglang", "tensorrt_llm"})
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")

Lookup = Callable[[str], str | None]


class PredicateError(ValueError):
    """A condition that cannot be read; says what one looks like."""


class Term(msgspec.Struct, frozen=True):
    """One comparison: `name` with a value as it was written."""

    name: str
    op: str
    value: str

    def __str__(self) -> str:
        return f"{self.name} {self.op} {self.value}"


def parsed(text: str) -> tuple[Term, ...]:
    """The comparisons of a condition, all of which must hold. Raises PredicateError."""
    parts = re.split(r"\s+and\s+", text.strip())
    found = [_TERM.fullmatch(part) for part in parts]
    if not text.strip() or len(parts) > MOST_TERMS or None in found:
        raise PredicateError(f"{text!r} is no condition: write NAME OP VALUE, such as `graphs.mixed == FULL` or `nccl < 2.28.3`, joined by `and`")
    return tuple(Term(f["name"], f["op"], f["value"].strip("'\"")) for f in found if f is not None)


def holds(terms: tuple[Term, ...], lookup: Lookup) -> bool | None:
    """Whether all of them hold; None where one that is not known would decide it."""
    answers = [term_holds(term, lookup(term.name)) for term in terms]
    return False if False in answers else None if None in answers else True


def term_holds(term: Term, seen: str | None) -> bool | None:
    """Whether one holds of the value that was seen; None where none was, or where the two cannot be put in an order."""
    if seen is None:
        return None
    if term.name.rpartition(".")[2].removesuffix("_version") in VERSIONED:
        return _by_numbers(term.op, seen, term.value)
    one, other = _plain(seen), _plain(term.value)
    if term.op in ("==", "!="):
        return _OPS[term.op](one, other)
    if type(one) is not type(other) or isinstance(one, str):
        return _by_numbers(term.op, seen, term.value)
    return _OPS[term.op](one, other)


def version_before(one: str, other: str) -> bool | None:
    """Whether version `one` is older than `other`, by their numbers; None where one of them has none."""
    return term_holds(Term("version", "<", other), one)


def _by_numbers(op: str, one: str, other: str) -> bool | None:
    """Two versions by their numbers, of which 2.10 is the later one of 2.9; None where one has none."""
    first, second = _numbers(one), _numbers(other)
    return None if first is None or second is None else _OPS[op](*_padded(first, second))


def _plain(text: str) -> object:
    """A value as it is compared: true and 1 are the same, 0.9 and 0.90 too, a version is its numbers, any other text its small letters."""
    word = text.strip().strip("'\"").casefold()
    if word in _TRUE or word in _FALSE:
        return float(word in _TRUE)
    numbers = _VERSION.fullmatch(word)
    if numbers and numbers["numbers"].count(".") > 1:
        return _trimmed([int(part) for part in numbers["numbers"].split(".")])
    try:
        return float(word)
    except ValueError:
        return word


def _numbers(text: str) -> list[int] | None:
    found = re.match(r"\s*v?(\d+(?:\.\d+)*)", text)
    return [int(part) for part in found[1].split(".")] if found else None


def _padded(one: list[int], other: list[int]) -> tuple[list[int], list[int]]:
    pairs = list(zip_longest(one, other, fillvalue=0))
    return [a for a, _ in pairs], [b for _, b in pairs]


def _trimmed(numbers: list[int]) -> tuple[int, ...]:
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return tuple(numbers)
