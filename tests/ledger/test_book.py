"""Mitigations out of a journal that holds other things, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ledgers import ENTRY, mitigation
from triage.ledger.book import mitigations, one
from triage.ledger.entry import ADDED
from triage.ledger.journal import JournalError, append, read


def test_other_records_and_words_about_nobody_are_passed_by(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    append(path, "trial.predicted", "m", {"margin": 12}, at=1.0)
    append(path, "mitigation.claimed", "nobody", {"since": 1.0}, at=2.0)
    append(path, ADDED, "m", ENTRY, at=3.0)
    append(path, "mitigation.claimed", "m", {"since": 2.5, "reason": "x"}, at=4.0)
    (found,) = mitigations(read(path))
    assert found.entry == ENTRY
    assert (found.registered, [(w.said, w.since, w.written) for w in found.words]) == (3.0, [("claimed", 2.5, 4.0)])


@pytest.mark.parametrize(
    ("kind", "data"),
    [(ADDED, {"name": "m"}), ("mitigation.danced", {}), ("mitigation.claimed", {"since": 1e20}), ("mitigation.claimed", {"since": "noon"})],
)
def test_a_record_of_ours_that_makes_no_sense_is_named(tmp_path: Path, kind: str, data: dict[str, object]) -> None:
    path = tmp_path / "ledger.jsonl"
    append(path, ADDED, "x", ENTRY, at=1.0)
    append(path, kind, "x" if kind != ADDED else "m", data, at=2.0)
    with pytest.raises(JournalError, match="record 2 of the journal"):
        mitigations(read(path))


def test_a_name_may_be_begun_as_long_as_it_is_clear() -> None:
    known = [mitigation(1, name="car-off"), mitigation(1, name="car"), mitigation(1, name="graphs")]
    assert [found and found.name for found in (one(known, "car"), one(known, "car-"), one(known, "g"), one(known, ""), one(known, "x"))] == [
        "car", "car-off", "graphs", None, None,
    ]  # fmt: skip
