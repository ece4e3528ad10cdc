"""Every rule of ours does what it says on its own samples, in a whole log too, and a rule that is broken is noticed."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from triage.knowledge.claims import claimants
from triage.knowledge.lint import check
from triage.knowledge.load import Knowledge, load
from triage.knowledge.samples import ENVELOPE, with_probe_texts, with_samples
from triage.knowledge.schema import EngineLines, FaultClass, Probes, Signature
from triage.knowledge.table import Rule, RuleTable
from triage.model import Event
from triage.parsers.options import Options
from triage.parsers.reading import read_source
from triage.sources.find import Source

KNOWN = load()
TABLE = RuleTable(KNOWN)
RULES = {rule.id: rule for rule in TABLE.rules}
NEVER = "a text that no log has"
BANNER = "(APIServer pid=1) INFO 11-01 09:43:00 [api_server.py:1977] vLLM API server version 0.11.2"


def alone(rule: Rule, **changed: str) -> tuple[Rule, RuleTable]:
    """A rule with some of its fields changed, in a table that holds nothing else."""
    definition = msgspec.structs.replace(rule.definition, **changed)
    if isinstance(definition, Signature):
        fault = FaultClass(id="only", family="instant", title="-", meaning="-", decides="-", signatures=(definition,))
        known = Knowledge(version="", classes={"only": fault}, user_text=KNOWN.user_text)
    else:
        known = Knowledge(version="", classes={}, engines={"only": EngineLines(engine="only", lines=(definition,))}, user_text=KNOWN.user_text)
    table = RuleTable(known)
    return table.rules[0], table


@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_samples_match_near_misses_do_not_and_captures_are_filled(rule_id: str) -> None:
    assert list(with_samples(RULES[rule_id], TABLE)) == []


def told(rule: Rule, tmp_path: Path) -> list[tuple[str, int]]:
    """Which rules the parser found in a log of the rule's samples, each with a banner below it, and in which sample (from 0)."""
    log = tmp_path / "engine.log"
    lines = [ENVELOPE.format(text).encode() for sample in rule.definition.samples for text in (sample, BANNER)]
    log.write_bytes(b"".join(lines))
    starts = {sum(map(len, lines[: 2 * index])): index for index in range(len(rule.definition.samples))}
    kind = "engine" if "engine" in rule.sources else "kernel"
    reading = read_source(Source(str(log), (str(log),)), kind, TABLE, Options(year=2026))
    events: list[Event] = [*reading.events, *(reading.trouble.between(0, float("inf")) if reading.trouble and rule.is_trouble else ())]
    return [(event.rule, starts[event.place.offset]) for event in events if event.place.offset in starts]


@pytest.mark.parametrize("rule_id", sorted(name for name, rule in RULES.items() if not rule.is_trouble))
def test_the_parser_finds_every_sample_inside_a_log(rule_id: str, tmp_path: Path) -> None:
    rule = RULES[rule_id]
    assert {index for found, index in told(rule, tmp_path) if found == rule_id} == set(range(len(rule.definition.samples)))


@pytest.mark.parametrize("rule_id", sorted(name for name, rule in RULES.items() if rule.is_trouble))
def test_the_parser_keeps_samples_of_trouble_that_are_no_line_of_an_engines_life(rule_id: str, tmp_path: Path) -> None:
    samples = RULES[rule_id].definition.samples
    expected = {index for index, sample in enumerate(samples) if all(one.is_trouble or one.is_root for one in claimants(TABLE, sample))}
    assert expected
    assert {index for name, index in told(RULES[rule_id], tmp_path) if RULES[name].is_trouble} == expected


@pytest.fixture
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_a_pattern_that_matches_nothing_is_noticed_by_every_sample(rule_id: str) -> None:
    broken, table = alone(RULES[rule_id], pattern=NEVER, scan=NEVER)
    flaws = [flaw.what for flaw in with_samples(broken, table)]
    for number in range(1, len(broken.definition.samples) + 1):
        assert any(f"sample {number} is not matched" in what for what in flaws)
        assert any(f"the scanner does not find sample {number}" in what for what in flaws)


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_a_scan_pattern_that_finds_nothing_is_noticed(rule_id: str) -> None:
    broken, table = alone(RULES[rule_id], scan=NEVER)
    assert [flaw.check for flaw in with_samples(broken, table)] == ["scan"] * len(broken.definition.samples)


@pytest.mark.usefixtures("_own_cache")
@pytest.mark.parametrize("rule_id", sorted(RULES))
def test_a_pattern_that_matches_everything_is_noticed_by_every_near_miss(rule_id: str) -> None:
    broken, table = alone(RULES[rule_id], pattern="", scan=NEVER)
    near = [flaw for flaw in with_samples(broken, table) if flaw.check == "near miss"]
    assert len(near) == len(broken.definition.near_misses) > 0


@pytest.mark.parametrize("text", KNOWN.probes.texts, ids=lambda text: text.id)
def test_a_probe_text_that_matches_nothing_is_noticed(text: object) -> None:
    texts = tuple(msgspec.structs.replace(one, pattern=NEVER) if one is text else one for one in KNOWN.probes.texts)
    assert {name for name, flaw in with_probe_texts(Probes(texts)) if "is not matched" in flaw.what} == {f"probe text {getattr(text, 'id', '')}"}


def test_our_rules_pass_the_check() -> None:
    checked = check()
    assert [flaw for flaw in checked.flaws if flaw.check != "slow"] == []  # CPU time is no matter for a test: `triage rules check` is
    assert checked.rules >= len(RULES)
    assert checked.healthy >= 70
    assert checked.samples > checked.rules
