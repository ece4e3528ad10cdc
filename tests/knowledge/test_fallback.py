"""The fallback scanner finds what Hyperscan finds: on every fixture, on made lines, and for patterns nobody thought of."""

from __future__ import annotations

import gzip
import re
import tomllib
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement

from triage.cli.main import main
from triage.knowledge import scanner as scanning
from triage.knowledge.fallback import Fallback
from triage.knowledge.literals import literals, literals_and_width
from triage.knowledge.load import RuleError, load
from triage.knowledge.patterns import ScanPattern
from triage.knowledge.scanner import Hits, Scanner, which_scanner
from triage.knowledge.table import RuleTable

ROOT = Path(__file__).parents[2]
TABLE = RuleTable(load())
FALLBACK = Fallback(TABLE.scanner.patterns)
SWEEP = Fallback(TABLE.sweep.patterns)
LOOSE = {index for index, pattern in enumerate(TABLE.scanner.patterns) if pattern.prefilter}  # Hyperscan reports more than their matches
SAMPLES = [sample.encode() for rule in TABLE.rules for sample in (*rule.definition.samples, *rule.definition.near_misses)]
LOGS = sorted(file for file in ROOT.glob("fixtures/*/logs/**/*") if file.is_file() and "flight-recorder" not in file.parts)
SCENARIOS = ["clean-day", "crash-loop", "new-year", "oom-then-cublas", "saturation", "sglang-watchdog", "trtllm", "gpu-off-the-bus"]


def without_loose(hits: Hits) -> set[tuple[int, int]]:
    return {hit for hit in hits if hit[1] not in LOOSE}


def line_by_line(scanner: Scanner, data: bytes) -> set[tuple[int, int]]:
    """What Hyperscan finds in each line by itself: a match that runs over the end of a line is one that no rule can confirm."""
    found, begin = set(), 0
    for line in data.split(b"\n"):
        found |= {(begin + end, index) for end, index in scanner.scan(line)}
        begin += len(line) + 1
    return found


@pytest.mark.parametrize("file", LOGS, ids=lambda file: str(file.relative_to(ROOT / "fixtures")))
def test_hits_on_the_fixtures_are_the_same(file: Path) -> None:
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    assert without_loose(FALLBACK.scan(data)) == without_loose(TABLE.scanner.scan(data))
    assert set(SWEEP.scan(data)) == set(TABLE.sweep.scan(data))


@settings(max_examples=150)
@given(st.lists(st.tuples(st.sampled_from(SAMPLES), st.integers(0, 200), st.binary(max_size=3)), min_size=1, max_size=8))
def test_hits_on_samples_that_are_cut_and_joined_are_the_same(parts: list[tuple[bytes, int, bytes]]) -> None:
    data = b"\n".join(sample[:at] + noise + sample[at:] for sample, at, noise in parts)
    found = set(FALLBACK.scan(data))
    alone = line_by_line(TABLE.scanner, data)
    assert without_loose(list(found)) == without_loose(list(alone))
    assert found <= alone


def test_a_pattern_with_a_lookaround_is_found_wherever_its_rule_matches() -> None:
    assert LOOSE
    for index in LOOSE:
        for sample in TABLE[index].definition.samples:
            assert index in {hit for _, hit in FALLBACK.scan(sample.encode())}


_ATOM = st.sampled_from(["a", "b", "ab", "Ba", "é", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", r"\b", "1", " ", r"\."])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeats = st.sampled_from(["*", "+", "?", "{0,3}", "{2}", "{1,4}", "+?"])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.tuples(inner.filter(lambda one: one != r"\b"), repeats).map(lambda both: f"(?:{both[0]}){both[1]}"),
    )


EXPRESSIONS = st.recursive(_ATOM, _larger, max_leaves=8)
TEXTS = st.text(st.sampled_from("aabbAB1 .é\n_"), max_size=40)


@settings(max_examples=400)
@given(EXPRESSIONS, st.booleans(), st.lists(TEXTS, min_size=1, max_size=6))
def test_any_pattern_ends_where_hyperscan_says(expression: str, ignore_case: bool, texts: list[str]) -> None:
    assume(literals_and_width(expression.encode()).shortest)  # Hyperscan takes a lone `\b`, of which no rule could be made
    pattern = ScanPattern("test/any", expression, ignore_case, prefilter=False)
    try:
        fast = Scanner([pattern], keep=False)
    except RuleError:
        assume(False)
    slow = Fallback([pattern])
    for text in texts:
        data = text.encode()
        assert set(slow.scan(data)) == line_by_line(fast, data)


@given(EXPRESSIONS, TEXTS)
def test_every_match_has_one_of_its_texts(expression: str, text: str) -> None:
    wanted = literals(expression.encode())
    for found in re.finditer(expression.encode(), text.encode(), re.IGNORECASE):
        assert not wanted or any(one in found[0].lower() for one in wanted)


def test_all_our_rules_have_texts() -> None:
    assert not [pattern.rule for pattern in TABLE.scanner.patterns if not literals(pattern.expression.encode())]


def test_a_pattern_without_a_text_is_tried_on_every_line() -> None:
    patterns = [ScanPattern("test/digits", r"\d{3}", False, False), ScanPattern("test/word", "beta", False, False)]
    data = b"alpha 123\n\nbeta\n45\n678 beta"
    assert Fallback(patterns).scan(data) == Scanner(patterns, keep=False).scan(data) == [(9, 0), (15, 1), (22, 0), (27, 1)]


def test_one_match_in_a_piece_is_enough_where_that_is_asked() -> None:
    pattern = ScanPattern("test/once", "beta", False, False, once=True)
    assert Fallback([pattern]).scan(b"beta\nbeta beta") == [(4, 0)]


def test_a_pattern_that_takes_too_long_counts_as_hit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.knowledge.fallback.SECONDS_PER_LINE", 0.001)
    slow = Fallback([ScanPattern("test/slow", r"xy(?:\w+\s?)+:(?:\w+\s?)+:\d+", False, False)])
    line = b"xy" + b"word " * 2000
    assert slow.scan(line + b"\nother") == [(len(line), 0)]


@pytest.mark.parametrize("expression", ["a*", "(?:)", "(", "a{2,1}"])
def test_what_hyperscan_refuses_is_refused_by_name(expression: str) -> None:
    pattern = ScanPattern("test/broken", expression, False, False)
    for make in (Fallback, lambda patterns: Scanner(patterns, keep=False)):
        with pytest.raises(RuleError, match="test/broken"):
            make([pattern])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_classify_says_the_same_word_for_word(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["classify", str(ROOT / "fixtures" / scenario / "logs"), "--format", "json"]
    monkeypatch.setenv("TRIAGE_SCANNER", "hyperscan")
    fast = CliRunner().invoke(main, command)
    monkeypatch.setenv("TRIAGE_SCANNER", "fallback")
    slow = CliRunner().invoke(main, command)
    assert fast.exit_code in (0, 3)
    assert (slow.exit_code, slow.stdout, slow.stderr) == (fast.exit_code, fast.stdout, fast.stderr)


def test_another_scanner_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_SCANNER", "grep")
    done = CliRunner().invoke(main, ["classify", str(ROOT / "fixtures/new-year/logs")])
    assert done.exit_code == 2
    assert "TRIAGE_SCANNER=grep: there is no such scanner: hyperscan or fallback" in done.stderr


def test_without_hyperscan_the_fallback_is_taken_and_a_wish_for_it_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIAGE_SCANNER", raising=False)
    assert which_scanner()[0] == "hyperscan"
    monkeypatch.setattr(scanning, "INSTALLED", False)
    assert which_scanner()[0] == "fallback"
    assert Scanner([ScanPattern("test/rule", "beta", False, False)]).twin().scan(b"beta") == [(4, 0)]
    monkeypatch.setenv("TRIAGE_SCANNER", "hyperscan")
    with pytest.raises(RuleError, match="pip install hyperscan"):
        which_scanner()


def test_without_either_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIAGE_SCANNER", raising=False)
    monkeypatch.setattr(scanning, "INSTALLED", False)
    monkeypatch.setattr(scanning, "find_spec", lambda _name: None)
    with pytest.raises(RuleError, match="pip install ahocorasick_rs"):
        which_scanner()


def test_every_system_gets_one_scanner() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    markers = [marker for line in wanted if (one := Requirement(line)).name in ("hyperscan", "ahocorasick_rs") and (marker := one.marker)]
    assert len(markers) == 2
    for python, name, machine in product(("3.11", "3.14", "3.15"), ("cpython", "pypy"), ("x86_64", "AMD64", "aarch64", "arm64", "ARM64", "riscv64")):
        here = {"python_version": python, "implementation_name": name, "platform_machine": machine}
        assert sum(marker.evaluate(here) for marker in markers) == 1, here
