"""The pattern that is derived for the scanner matches wherever the rule does."""

from __future__ import annotations

import pytest
import regex

from triage.knowledge.load import load
from triage.knowledge.patterns import line_rules, widened

RULES = {rule.id: rule for rule in line_rules(load())}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^Killed$", "Killed"),
        (r"foo.*", "foo"),
        (r"ran for (?P<ms>\d+)", r"ran for (?:\d)"),
        (r"code (?P<code>-?\d+)(?: ms)?", r"code (?:-?\d)"),
        (r"price in \$", r"price in \$"),
        (r"[\]^$]x", r"[\]^$]x"),
        (r"a\.*", "a"),
        (r"\bword\b", r"\bword\b"),
        (r"lock (?:on \S+|held by (?P<pid>\d+))", r"lock (?:on \S|held by (?:\d))"),
    ],
)
def test_widened_drops_names_anchors_and_open_tails(pattern: str, expected: str) -> None:
    assert widened(pattern) == expected


@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_what_is_derived_matches_wherever_the_rule_does(rule_id: str) -> None:
    rule = RULES[rule_id]
    derived = regex.compile(widened(rule.pattern))
    assert rule.samples
    assert all(derived.search(f"2026-11-01T09:43:00.1Z {sample}") for sample in rule.samples)
