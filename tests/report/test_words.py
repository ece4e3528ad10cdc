"""Lengths of time and counts are written in one way everywhere."""

from __future__ import annotations

import pytest

from triage.report import words


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (60, "60 s"), (120, "2 min"), (900, "15 min"), (7200, "2.0 h"), (86400, "24.0 h"), (2 * 86400, "2.0 d")]
)
def test_a_stretch_of_the_calendar_is_told_in_minutes_hours_and_days(seconds: float, said: str) -> None:
    assert words.stretch(seconds) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.25, "0.2 s"), (66, "66 s"), (600, "600 s"), (1800, "30 min"), (10_000, "2.8 h")])
def test_what_is_held_against_a_timeout_is_told_in_seconds_as_timeouts_are_set(seconds: float, said: str) -> None:
    assert words.length(seconds) == said


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(1, "crash", "1 crash"), (246, "crash", "246 crashes"), (2, "class", "2 classes"), (2, "entry", "2 entries"), (2, "day", "2 days"),
     (1200, "failed probe", "1,200 failed probes")],
)  # fmt: skip
def test_a_count_has_the_plural_of_its_noun(count: int, noun: str, said: str) -> None:
    assert words.number(count, noun) == said
