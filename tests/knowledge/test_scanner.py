"""The scanner finds what is there, names the rule it cannot compile, and never fails over its cache."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.knowledge.load import RuleError
from triage.knowledge.patterns import ScanPattern
from triage.knowledge.scanner import Scanner


def pattern(expression: str, rule: str = "test/rule", *, ignore_case: bool = False) -> ScanPattern:
    return ScanPattern(rule, expression, ignore_case, prefilter=False)


def test_hits_come_in_the_order_of_their_places() -> None:
    scanner = Scanner([pattern("beta"), pattern(r"alpha \d"), pattern("GAMMA", ignore_case=True)])
    assert scanner.scan(b"alpha 7 then beta and Gamma, beta") == [(7, 1), (17, 0), (27, 2), (33, 0)]


def test_a_rule_that_cannot_be_compiled_is_named() -> None:
    with pytest.raises(RuleError, match="test/broken"):
        Scanner([pattern("fine"), pattern("(?>atomic)", rule="test/broken")])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIAGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _database(cache: Path) -> Path:
    (kept,) = cache.glob("scan-*.hsdb")
    return kept


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_a_damaged_cache_is_made_anew(cache: Path, damage: bytes | None) -> None:
    Scanner([pattern("beta")])
    kept = _database(cache)
    kept.write_bytes(kept.read_bytes()[:100] if damage is None else damage)
    assert Scanner([pattern("beta")]).scan(b"beta") == [(4, 0)]
    assert kept.stat().st_size > 200


def test_a_flipped_bit_anywhere_in_the_cache_changes_no_hit(cache: Path) -> None:
    Scanner([pattern("beta"), pattern(r"alpha \d+ gamma")])
    sound = _database(cache).read_bytes()
    for place in range(0, len(sound), max(1, len(sound) // 200)):
        _database(cache).write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        assert Scanner([pattern("beta"), pattern(r"alpha \d+ gamma")]).scan(b"beta alpha 7 gamma") == [(4, 0), (18, 1)]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("TRIAGE_CACHE", str(blocked / "cache"))
    assert Scanner([pattern("beta")]).scan(b"beta") == [(4, 0)]


def test_other_rules_have_another_database(cache: Path) -> None:
    Scanner([pattern("beta")])
    Scanner([pattern("beta", ignore_case=True)])
    assert len(os.listdir(cache)) == 2


SHARED = Scanner([pattern("needle")])


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_whatever_stands_around_it_a_text_is_found(before: bytes, after: bytes) -> None:
    assert len(before) + 6 in [end for end, _ in SHARED.scan(before + b"needle" + after)]
