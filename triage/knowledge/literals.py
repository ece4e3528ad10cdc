"""Finds texts of which every match of a pattern must contain one, so that most lines are ruled out without trying the pattern."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from re import _constants, _parser  # type: ignore[attr-defined]  # the parser of `re`: the standard library has no other name for it
from typing import Any, NamedTuple

MOST = 24  # texts for one pattern: as many as the cases that a class or alternatives may stand for
LONGEST = 32  # bytes of a text: more of it rules out nothing more
SHORTEST = 2  # bytes: a single one is in most lines

Texts = frozenset[bytes]


class Required(NamedTuple):
    """Texts of which each match has one, and the length in bytes of the shortest match."""

    texts: Texts
    shortest: int


def literals(expression: bytes) -> Texts:
    """Texts in small letters of which each match has one, whatever its case; none where the pattern gives no text of two bytes.

    Of several such sets it is the one whose shortest text is longest, as the rarest. Raises re.error for what is no regex.

    >>> sorted(literals(rb"NVRM: Xid .{0,80}(?:out of|no more) memory"))
    [b'no more memory', b'out of memory']
    >>> literals(rb"\\d+")
    frozenset()
    """
    return literals_and_width(expression).texts


def literals_and_width(expression: bytes) -> Required:
    """The same, with the length in bytes of the shortest match."""
    parsed = _parser.parse(expression)
    best = _best(_sets(parsed))
    return Required(frozenset() if best is None or min(map(len, best)) < SHORTEST else best, parsed.getwidth()[0])


def _best(sets: Iterable[Texts]) -> Texts | None:
    """The set that rules out most."""
    return max((one for one in sets if one and b"" not in one), key=lambda one: (min(map(len, one)), -len(one)), default=None)


def _sets(parsed: Any) -> list[Texts]:
    """Sets of which each by itself must have a text in every match of a sequence."""
    found: list[Texts] = []
    run: Texts = frozenset((b"",))
    for operation, value in parsed:
        exact = _exact(operation, value)
        if exact is not None and len(run) * len(exact) <= MOST and max(map(len, run)) < LONGEST:
            run = frozenset(head + tail for head, tail in product(run, exact))
            continue
        found += [run, *_inside(operation, value)]
        run = exact if exact is not None else frozenset((b"",))
    return [*found, run]


def _exact(operation: Any, value: Any) -> Texts | None:
    """All texts that one item matches, in small letters; None where they are too many to list."""
    if operation is _constants.LITERAL:
        return frozenset((bytes((value,)).lower(),))
    if operation in (_constants.AT, _constants.ASSERT, _constants.ASSERT_NOT):
        return frozenset((b"",))
    if operation is _constants.IN and len(value) <= MOST and all(kind is _constants.LITERAL for kind, _ in value):
        return frozenset(bytes((one,)).lower() for _, one in value)
    if operation is _constants.SUBPATTERN:
        return _exact_sequence(value[3])
    if operation is _constants.BRANCH:
        each = [_exact_sequence(branch) for branch in value[1]]
        together: Texts = frozenset().union(*(one for one in each if one is not None))
        return together if None not in each and len(together) <= MOST else None
    if operation is _constants.MAX_REPEAT and value[:2] == (0, 1):
        once = _exact_sequence(value[2])
        return None if once is None or len(once) >= MOST else once | {b""}
    return None


def _exact_sequence(parsed: Any) -> Texts | None:
    texts: Texts = frozenset((b"",))
    for operation, value in parsed:
        exact = _exact(operation, value)
        if exact is None or len(texts) * len(exact) > MOST:
            return None
        texts = frozenset(head + tail for head, tail in product(texts, exact))
    return texts


def _inside(operation: Any, value: Any) -> list[Texts]:
    """What must be in every match of one item that may match too much to list."""
    if operation is _constants.SUBPATTERN:
        return _sets(value[3])
    if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT) and value[0] > 0:
        return _sets(value[2])
    if operation is _constants.ATOMIC_GROUP:
        return _sets(value)
    if operation is _constants.BRANCH:
        each = [_best(_sets(branch)) for branch in value[1]]
        return [] if None in each else [frozenset().union(*(one for one in each if one is not None))]
    return []
