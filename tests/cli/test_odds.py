"""`triage exposure`, `power` and `rate`: what people read, and what they may ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def said(*arguments: str | Path) -> str:
    done = run(*arguments)
    assert done.exit_code == 0
    assert max(map(len, done.output.splitlines())) <= 80
    return " ".join(done.output.split())


def test_the_load_test_that_could_not_fail() -> None:
    told = said("power", "--runs", "12", "--each", "10m", "--rate", "1/d")
    assert "12/12 passed, 2.0 h of exposure. An unchanged engine would also pass 92 times in 100 (expected failures 0.083)" in told
    assert "information: 0.12 bit, none to speak of" in told
    assert "for 95 %: 3.0 d of quiet in service, or 432 such runs" in told
    assert "more than 22 % of runs; this one fails 0.69 %" in told


def test_an_acceleration_is_an_assumption_and_said_first() -> None:
    told = said("power", "--runs", "12", "--each", "10m", "--rate", "1/d", "--accel", "20", "--accel-basis", "steps")
    assert told.startswith("assumed, and nothing here shows it: the fault comes 20 times as fast in a run, per steps")
    assert "would also pass 19 times in 100" in told


def test_six_quiet_days() -> None:
    told = said("exposure", "--rate", "17/17d", "--quiet", "6d", "--verbose")
    for part in ("95 % interval 0.58 to 1.60", "2.5 times in 1,000 if that rate is exact, 5.0 times in 1,000", "8.7 bit, very strong", "e-value 171",
                 "p 0.0059 (conditional test), 0.0016 (E-test)", "3.3 d of quiet in all"):  # fmt: skip
        assert part in told


def test_the_hangs_alone_are_not_told_by_six_quiet_days() -> None:
    told = said("exposure", "--rate", "4/17d", "--quiet", "6d")
    for part in ("24 times in 100", "2 bit, some", "19.0 d of quiet in all", "13.0 d to go"):
        assert part in told


def test_one_recurrence_refutes_an_elimination_and_a_reduction_is_weighed() -> None:
    told = said("exposure", "--rate", "17/17d", "--quiet", "6d", "--seen", "1")
    assert "an elimination is refuted" in told
    assert "one-sided p 0.032" in told


def test_a_program_gets_the_figures() -> None:
    told = json.loads(run("exposure", "--rate", "17/17d", "--quiet", "6d", "--format", "json").output)
    assert told["p_conditional"] == pytest.approx(0.00586, abs=1e-5)
    told = json.loads(run("power", "--runs", "12", "--each", "10m", "--rate", "1/d", "--format", "json").output)
    assert (told["runs_needed"], told["grade"]) == (432, "none")


@pytest.mark.parametrize(
    "arguments",
    [
        ["exposure", "--rate", "0/17d", "--quiet", "6d"], ["exposure", "--rate", "x", "--quiet", "6d"], ["exposure", "--rate", "1/d", "--quiet", "6"],
        ["exposure", "--rate", "1/d"], ["power", "--runs", "0", "--each", "10m", "--rate", "1/d"], ["exposure", "--rate", "1/d", "--quiet", "0d"],
        ["power", "--runs", "12", "--each", "10m", "--rate", "1/d", "--accel", "0"],
        ["power", "--runs", "1", "--each", "1m", "--rate", "1/d", "--accel", "nan"],
        ["power", "--runs", "1", "--each", "1m", "--rate", "1/d", "--accel", "inf"], ["exposure", "--rate", "99999999/d", "--quiet", "1d"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("arguments", [["1000000/1d", "36500d"], ["1/36500d", "1s"], ["1/1s", "36500d"], ["1000000/36500d", "1s"]])
def test_huge_values_are_answered(arguments: list[str]) -> None:
    told = said("exposure", "--rate", arguments[0], "--quiet", arguments[1], "--verbose")
    assert "nan" not in told
    assert "inf " not in told


@pytest.mark.parametrize("seen", ["1", "1000000"])
def test_huge_counts_are_answered(seen: str) -> None:
    told = said("exposure", "--rate", "1000000/1d", "--quiet", "1d", "--seen", seen, "--verbose")
    assert ("one-sided p below 0.0001" if seen == "1" else "one-sided p 0.5") in told


def test_rates_of_each_class_and_what_merging_them_would_say() -> None:
    done = run("rate", FIXTURES / "outage-weeks")
    told = " ".join(done.output.split())
    assert done.exit_code == 0
    assert "cublas-fault 9 0.53 0.24 to 1.01" in told
    assert "as one class you would need 3.3 d of quiet; triton-fault alone needs 18.9 d" in told


def test_rates_without_faults_or_boots_say_so() -> None:
    assert "no fault" in run("rate", FIXTURES / "clean-day").output
    assert "without exposure there is no rate" in run("rate", FIXTURES / "probes-alone").output


def test_two_engines_make_two_engine_hours_in_one() -> None:
    told = json.loads(run("rate", FIXTURES / "two-pods-interleaved", "--format", "json").output)
    done = run("rate", FIXTURES / "two-pods-interleaved").output
    assert told["rates"][0]["seconds"] > 34 * 60  # longer than the 34 minutes that the log covers
    assert "2 engines: their times are added" in done


def test_a_test_that_an_unchanged_engine_cannot_pass_says_so() -> None:
    told = said("power", "--runs", "1", "--each", "1h", "--rate", "1/m")
    assert "An unchanged engine would also pass practically never" in told
    assert "or 1 such runs" in told
    assert "what one pass does exclude" in told
