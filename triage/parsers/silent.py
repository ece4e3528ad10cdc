"""Remembers in which lines the rules that hit them say nothing, so that the next such line is passed over by its bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from triage.expressions import compiled_later
from triage.knowledge.table import Rule, RuleTable
from triage.model import Kind
from triage.parsers.tags import Tag

KEPT = 4096
LONGEST = 1024
NONE: frozenset[int] = frozenset()
_CLOCKS = compiled_later(rb"(?:\d[\d/-]*[T ])?\d\d:\d\d:\d\d[\d.,]*")
_IDS, _ID = compiled_later(rb"[0a-f-]{8,}"), b"0" * 8  # of requests, addresses and hashes, once their figures are noughts
_ZEROS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))

T = TypeVar("T")


class Silent:
    """What was found out about lines of logs of one kind and layout: it depends on nothing but the line."""

    def __init__(self, table: RuleTable, kind: Kind, layout: frozenset[str]) -> None:
        self.kind = kind
        self.layout = layout
        self._table = table
        self._read_figures: dict[frozenset[int], bool] = {}
        self._rules: dict[bytes, frozenset[int]] = {}
        self._misses: set[tuple[str, str, str, str]] = set()

    def content(self, raw: bytes, indices: frozenset[int]) -> bytes | None:
        """What stands in a line as far as these rules can tell lines apart; None for a long one, and for what carriage returns part into several."""
        if len(raw) > LONGEST or b"\r" in raw:
            return None
        if indices not in self._read_figures:
            self._read_figures[indices] = any(self._table[index].reads_figures for index in indices)
        return _CLOCKS.sub(b"", raw) if self._read_figures[indices] else _without_ids(raw.translate(_ZEROS))

    def rules_in(self, content: bytes | None) -> frozenset[int]:
        """The rules that are known to say nothing in such lines."""
        return NONE if content is None else self._rules.get(content, NONE)

    def keep(self, content: bytes | None, indices: frozenset[int]) -> None:
        """Remembers of such lines that these rules, which hit them, say nothing there: they do not match exactly, or an echo does."""
        if content is not None and indices:
            if len(self._rules) >= KEPT:
                self._rules.clear()
            self._rules[content] = self._rules.get(content, NONE) | indices

    def is_miss(self, rule: Rule, who: Tag) -> bool:
        """Whether a rule is known not to match what this process says."""
        return (rule.id, who.process, who.level, who.message) in self._misses

    def miss(self, rule: Rule, who: Tag) -> None:
        """Remembers that it does not."""
        if len(who.message) <= LONGEST:
            if len(self._misses) >= KEPT:
                self._misses.clear()
            self._misses.add((rule.id, who.process, who.level, who.message))


@lru_cache(maxsize=KEPT)
def _without_ids(zeroed: bytes) -> bytes:
    """A line whose figures are noughts, without the ids that still tell it apart from others."""
    return _IDS.sub(_ID, zeroed)


silent = lru_cache(maxsize=8)(Silent)  # one for all sources of a kind and layout that this process reads with these rules
