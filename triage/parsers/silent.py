"""Remembers in which lines the rules that hit them say nothing, so that the next such line is passed over by its bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from triage.expressions import compiled_later
from triage.knowledge.table import Rule, RuleTable
from triage.model import Kind
from triage.parsers.tags import tag

if TYPE_CHECKING:
    import re

KEPT = 4096
LONGEST = 1024
NONE: frozenset[int] = frozenset()
_CLOCKS = compiled_later(rb"(?<![\d:])\d\d:\d\d:\d\d(?:[.,]\d+)?")
# Of requests, addresses and hashes, once their figures are noughts.
_IDS = compiled_later(rb"[0a-f]{8}(?:(?:-[0a-f]{4}){3}-[0a-f]{12}|[0a-f]*)")
_ZEROS = bytes(48 if 48 <= byte <= 57 else byte for byte in range(256))
_LETTERS = bytes(97 if byte == 48 or 97 <= byte <= 102 else byte for byte in range(256))
_NOUGHTS = dict.fromkeys(map(ord, "123456789"), "0")

Content = tuple[frozenset[int], bytes]  # the rules that hit a line, and what stands in it as far as they can tell lines apart
Question = tuple[str, str, str]  # a rule, and what stands before a message and in it


class Silent:
    """What was found out about lines of logs of one kind and layout: it depends on nothing but the line."""

    def __init__(self, table: RuleTable, kind: Kind, layout: frozenset[str]) -> None:
        self.kind = kind
        self.layout = layout
        self._table = table
        self._read_figures: dict[frozenset[int], bool] = {}
        self._rules: dict[Content, frozenset[int]] = {}
        self._misses: set[Question] = set()

    def content(self, raw: bytes, indices: frozenset[int]) -> Content | None:
        """By what a line is known that these rules hit; None for a long one, and for what carriage returns part into several.

        Where a figure counts, all but clocks do. Else figures are all alike, and so are ids of one length. How a line is laid out is kept:
        by that its envelope is known.
        """
        if len(raw) > LONGEST or b"\r" in raw:
            return None
        if indices not in self._read_figures:
            self._read_figures[indices] = self._table.words_read_figures or any(self._table[index].reads_figures for index in indices)
        return indices, _CLOCKS.sub(_zeroed, raw) if self._read_figures[indices] else _without_ids(raw.translate(_ZEROS))

    def rules_in(self, content: Content | None) -> frozenset[int]:
        """The rules that are known to say nothing in such lines."""
        return NONE if content is None else self._rules.get(content, NONE)

    def keep(self, content: Content | None, indices: frozenset[int]) -> None:
        """Remembers of such lines that these rules, which hit them, say nothing there: they do not match exactly, or an echo does."""
        if content is not None and indices:
            if len(self._rules) >= KEPT:
                self._rules.clear()
            self._rules[content] = self._rules.get(content, NONE) | indices

    def is_miss(self, question: Question) -> bool:
        """Whether a rule is known not to match such a text."""
        return question in self._misses

    def miss(self, question: Question) -> None:
        """Remembers that it does not."""
        if sum(map(len, question)) <= LONGEST:
            if len(self._misses) >= KEPT:
                self._misses.clear()
            self._misses.add(question)


@lru_cache(maxsize=8)
def silent(table: RuleTable, kind: Kind, layout: frozenset[str]) -> Silent:
    """The one for all sources of a kind and layout that this process reads with these rules."""
    return Silent(table, kind, layout)


class Memory:
    """What is remembered while one source is read: what every source of its kind and layout has in common, and what rules left open here.

    That one took too long says nothing about a line, so it holds for this source only.
    """

    def __init__(self, table: RuleTable, kind: Kind) -> None:
        self._table = table
        self._kind = kind
        self._known = silent(table, kind, frozenset())
        self._unsure = Silent(table, kind, frozenset())
        self._slow: set[str] = set()  # the rules that took too long

    def __getstate__(self) -> dict[str, Any]:
        """Another process remembers for itself what all sources have in common."""
        return {**vars(self), "_known": self._known.layout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.lay_out(state["_known"])

    def lay_out(self, layout: frozenset[str]) -> None:
        """From here on lines are laid out in these forms."""
        self._known = silent(self._table, self._kind, layout)

    def content(self, raw: bytes, indices: frozenset[int]) -> Content | None:
        """As `Silent.content`."""
        return self._known.content(raw, indices)

    def mute_in(self, content: Content | None) -> frozenset[int]:
        """The rules that say nothing in such lines, or are not asked again here."""
        mute = self._known.rules_in(content)
        return mute | self._unsure.rules_in(content) if self._slow else mute

    def keep(self, content: Content | None, mute: frozenset[int]) -> None:
        """Remembers that these rules said nothing in a line."""
        slow = frozenset(index for index in mute if self._table[index].id in self._slow) if self._slow else NONE
        self._known.keep(content, mute - slow)
        self._unsure.keep(content, slow)

    def is_miss(self, asked: Question) -> bool:
        """Whether a rule is known not to match such a text, or is not asked again here."""
        return self._known.is_miss(asked) or self._unsure.is_miss(asked)

    def miss(self, asked: Question) -> None:
        """Remembers that it does not match."""
        self._known.miss(asked)

    def too_slow(self, rule: Rule, asked: Question) -> None:
        """Remembers that a rule took too long."""
        self._slow.add(rule.id)
        self._unsure.miss(asked)


def question(rule: Rule, text: str) -> Question:
    """Whether a rule matches a text: of what stands before its message, such as a stamp, figures count only where the rule reads them."""
    message = tag(text).message
    before = text[: len(text) - len(message)]
    return rule.id, before if rule.reads_figures else before.translate(_NOUGHTS), message


@lru_cache(maxsize=KEPT)
def _without_ids(zeroed: bytes) -> bytes:
    """A line whose figures are noughts, with all ids of one length alike: an expression may count their characters, or ask for a figure first."""
    return _IDS.sub(_alike, zeroed)


def _alike(found: re.Match[bytes]) -> bytes:
    one = found[0]
    return (b"0" if one.startswith(b"0") else b"a") + one[1:].translate(_LETTERS) if b"0" in one and one.strip(b"0-") else one


def _zeroed(found: re.Match[bytes]) -> bytes:
    return found[0].translate(_ZEROS)
