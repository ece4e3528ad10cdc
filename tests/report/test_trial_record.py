"""A trial in the postmortem: what it concludes and refuses, and the ladder of its margins."""

from __future__ import annotations

from pathlib import Path

from tests.trials.night import copied, edited, night, read
from triage.report.trial_record import records


def test_the_night_in_a_few_sentences() -> None:
    (one,) = records(night(), "night")
    assert (one.name, one.question) == ("night", "May the batch profile move from 0.29 to 0.31?")
    assert one.verdict.startswith("Fail: burst on 0.31 (5 of 5 runs: device-oom); forced on 0.31 with gpu_memory_utilization=0.95 (1 of 1")
    assert "Inconclusive: burst on 0.29 (the burst arrived in pieces" in one.verdict
    assert "forced on 0.31 with gpu_memory_utilization=0.94, 0.93, 0.92; " in one.verdict
    assert "0.94 is the highest rung that leaves the reserve of 128 MiB on every build: 232 on 0.29, 174 on 0.31 MiB" in one.verdict
    assert "2 of 3 survived with memory-history, 0 of 5 with no heavy instrument" in one.note
    assert "This is no licence to pool" in one.note
    assert "blind: memory-history" in one.note


def test_its_ladder_is_that_of_several_settings() -> None:
    (one,) = records(night(), "night")
    highest = [(rung.build, rung.setting, rung.passed, rung.failed) for rung in one.rungs][:3]
    assert highest == [("0.29", "0.95", 1, 0), ("0.31", "0.95", 0, 1), ("0.29", "0.94", 1, 0)]
    assert {(rung.build, rung.setting): rung.margin_mib for rung in one.rungs}["0.31", "0.94"] == 174


def test_a_trial_without_runs_says_so(tmp_path: Path) -> None:
    (one,) = records(read(copied(tmp_path, "none")), "t")
    assert one.verdict.startswith("Not run: burst on 0.29; burst on 0.31")
    assert one.rungs == ()


def test_each_further_ladder_is_a_record_of_its_own(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[1-8]*")
    edited(folder / "trial.toml", lambda text: text.replace('id = "burst"', 'id = "again"'))
    for number in (16, 18):
        edited(next(folder.glob(f"logs/{number}*/run.toml")), lambda text: text.replace('item = "forced"', 'item = "again"'))
    first, second = records(read(folder), "t")
    assert {len(first.rungs), len(second.rungs)} == {6, 2}
    assert second.name == "t: forced" or second.name == "t: again"
