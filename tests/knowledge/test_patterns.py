"""The pattern that is derived for the scanner matches wherever the rule does."""

from __future__ import annotations

import msgspec
import pytest
import regex

from triage.knowledge.load import load
from triage.knowledge.patterns import line_rules, scan_pattern, widened
from triage.knowledge.table import RuleTable
from triage.sources.lines import read_text

RULES = {rule.id: rule for rule in line_rules(load())}
TABLE = RuleTable(load())
STAMP = "2026-11-01T09:43:00.1Z"
BEFORE = {  # what may stand right before the text of a line, and the layout of a file that tells it from plain text
    f"{STAMP} ": "",
    f"{STAMP} stderr F ": "",
    f"{STAMP} h vllm[7]: ": "journald short-iso",
    "Nov  1 09:43:00 h vllm[7]: ": "",
    "<13>Nov  1 09:43:00 h vllm[7]:": "",
    f"<14>1 {STAMP} h vllm 7 - -": "",
    f'<14>1 {STAMP} h vllm 7 - [meta key="x"]': "",
    f"ERROR {STAMP} [resource.labels.pod: x]": "google cloud",
    f"[{STAMP}] ": "",
    "2026-11-01 09:43:00 | ": "table",
    "vllm-1 | ": "compose",
    "\u00a0| ": "margin",
    "0:": "srun",
    "[pod/vllm-0/engine]": "",
    "[default0]:": "",
    "[rank0]:": "",
    "[1,0]<stderr>:": "",
    "(RayWorker pid=5)": "",
    "[0m": "",  # a colour whose escape got lost
    "\x1e1793491200000000\x1fh\x1fvllm\x1f7\x1f\x1f\x1e": "",
}


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


@pytest.mark.parametrize("before", BEFORE)
def test_a_rule_is_hit_by_what_it_matches_behind_every_envelope(before: str) -> None:
    lines = [(rule.id, before + text) for rule in RULES.values() for text in (*rule.samples, *rule.near_misses)]
    assert [(rule, line) for rule, line in lines if rule not in hit_by(line) and matches(rule, line, BEFORE[before])] == []


@pytest.mark.parametrize("before", [*BEFORE, f"{STAMP} stdout F", "50%\r"])
def test_a_key_that_was_struck_is_seen_at_the_start_of_a_line(before: str) -> None:
    assert "external-stop/keyboard" in hit_by(f"{before}^C")


def matches(rule: str, line: str, layout: str) -> bool:
    text, _ = read_text(line.encode(), frozenset({layout}))
    return TABLE.evidence(TABLE.by_id[rule], text) is not None


def hit_by(line: str) -> set[str]:
    return {TABLE[index].id for _, index in TABLE.scanner.scan(line.encode())}
