"""The lines that a trial asks about: counts and extremes of what the engine wrote itself, in the time of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trials.night import known
from triage.knowledge.load import RuleError
from triage.model import SourceInfo
from triage.trials.lines import KEPT, Lines, Seen, Sought, Window

USAGE = Sought("usage", r"KV cache usage: (?P<value>[\d.]+)%")
LINE = "2026-11-01T09:{:02}:00Z (APIServer pid=1) INFO 11-01 09:{:02}:00 [loggers.py:1] Engine 000: Running: 1 reqs, GPU KV cache usage: {}%\n"
BASE = 1793523600.0  # 2026-11-01 09:00


def seen(path: Path, text: str, *sought: Sought, window: Window | None = None) -> dict[str, Seen]:
    path.write_text(text, encoding="utf-8")
    return Lines(sought or (USAGE,), known()).look([SourceInfo(name="x", kind="engine", files=(str(path),))], window=window)


def test_count_sum_and_extremes(tmp_path: Path) -> None:
    found = seen(tmp_path / "x.log", "".join(LINE.format(n, n, usage) for n, usage in enumerate((3.5, 99.25, 40))))["usage"]
    assert (found.count, found.total, found.smallest, found.largest) == (3, 142.75, 3.5, 99.25)
    assert found.at_largest is not None
    assert found.at_largest.at is not None
    assert found.at_largest.at.earliest == BASE + 60


def test_the_words_of_a_user_show_nothing(tmp_path: Path) -> None:
    head = "2026-11-01T09:00:00Z (APIServer pid=1) INFO 11-01 09:00:00 [logger.py:39] Received request cmpl-1: "
    assert seen(tmp_path / "x.log", f"{head}prompt: 'KV cache usage: 99.9%', params: x\n")["usage"].count == 0


def test_only_lines_of_the_run_count(tmp_path: Path) -> None:
    text = "".join(LINE.format(n, n, n) for n in range(10))
    assert seen(tmp_path / "x.log", text, window=Window(BASE + 120, BASE + 240))["usage"].total == 2 + 3 + 4


def test_what_is_no_figure_counts_as_a_line(tmp_path: Path) -> None:
    found = seen(tmp_path / "x.log", LINE.format(1, 1, "1.2.3"))["usage"]
    assert (found.count, found.largest, found.total) == (1, None, 0)


def test_of_a_great_many_lines_few_are_kept(tmp_path: Path) -> None:
    found = seen(tmp_path / "x.log", "".join(LINE.format(1, 1, n % 90) for n in range(1000)))["usage"]
    assert (found.count, len(found.kept)) == (1000, KEPT)


def test_a_pattern_that_the_scanner_cannot_take_is_named() -> None:
    with pytest.raises(RuleError, match="usage"):
        Lines([Sought("usage", r"(\w+) \1")], known())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_every_line_counts_once(tmp_path_factory: pytest.TempPathFactory, figures: list[int]) -> None:
    path = tmp_path_factory.mktemp("lines") / "x.log"
    found = seen(path, "".join(LINE.format(1, 1, figure) for figure in figures))["usage"]
    assert (found.count, found.total, found.largest) == (len(figures), sum(figures), max(figures, default=None))
