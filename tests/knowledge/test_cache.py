"""What is kept between runs: whole or not at all, and never more than some of a kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.knowledge.cache import KEPT, read_sealed, write_atomically, write_sealed
from triage.knowledge.load import load
from triage.knowledge.patterns import line_rules, scan_pattern


def test_the_oldest_of_a_kind_go_and_no_others(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        file = tmp_path / f"scan-{number:02}.hsdb"
        file.write_bytes(b"x")
        os.utime(file, (1000 + number, 1000 + number))
    (tmp_path / "rules-00.msgpack").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(b"x")
    assert write_atomically(tmp_path / "scan-new.hsdb", b"y")
    left = {file.name for file in tmp_path.iterdir()}
    assert left == {"rules-00.msgpack", "notes.txt", "scan-new.hsdb", *(f"scan-{number:02}.hsdb" for number in range(6, KEPT + 5))}


def test_a_changed_bit_is_seen(tmp_path: Path) -> None:
    assert write_sealed(tmp_path / "rules-a.msgpack", b"what was known")
    assert read_sealed(tmp_path / "rules-a.msgpack") == b"what was known"
    kept = bytearray((tmp_path / "rules-a.msgpack").read_bytes())
    kept[-1] ^= 1
    (tmp_path / "rules-a.msgpack").write_bytes(kept)
    with pytest.raises(ValueError, match="damaged"):
        read_sealed(tmp_path / "rules-a.msgpack")


def test_what_was_widened_for_all_runs_is_what_would_be_now() -> None:
    known = load()
    bare = [rule for rule in line_rules(known) if not rule.scan]
    assert len(known.widened) == len({rule.pattern for rule in bare}) > 50
    assert all(scan_pattern(rule, known.widened) == scan_pattern(rule) for rule in line_rules(known))
