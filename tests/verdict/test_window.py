"""Findings of a part of the time: its incidents, its probes, and the coverage of it alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.report.postmortem.made import START, weeks
from triage.cli.main import main
from triage.model import Coverage, Findings, Gap
from triage.verdict.window import within

WEEKS = str(Path(__file__).resolve().parents[2] / "fixtures" / "outage-weeks")
ASKED = ("--since", "2026-11-14T00:00Z", "--until", "2026-11-16T00:00Z")
times = st.none() | st.floats(START - 2000, START + 2000)


@given(times, times)
def test_coverage_never_reaches_out_of_the_time_that_was_asked_for(since: float | None, until: float | None) -> None:
    gaps = (Gap(START - 500, START - 300, "log"), Gap(START + 100, START + 900, "log"))
    seen = within(Findings(rules="", coverage=Coverage(start=START - 1000, end=START + 1000, gaps=gaps)), since, until).coverage
    if seen.start is None or seen.end is None:
        assert seen == Coverage()
        return
    assert START - 1000 <= seen.start < seen.end <= START + 1000
    assert since is None or seen.start >= since
    assert until is None or seen.end <= until
    assert all(seen.start <= gap.start < gap.end <= seen.end for gap in seen.gaps)
    assert seen.ratio is not None and 0 <= seen.ratio <= 1


def test_without_a_time_all_stays_as_it_is() -> None:
    assert within(weeks(), None, None) is weeks()


def told(*options: str) -> str:
    result = CliRunner().invoke(main, ["classify", WEEKS, *ASKED, *options], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_a_table_is_headed_by_the_time_that_was_asked_for(form: str) -> None:
    head = told("--format", form).splitlines()[0]
    assert "2026-11-14 00:00 to 11-16 00:00 UTC" in head


def test_json_tells_the_window_the_coverage_and_the_probes_of_that_time() -> None:
    said = json.loads(told("--format", "json"))
    assert said["window"] == {"from": "2026-11-14T00:00:00.000Z", "to": "2026-11-16T00:00:00.000Z"}
    whole = json.loads(CliRunner().invoke(main, ["classify", WEEKS, "--format", "json"]).stdout)
    assert 0 < said["probes"] < whole["probes"] / 4
    assert said["coverage"]["ratio"] == 1


def test_a_run_that_is_recorded_is_headed_by_it_too(tmp_path: Path) -> None:
    recorded = told("--record", "--store", str(tmp_path / "h.db"))
    assert recorded.splitlines()[0] == told().splitlines()[0]
    assert "from 9 failed probes of 960" in recorded
