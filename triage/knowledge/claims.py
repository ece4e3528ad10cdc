"""Asks what all rules together say of one line: do two classes claim it, does an echo take a root's own sample, is a healthy line a fault."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations

from triage.knowledge.flaws import Flaw, quoted
from triage.knowledge.schema import Signature, When
from triage.knowledge.table import Rule, RuleTable

TROUBLE = ("death", "exit", "stop")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)


def claimants(table: RuleTable, text: str) -> list[Rule]:
    """The rules that match a line (without its envelope), as the scanner and the table find them, in the table's order."""
    hits = sorted({index for _, index in table.scanner.scan(f"{text}\n".encode())})
    return [table[index] for index in hits if _is_evidence(table, table[index], text)]


def _is_evidence(table: RuleTable, rule: Rule, text: str) -> bool:
    try:
        return table.evidence(rule, text) is not None
    except TimeoutError:
        return False


def between_roots(table: RuleTable, of: Iterable[Rule]) -> Iterator[tuple[Rule, Flaw]]:
    """Samples of the roots in `of` that do not count as what they are samples of: taken by an echo, or claimed by two classes at once."""
    told: set[frozenset[str]] = set()
    for rule in of:
        if not rule.is_fault:
            continue
        for number, sample in enumerate(rule.definition.samples, 1):
            found = [other for other in claimants(table, sample) if set(other.sources) & set(rule.sources)]
            echo = next((other for other in found if other.is_echo), None)
            if echo is not None:
                yield rule, Flaw(check="claim", what=f"{echo.id} ({echo.role}) matches sample {number}, so it is never a root: {quoted(sample)}")
                continue
            for one, other in combinations([other for other in found if other.is_fault], 2):
                pair = frozenset((one.id, other.id))
                if pair not in told and rule in (one, other) and _are_tied(one, other):
                    told.add(pair)
                    rival = other if rule is one else one
                    what = f"{rival.id} ({rival.fault}) claims sample {number}, too: {quoted(sample)}; make the pattern or `when` keep them apart"
                    yield rule, Flaw(check="claim", what=what)


def _are_tied(one: Rule, other: Rule) -> bool:
    """Whether nothing decides between two roots on one line. A generic one gives way to a specific, a symptom to an exact one."""
    first, second = one.definition, other.definition
    if not isinstance(first, Signature) or not isinstance(second, Signature) or one.fault == other.fault:
        return False
    return (first.generic, first.symptom) == (second.generic, second.symptom) and not are_apart(first.when, second.when)


def are_apart(one: When, other: When) -> bool:
    """Whether two conditions can never hold at once: other phases, before and after one milestone, a frame that the other excludes."""
    if one.phases and other.phases and not set(one.phases) & set(other.phases):
        return True
    return any(_excludes(a, b) for a, b in ((one, other), (other, one)))


def _excludes(one: When, other: When) -> bool:
    if one.before and one.before == other.after:
        return True
    barred = [ending.removesuffix("$") for ending in alternatives(other.no_frame)] if other.no_frame else []
    return bool(one.frame and barred) and all(any(frame.endswith(bar) for bar in barred) for frame in alternatives(one.frame))


def alternatives(pattern: str) -> set[str]:
    """The alternatives of a pattern at its top level."""
    parts, depth, current = [], 0, ""
    for token in _TOKEN.findall(pattern):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if token == "|" and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += token
    return {*parts, current}


def healthy_claims(table: RuleTable, of: Iterable[Rule], lines: Iterable[tuple[str, str]]) -> Iterator[tuple[Rule, Flaw]]:
    """Rules in `of` that see a fault, an echo of one, or an end in a healthy line. `lines`: where each stands, and its text.

    A signature with a `when` is left out: whether it counts depends on more than the line. Each rule is told once.
    """
    able = {rule.id for rule in of if _tells_of_trouble(rule)}
    for place, text in lines:
        found = claimants(table, text)
        known_as_echo = any(rule.is_echo for rule in found)
        for rule in found:
            if rule.id in able and not (rule.is_fault and known_as_echo):
                able.discard(rule.id)
                yield rule, Flaw(check="healthy", what=f"matches a healthy line, {place}: {quoted(text)}")


def _tells_of_trouble(rule: Rule) -> bool:
    definition = rule.definition
    if isinstance(definition, Signature):
        return definition.when == When() and (rule.is_fault or definition.role == "consequence")
    return definition.kind in TROUBLE
