"""A reading that came from another process answers what the one that stayed at home answers."""

from __future__ import annotations

import gc
import gzip
import pickle
from pathlib import Path

import pytest

from tests.parsers.test_asides import NINE, log_of
from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.parsers.options import Options
from triage.parsers.reading import Reading, read_source
from triage.parsers.sending import packed, unpacked
from triage.parsers.silent import silent
from triage.sources.find import Source

TABLE, ELSEWHERE = RuleTable(load()), RuleTable(load())
LIFE = ["boot", *["progress"] * 40, "loud", "stall", "stall", "death", "boot", *["quiet", "progress"] * 30]


def reading(path: Path) -> Reading:
    return read_source(Source(str(path), (str(path),)), "engine", TABLE, Options(year=2026))


@pytest.mark.parametrize("name", ["vllm.log", "vllm.log.gz"])
def test_what_was_sent_is_what_is_taken_and_answers_as_before(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(log_of(LIFE)) if name.endswith("gz") else log_of(LIFE))
    home = reading(path)
    (away,) = unpacked(packed([home]), ELSEWHERE)
    assert away.info == home.info
    assert away.events == home.events
    assert home.pulse and away.pulse and home.trouble and away.trouble
    assert away.pulse.between(NINE + 100, NINE + 500) == home.pulse.between(NINE + 100, NINE + 500)
    assert len(home.trouble.between(0, float("inf"))) == 1
    assert away.trouble.between(0, float("inf")) == home.trouble.between(0, float("inf"))


def test_rules_are_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_bytes(log_of(LIFE))
    sent = packed([reading(path)])
    assert b"RuleTable" not in sent
    assert len(sent) < 200_000


def test_the_rules_are_those_of_who_unpacks_and_nobody_else_can(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    path.write_bytes(log_of(LIFE))
    sent = packed([reading(path)])
    (away,) = unpacked(sent, ELSEWHERE)
    assert isinstance(away, Reading) and away.tail is not None
    assert away.tail._make.__self__.table is ELSEWHERE  # type: ignore[attr-defined]
    with pytest.raises(pickle.UnpicklingError, match="rules are named"):
        pickle.loads(sent)


def test_what_is_remembered_of_lines_is_not_sent(tmp_path: Path) -> None:
    path = tmp_path / "vllm.log"
    near = "(APIServer pid=1) INFO 11-01 09:00:00 [logger.py:39] Received request x: prompt: 'CUDA error: out of memory, which says nothing'\n"
    path.write_bytes(near.encode() + log_of(LIFE))
    sent = packed([reading(path)])
    (away,) = unpacked(sent, ELSEWHERE)
    remembered = [content for _, content in silent(TABLE, "engine", frozenset())._rules]
    assert any(b"which says nothing" in content for content in remembered)
    assert not any(content in sent for content in remembered)
    assert isinstance(away, Reading) and away.tail is not None
    memory = away.tail._make.__self__.memory  # type: ignore[attr-defined]
    assert memory._known is silent(ELSEWHERE, "engine", frozenset())


def test_what_was_unpacked_is_let_go_at_once(tmp_path: Path) -> None:
    """A run looks for cycles seldom: until then, what refers to itself would keep the bytes of every batch."""
    path = tmp_path / "vllm.log"
    path.write_bytes(log_of(LIFE))
    sent = packed([reading(path)])
    gc.collect()
    gc.disable()
    try:
        unpacked(sent, ELSEWHERE)
        assert not [one for one in gc.get_objects() if isinstance(one, pickle.Unpickler)]
    finally:
        gc.enable()
