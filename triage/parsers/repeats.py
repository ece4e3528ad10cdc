"""What a source says again and again: which rules of it need no second look, so that a flood costs little more than its first lines."""

from __future__ import annotations

from collections import Counter, deque
from functools import lru_cache

from triage.expressions import compiled_later
from triage.knowledge.table import Rule, RuleTable

HARMLESS_PER_LIFE = 16
MARKS_PER_LIFE = 4096  # lines that speak for a common cause, such as a unit reload: a host's journal has weeks of them, and no lives
EVIDENCE_PER_RULE = 64
ENDS_PER_RULE = 16  # marks of an end and echoes of it: the first ones tell all
MINUTES = 16
FLOOD_MINUTES = 4  # after so many minutes on end that were full of a rule's lines,
FLOOD_LINES = 1  # one more in each minute says that it goes on
PAUSE_MINUTES = 5
DAY_MINUTES = 1440
STAMPED_WITHIN = 200
DAY_BYTES = 6
_MINUTE = compiled_later(rb"\d\d:\d\d(?=:\d\d)")


class _Evidence:
    """How many lines of a rule were met, in which minutes, and how many times on end they were as many as are wanted.

    Several streams may have clocks of their own.
    """

    __slots__ = ("count", "full", "minutes")

    def __init__(self) -> None:
        self.count = 0
        self.full = 0
        self.minutes: deque[bytes] = deque(maxlen=MINUTES)

    def is_full(self, most: int) -> bool:
        return self.count >= (most if self.full < FLOOD_MINUTES else min(most, FLOOD_LINES))

    def begin(self, minute: bytes) -> None:
        """Another minute than those that were full."""
        self.count = 0
        self.full = self.full + 1 if _apart(self.minutes[-1], minute) <= PAUSE_MINUTES else 0


class Repeats:
    """What was found out about the lines of one source in the present life of its engine."""

    def __init__(self, table: RuleTable) -> None:
        self._most_harmless, self._most_evidence = _bounds(table)
        self._harmless: Counter[int] = Counter()  # lines of each harmless rule
        self._evidence: dict[int, _Evidence] = {}  # of each other rule
        self.enough: set[int] = set()  # the rules that are harmless and were told often enough
        self._stamped = (b"", b"")
        self._flooded: tuple[tuple[bytes, bool], set[frozenset[int]]] = ((b"", False), set())

    def new_life(self) -> None:
        """An engine boots: what was harmless is told anew, and evidence is counted anew."""
        self._harmless.clear()
        self.enough.clear()
        self._evidence.clear()
        self._flooded[1].clear()

    def new_piece(self) -> None:
        """Another part of the log begins: where lines have no clock, evidence is counted anew."""
        self._evidence = {index: evidence for index, evidence in self._evidence.items() if b"" not in evidence.minutes}
        self._flooded[1].clear()

    def is_plenty(self, index: int, raw: bytes, *, several: bool) -> bool:
        """Whether a rule was met so often, in the minute of this line, that one more says nothing new. `several`: streams share the log."""
        evidence = self._evidence.get(index)
        if evidence is None or not evidence.is_full(EVIDENCE_PER_RULE if several else self._most_evidence[index]):
            return False
        return self._minute(raw) in evidence.minutes

    def count(self, index: int, raw: bytes, *, several: bool) -> None:
        """Counts one line that is evidence, of which there are not plenty; only by such a line another minute begins."""
        evidence = self._evidence.setdefault(index, _Evidence())
        if evidence.is_full(EVIDENCE_PER_RULE if several else self._most_evidence[index]):
            evidence.begin(self._minute(raw))
        if not evidence.count:
            evidence.minutes.append(self._minute(raw))
        evidence.count += 1

    def is_flood(self, indices: frozenset[int], raw: bytes, *, several: bool) -> bool:
        """Whether one more line of these rules says nothing new, since of each of them there are plenty in its minute."""
        now = self._minute(raw), several
        if self._flooded[0] != now:
            self._flooded = (now, set())
        if indices in self._flooded[1]:
            return True
        if not all(self.is_plenty(index, raw, several=several) for index in indices):
            return False
        self._flooded[1].add(indices)
        return True

    def _minute(self, raw: bytes) -> bytes:
        """When a line was written: several rules ask it of one line."""
        if self._stamped[0] is not raw:
            self._stamped = (raw, _minute(raw))
        return self._stamped[1]

    def is_told(self, index: int) -> bool:
        """Counts one line of a harmless rule; whether it is still worth an event."""
        self._harmless[index] += 1
        if self._harmless[index] >= self._most_harmless[index]:
            self.enough.add(index)
        return self._harmless[index] <= self._most_harmless[index]


def harmless_per_life(table: RuleTable) -> dict[str, int]:
    """How many lines of each rule that tells of no fault are worth keeping of one life of an engine, by the rule's id."""
    marks = {mark for cause in table.knowledge.common_causes.causes for mark in cause.marks}
    return {rule.id: MARKS_PER_LIFE if rule.id in marks else HARMLESS_PER_LIFE for rule in table.rules if rule.is_harmless}


@lru_cache(maxsize=4)  # the same for every source that is read with these rules
def _bounds(table: RuleTable) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many lines of each rule are told in one life: of what is harmless, and of what is evidence."""
    harmless = harmless_per_life(table)
    return tuple(harmless.get(rule.id, 0) for rule in table.rules), tuple(map(_most_evidence, table.rules))


def _most_evidence(rule: Rule) -> int:
    if rule.kind in ("boot", "ready"):
        return 1 << 20
    return ENDS_PER_RULE if rule.kind in ("death", "exit") or rule.is_echo else EVIDENCE_PER_RULE


def _minute(raw: bytes) -> bytes:
    """The day, hour and minute that a line is stamped with, as far as six bytes before the clock hold a day; nothing where it has no clock."""
    found = _MINUTE.search(raw, 0, STAMPED_WITHIN)
    return raw[max(0, found.start() - DAY_BYTES) : found.end()] if found else b""


def _apart(one: bytes, other: bytes) -> int:
    """How many minutes lie between two times of the day, forwards; none where a line has no clock."""
    if not (one and other):
        return 0
    first, last = (int(at[-5:-3]) * 60 + int(at[-2:]) for at in (one, other))
    return (last - first) % DAY_MINUTES
