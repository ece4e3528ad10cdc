"""All line rules as one table: what the scanner looks for, and for each hit the rule, its class and its compiled pattern."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import regex

from triage.expressions import SECONDS_PER_LINE, compiled_later
from triage.knowledge.load import Knowledge
from triage.knowledge.patterns import ScanPattern, scan_pattern
from triage.knowledge.scanner import Scanner
from triage.knowledge.schema import FaultClass, Line, Signature, Xid
from triage.knowledge.user_words import UserWords
from triage.model import Kind, Role

_NO_FIGURES = compiled_later(r"\{\d*,?\d*\}|\[0-9|\(\?P?<\w+>")  # repetitions, any figure, names of groups
_SAME_AGAIN = ("(?P=", r"\g<")  # what a group matched: it may be figures
LIFE_KINDS = ("boot", "ready", "death", "exit", "stop")


class Rule:
    """One line rule with what is needed when it hits: kind of event, role, class, and the pattern compiled on first use.

    `is_periodic`: a healthy engine writes it all the time.
    `is_echo`: no exception in such a line is a root.
    `is_sticky`: what it tells of stays true for the whole process, wherever it is met.
    `is_harmless`: it tells of no fault; a few such lines are enough.
    `is_last`: a process writes it once in its life, at the end.
    `may_be_last`: such a line may be what a process died of, or say more of that than its root does.
    `is_telling`: it marks a turn in an engine's life or may be a fault; what stands around such a line is looked at, too.
    """

    def __init__(self, definition: Signature | Line, fault: FaultClass | None = None) -> None:
        self.definition = definition
        self.id = definition.id
        self.fault = fault.id if fault else ""
        self.sources: tuple[Kind, ...] = definition.sources
        self.kind = definition.kind if isinstance(definition, Line) else "signature"
        self.role: Role | None = definition.role if isinstance(definition, Signature) else None
        self.is_periodic = self.kind == "progress" or self.id.endswith("stall-stats")
        self.is_root = self.role == "root"
        self.is_echo = self.role in ("context", "consequence", "teardown")
        self.is_harmless = self.role == "context" or (self.is_root and fault is not None and not fault.fault)
        self.is_fault = self.is_root and fault is not None and fault.fault
        self.is_sticky = isinstance(definition, Signature) and "*" in definition.explains
        self.is_trouble = self.kind == "trouble"
        self.is_last = isinstance(definition, Line) and definition.last
        self.may_be_last = self.is_root or self.is_trouble or self.role == "context" or self.kind in ("death", "exit", "stop", "recorder")
        self.is_telling = self.kind in LIFE_KINDS or self.is_root

    @cached_property
    def pattern(self) -> regex.Pattern[str]:
        return regex.compile(self.definition.pattern)

    @cached_property
    def reads_figures(self) -> bool:
        """Whether it may match a line and not the same line with other figures."""
        return _reads_figures(self.definition.pattern)

    @property
    def scan_pattern(self) -> ScanPattern:
        """What the scanner looks for."""
        return scan_pattern(self.definition)

    def match(self, text: str) -> regex.Match[str] | None:
        """Where this rule matches in `text`. Raises TimeoutError where that takes more than a quarter of a second for one line."""
        return self.pattern.search(text, timeout=SECONDS_PER_LINE)


class RuleTable:
    """The rules in scanner order: `table[index]` is the rule that a hit's index names."""

    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.rules = tuple(_rules(knowledge))
        self.by_id = {rule.id: rule for rule in self.rules}
        self.user_words = UserWords(knowledge.user_text.begins, knowledge.needed)
        self._matched: tuple[str, dict[str, regex.Match[str] | None]] = ("", {})

    def __getitem__(self, index: int) -> Rule:
        return self.rules[index]

    @cached_property
    def is_periodic(self) -> tuple[bool, ...]:
        """Whether a rule is one for periodic lines, by its index."""
        return tuple(rule.is_periodic for rule in self.rules)

    @cached_property
    def is_trouble(self) -> tuple[bool, ...]:
        """Whether a rule is one for lines that look like trouble, by its index."""
        return tuple(rule.is_trouble for rule in self.rules)

    @cached_property
    def stalls(self) -> frozenset[int]:
        """The indices of rules whose lines show that nothing moves."""
        return frozenset(index for index, rule in enumerate(self.rules) if rule.kind == "stall")

    @cached_property
    def xids(self) -> dict[int, Xid]:
        """What is known of the driver's error codes, by their numbers."""
        return {xid.number: xid for xid in self.knowledge.xids.xids}

    @cached_property
    def words_read_figures(self) -> bool:
        """Whether the words of a user may begin in a line and not in the same line with other figures."""
        return any(map(_reads_figures, self.knowledge.user_text.begins))

    @cached_property
    def scanner(self) -> Scanner:
        return Scanner(self._scan_patterns())

    @cached_property
    def sweep(self) -> Scanner:
        """The same, but of periodic lines and of loud ones it reports one of each rule in a piece: what most pieces are asked."""
        return Scanner(self._scan_patterns(), once=self._asides())

    @cached_property
    def asides(self) -> Scanner:
        """What finds all periodic lines and all loud ones, and nothing else: what is asked of a piece that was only swept."""
        return Scanner(self._scan_patterns(), only=self._asides())

    def _asides(self) -> set[int]:
        return {index for index, rule in enumerate(self.rules) if rule.is_periodic or rule.is_trouble}

    def _scan_patterns(self) -> list[ScanPattern]:
        return [scan_pattern(rule.definition, self.knowledge.widened) for rule in self.rules]

    @cached_property
    def scanner_ahead(self) -> Scanner:
        """The same as `scanner`, for another thread."""
        return self.scanner.twin()

    @cached_property
    def sweep_ahead(self) -> Scanner:
        """The same as `sweep`, for another thread."""
        return self.sweep.twin()

    def ready(self) -> None:
        """Makes all scanners now, so that processes that are forked have them."""
        self.scanner_ahead, self.sweep_ahead  # noqa: B018

    def evidence(self, rule: Rule, text: str) -> tuple[str, dict[str, str]] | None:
        """The part of a line that is evidence, and the named groups of `rule` in it; None where the rule does not match there.

        That is the line's own text, but for a `step` line, of which only figures are taken. Raises TimeoutError like `Rule.match`.
        """
        seen = text if rule.kind == "step" else self.user_words.own_text(text)
        found = self._match(rule, seen)
        return None if found is None else (seen, {name: value for name, value in found.groupdict().items() if value is not None})

    def _match(self, rule: Rule, text: str) -> regex.Match[str] | None:
        """As `Rule.match`, but what several rules ask of one line in the same words is answered once."""
        if self._matched[0] != text:
            self._matched = (text, {})
        answers, question = self._matched[1], rule.definition.pattern
        if question not in answers:
            answers[question] = rule.match(text)
        return answers[question]


def _reads_figures(pattern: str) -> bool:
    """Whether a pattern names a figure, beside how often something comes, or asks for what it met before."""
    return any(again in pattern for again in _SAME_AGAIN) or any(one.isdecimal() for one in _NO_FIGURES.sub("", pattern))


def _rules(knowledge: Knowledge) -> Iterator[Rule]:
    for fault in knowledge.classes.values():
        yield from (Rule(s, fault) for s in fault.signatures)
    yield from (Rule(s) for s in knowledge.echoes)
    for engine in knowledge.engines.values():
        yield from (Rule(line) for line in engine.lines)
    yield from (Rule(line) for line in knowledge.trouble.lines)
