"""Asks whether everything that a rule names is there: classes and rules that it explains, milestones, families, classes of Xids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from triage.knowledge.flaws import Flaw
from triage.knowledge.load import Knowledge
from triage.knowledge.schema import CommonCause, FaultClass, Signature, When, Xid
from triage.knowledge.table import Rule, RuleTable
from triage.model import Family


def unknown_names(table: RuleTable) -> Iterator[tuple[str, Flaw]]:
    """Each name that nothing bears, with what says it: a rule's id, or a fork, a cause or an Xid (named like `load.ids_in`)."""
    milestones = _milestones(table)
    for rule in table.rules:
        yield from ((rule.id, flaw) for flaw in _of_rule(rule, table, milestones))
    for fork in table.knowledge.forks.forks:
        for case in (case for case in fork.cases if case.answer not in (*get_args(Family), "unknown")):
            yield f"fork {fork.id}", Flaw(check="names", what=f"answers {case.answer!r}, which is no family")
    for xid in table.knowledge.xids.xids:
        yield from ((f"Xid {xid.number}", flaw) for flaw in _of_xid(xid, table.knowledge))
    for cause in table.knowledge.common_causes.causes:
        yield from ((f"common cause {cause.id}", flaw) for flaw in _of_cause(cause, table))


def _of_xid(xid: Xid, known: Knowledge) -> Iterator[Flaw]:
    if xid.fault_class and xid.fault_class not in known.classes:
        yield Flaw(check="names", what=f"`class` names {xid.fault_class!r}, which is no class")
    if xid.role == "root" and not xid.fault_class:
        yield Flaw(check="names", what="is a root of no class: give it a `class`")


def _of_cause(cause: CommonCause, table: RuleTable) -> Iterator[Flaw]:
    for mark in (mark for mark in cause.marks if mark not in table.by_id):
        yield Flaw(check="names", what=f"`marks` names {mark!r}, which is no rule")
    for start in (start for start in cause.never if not any(rule.startswith(start) for rule in table.by_id)):
        yield Flaw(check="names", what=f"`never` names {start!r}, with which no rule begins")


def _milestones(table: RuleTable) -> set[str]:
    """All that the id of a milestone's rule may end in: of `vllm/milestone-kv-cache` both `kv-cache` and `cache`."""
    parts = [rule.id.partition("/")[2].split("-") for rule in table.rules if rule.kind == "milestone"]
    return {"ready", *("-".join(words[start:]) for words in parts for start in range(1, len(words)))}


def _of_rule(rule: Rule, table: RuleTable, milestones: set[str]) -> Iterator[Flaw]:
    definition = rule.definition
    if not isinstance(definition, Signature):
        return
    for name in definition.explains:
        if name != "*" and name not in table.knowledge.classes and name not in table.by_id:
            yield Flaw(check="names", what=f"`explains` names {name!r}, which is neither a class nor a rule")
    for key, milestone in (("before", definition.when.before), ("after", definition.when.after)):
        if milestone and milestone not in milestones:
            yield Flaw(check="names", what=f"`when.{key}` names {milestone!r}, which no line marks as a milestone")
    if definition.when != When() and not definition.safety:
        yield Flaw(check="words", what="has a `when` and no `safety`: say in words when it must not count, and why")


def without_words(fault: FaultClass) -> Iterator[Flaw]:
    """What a class must say to a reader and does not."""
    for key, text in (("title", fault.title), ("meaning", fault.meaning), ("decides", fault.decides)):
        if not text.strip():
            yield Flaw(check="words", what=f"`{key}` is empty")
    for key, lines in (("next", fault.next), ("not_to_be_confused_with", fault.not_to_be_confused_with)):
        if not lines:
            yield Flaw(check="words", what=f"`{key}` is empty: say it to who reads this in the middle of an outage")
