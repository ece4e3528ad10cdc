"""The pattern that is derived for the scanner matches wherever the rule does."""

from __future__ import annotations

import msgspec
import pytest
import regex

from triage.knowledge.load import load
from triage.knowledge.patterns import line_rules, scan_pattern, widened

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


@pytest.mark.parametrize("expression", ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"a\(?=b", "(?:a)b", "a(?P<n>b)"])
def test_only_what_looks_around_is_a_prefilter(expression: str) -> None:
    definition = msgspec.structs.replace(next(iter(RULES.values())), scan=expression)
    assert scan_pattern(definition).prefilter == bool(regex.search(r"(?<!\\)\(\?<?[=!]", expression))


def test_a_pattern_for_any_case_is_one_without_its_flag() -> None:
    plain, any_case = (scan_pattern(msgspec.structs.replace(next(iter(RULES.values())), scan=scan)) for scan in ("Xid", "(?i)Xid"))
    assert (plain.expression, plain.ignore_case, any_case.expression, any_case.ignore_case) == ("Xid", False, "Xid", True)
