"""A source is read as what it is, and a small file is looked at no more often than that takes."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.parsers.options import Options
from triage.parsers.reading import Reading
from triage.parsers.sorting import read_one
from triage.sources.find import Source

TABLE = RuleTable(load())
LOG = b"".join(b"(EngineCore pid=7) INFO 11-20 05:%02d:00 [core.py:1] line\n" % minute for minute in range(60))


def test_the_system_is_asked_once_what_lies_at_a_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "x.log"
    file.write_bytes(LOG)
    asked: Counter[str] = Counter()
    really = os.stat

    def noting(path: str, **more: Any) -> os.stat_result:
        asked[str(path)] += 1
        return really(path, **more)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", noting)
        read = read_one(Source(str(file), (str(file),)), None, TABLE, Options())
    assert isinstance(read, Reading)
    assert (read.info.bytes, read.info.kind) == (len(LOG), "engine")
    assert asked[str(file)] == 1
