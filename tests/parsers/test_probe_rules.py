"""rules/probes.toml: every sample is decided by its own rule or an earlier one of the same symbol, no near miss matches."""

from __future__ import annotations

import pytest
import regex

from triage.knowledge.load import builtin_rules, read_rule_file
from triage.knowledge.schema import Probes, ProbeText

RULES = read_rule_file(builtin_rules() / "probes.toml", Probes).texts


def rule_id(value: object) -> str | None:
    return value.id if isinstance(value, ProbeText) else None


def first_match(text: str) -> ProbeText | None:
    return next((rule for rule in RULES if regex.search(rule.pattern, text)), None)


@pytest.mark.parametrize(("rule", "sample"), [(rule, sample) for rule in RULES for sample in rule.samples], ids=rule_id)
def test_sample_is_decided_as_its_rule_says(rule: ProbeText, sample: str) -> None:
    assert regex.search(rule.pattern, sample)
    found = first_match(sample)
    assert found is not None
    assert found.symbol == rule.symbol


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule in RULES for text in rule.near_misses], ids=rule_id)
def test_near_miss_does_not_match(rule: ProbeText, text: str) -> None:
    assert not regex.search(rule.pattern, text)


def test_every_rule_is_shown_and_bounded() -> None:
    assert all(rule.samples and rule.near_misses for rule in RULES)
    assert len({rule.id for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("code", "symbol"),
    [
        *[(code, ".") for code in (200, 204, 302, 401, 404, 408)],
        *[(429, "s"), (499, "t"), (500, "e"), (501, "e"), (502, "r"), (503, "r"), (504, "t")],
    ],
)
def test_http_status(code: int, symbol: str) -> None:
    found = first_match(f"http {code}")
    assert found is not None
    assert found.symbol == symbol


@pytest.mark.parametrize(
    ("code", "symbol"), [(6, "?"), (7, "r"), (18, "r"), (28, "t"), (35, "r"), (52, "r"), (55, "r"), (56, "r"), (60, "?"), (124, "t"), (127, "?")]
)
def test_exit_code(code: int, symbol: str) -> None:
    found = first_match(f"exit {code}")
    assert found is not None
    assert found.symbol == symbol


@pytest.mark.parametrize("code", [1, 4, 8, 22, 137])
def test_exit_code_that_says_nothing_of_how(code: int) -> None:
    assert first_match(f"exit {code}") is None
