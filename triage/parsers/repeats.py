"""What a source says again and again: which rules of it need no second look, so that a flood costs little more than its first lines."""

from __future__ import annotations

import re
from collections import Counter, deque
from functools import lru_cache
from typing import TypeVar

from triage.knowledge.scanner import Hits
from triage.knowledge.table import Rule, RuleTable
from triage.parsers.tags import Tag

KEPT = 4096
LONGEST = 1024
HARMLESS_PER_LIFE = 16
MARKS_PER_LIFE = 4096  # lines that speak for a common cause, such as a unit reload: a host's journal has weeks of them, and no lives
EVIDENCE_PER_RULE = 64
ENDS_PER_RULE = 16  # marks of an end and echoes of it: the first ones tell all
MINUTES = 16
STAMPED_WITHIN = 200
_DIGITS = b"0123456789"
_MINUTE = re.compile(rb"\d\d:\d\d(?=:\d\d)")

T = TypeVar("T")
Wording = tuple[bytes, frozenset[int]]


class _Evidence:
    """How many lines of a rule were met, and in which minutes; several streams may have clocks of their own."""

    __slots__ = ("count", "minutes")

    def __init__(self) -> None:
        self.count = 0
        self.minutes: deque[bytes] = deque(maxlen=MINUTES)


class Repeats:
    """What was found out about the lines of one source in the present life of its engine."""

    def __init__(self, table: RuleTable) -> None:
        self._most_harmless, self._most_evidence = _bounds(table)
        self._harmless: Counter[int] = Counter()  # lines of each harmless rule
        self._evidence: dict[int, _Evidence] = {}  # of each other rule
        self._settled: set[Wording] = set()
        self._misses: set[tuple[str, str, str, str]] = set()

    def new_life(self) -> None:
        """An engine boots: what was harmless is told anew, and evidence is counted anew."""
        self._harmless.clear()
        self._settled.clear()
        self.new_piece()

    def new_piece(self) -> None:
        """Another part of the log begins, which may have no clock: evidence is counted anew."""
        self._evidence.clear()

    def is_plenty(self, index: int, raw: bytes, *, several: bool) -> bool:
        """Whether a rule was met so often, in the minute of this line, that one more says nothing new. `several`: streams share the log."""
        evidence = self._evidence.get(index)
        if evidence is None or evidence.count < (EVIDENCE_PER_RULE if several else self._most_evidence[index]):
            return False
        if _minute(raw) in evidence.minutes:
            return True
        evidence.count = 0
        return False

    def count(self, index: int, raw: bytes) -> None:
        """Counts one line that is evidence."""
        evidence = self._evidence.setdefault(index, _Evidence())
        if not evidence.count:
            evidence.minutes.append(_minute(raw))
        evidence.count += 1

    def is_enough(self, hits: Hits) -> bool:
        """Whether all that these hits may tell is harmless and was told often enough."""
        return all(self._harmless[index] >= self._most_harmless[index] for _, index in hits)

    def is_told(self, index: int) -> bool:
        """Counts one line of a harmless rule; whether it is still worth an event."""
        self._harmless[index] += 1
        return self._harmless[index] <= self._most_harmless[index]

    def is_settled(self, wording: Wording) -> bool:
        """Whether such a line is known to be an echo that was told often enough: no fault is looked for in the next one like it."""
        return wording in self._settled

    def settle(self, wording: Wording) -> None:
        """Remembers that."""
        if len(wording[0]) <= LONGEST:
            _keep(self._settled, wording)

    def is_miss(self, rule: Rule, who: Tag) -> bool:
        """Whether a rule is known not to match what this process says."""
        return (rule.id, who.process, who.level, who.message) in self._misses

    def miss(self, rule: Rule, who: Tag) -> None:
        """Remembers that it does not."""
        if len(who.message) <= LONGEST:
            _keep(self._misses, (rule.id, who.process, who.level, who.message))


@lru_cache(maxsize=4)  # the same for every source that is read with these rules
def _bounds(table: RuleTable) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many lines of each rule are told in one life: of what is harmless, and of what is evidence."""
    marks = {mark for cause in table.knowledge.common_causes.causes for mark in cause.marks}
    harmless = tuple(MARKS_PER_LIFE if rule.id in marks else HARMLESS_PER_LIFE for rule in table.rules)
    return harmless, tuple(map(_most_evidence, table.rules))


def _most_evidence(rule: Rule) -> int:
    if rule.kind in ("boot", "ready"):
        return 1 << 20
    return ENDS_PER_RULE if rule.kind in ("death", "exit") or rule.is_echo else EVIDENCE_PER_RULE


def _minute(raw: bytes) -> bytes:
    """The hour and minute that a line is stamped with; nothing where it has no clock."""
    found = _MINUTE.search(raw, 0, STAMPED_WITHIN)
    return found[0] if found else b""


def _keep(kept: set[T], one: T) -> None:
    """Takes one more; a full set begins anew."""
    if len(kept) >= KEPT:
        kept.clear()
    kept.add(one)


def wording(raw: bytes, hits: Hits) -> Wording:
    """A line without its figures, and the rules that hit it."""
    return raw.translate(None, _DIGITS), frozenset(index for _, index in hits)
