"""What must not pass for shown: a path without a witness, a rung on which an engine died, a prediction that nothing dates."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.trials.night import cell, copied, edited, known, read, run
from tests.trials.test_memory import ladder, rung
from triage.model import Boot, Instant, SourceInfo
from triage.parsers.gpu_memory import MemorySample
from triage.parsers.reading import Reading
from triage.trials.instruments import watching
from triage.trials.ladder import Rung
from triage.trials.lines import Window
from triage.trials.manifest import Prediction, TrialError, read_manifest
from triage.trials.memory import Memory, measured
from triage.trials.predictions import Tested as Foretold
from triage.trials.predictions import lean

PREDICTION = Prediction(id="p", item="i", arm="a", quantity="free_at_worst_step", value=-28.0)
LEAST = """question = "q"
{top}
[[build]]
name = "b"
[[item]]
id = "i"
question = "q"
path = "a full pool"
{item}
[[arm]]
name = "a"
build = "b"
"""


def test_a_path_in_words_alone_is_no_pass(tmp_path: Path) -> None:
    folder = copied(tmp_path, "23*")
    edited(folder / "trial.toml", lambda text: re.sub(r"\[\[item.witness\]\]\nname = .prompt.*?\n\n", "", text, flags=re.DOTALL))
    long = cell(read(folder), "long-context", "0.29")
    assert long.result == "inconclusive"
    assert "no witness" in long.reason


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("passes = 0", "`passes` is at least 1"),
        ("whole = -1", "`whole` cannot be negative"),
        ("witness = [{ name = 'w', pattern = 'x', at_least = 0 }]", "it shows nothing"),
        ("witness = [{ name = 'w', pattern = '(?P<value>x)', measure = 'sum', at_least = -1 }]", "it shows nothing"),
        ("witness = [{ name = 'w', pattern = 'x', at_least = 3, at_most = 2 }]", "nothing holds that"),
        ("witness = [{ name = 'w', pattern = 'x', at_least = nan }]", "are figures"),
        ("control = { failed = 6, of = 5 }", "`control` says"),
    ],
)
def test_conditions_that_decide_nothing_are_refused(item: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text(LEAST.format(top="", item=item), encoding="utf-8")
    with pytest.raises(TrialError, match=told):
        read_manifest(tmp_path)


def test_a_reserve_that_is_no_figure_is_refused(tmp_path: Path) -> None:
    (tmp_path / "trial.toml").write_text(LEAST.format(top="reserve_mib = nan", item=""), encoding="utf-8")
    with pytest.raises(TrialError, match="reserve_mib"):
        read_manifest(tmp_path)


def test_a_rung_on_which_an_engine_died_is_not_chosen_whatever_the_samples_saw() -> None:
    died = Rung(build="a", setting="u", value=0.92, memory=Memory(gpu="0", free=900), survived=1, ran=2)
    assert ladder(rung(0.90, 500), died).highest_with(100) == 0.90
    unseen = Rung(build="a", setting="u", value=0.92, memory=Memory(gpu="0"), survived=0, ran=1)
    assert ladder(rung(0.90, 500), unseen, rung(0.94, 500)).highest_with(100) == 0.90


def test_a_low_rung_of_one_build_does_not_hide_what_both_were_tried_on() -> None:
    both = (rung(0.90, 500), rung(0.92, 400), rung(0.92, 300, build="b"))
    assert ladder(*both).highest_with(100) == 0.92
    assert ladder(rung(0.90, 50), *both[1:]).highest_with(100) is None


def test_memory_of_the_boot_before_is_not_what_was_in_use_at_rest() -> None:
    boot = Boot(id="b", source="s", engine="vllm", start=Instant.sharp(1000), ready=Instant.sharp(1050), end=Instant.sharp(1100))
    samples = [(float(at), 21000.0) for at in range(0, 980, 10)] + [(990.0, 4.0), (1052.0, 700.0), (1080.0, 950.0)]
    rows = tuple(MemorySample(Instant.sharp(at), "0", used) for at, used in samples)
    (one,) = measured([Reading(info=SourceInfo(name="m", kind="gpu_memory"), memory=rows)], [boot], None, 1060.0)
    assert (one.base, one.own_rest) == (4, 696)


def test_a_prediction_of_runs_that_nothing_dates_is_not_before_them() -> None:
    assert Foretold(prediction=PREDICTION, registered=1.0).is_before  # no run yet
    assert not Foretold(prediction=PREDICTION, registered=1.0, undated=True).is_before


def test_an_upper_bound_above_what_was_predicted_leans_to_no_side() -> None:
    def tested(measured: float, *, is_bound: bool = False) -> Foretold:
        return Foretold(prediction=PREDICTION, measured=measured, is_bound=is_bound, registered=1.0, first_run=2.0)

    leans = lean([tested(-10.0, is_bound=True), tested(-50.0, is_bound=True), tested(-60.0)])
    assert leans is not None
    assert (leans.above, leans.below) == (0, 2)


def test_what_an_arm_is_to_boot_with_is_under_trial_and_no_instrument(tmp_path: Path) -> None:
    folder = copied(tmp_path, "23*")
    edited(folder / "logs" / "23-long-0.29" / "engine.log", lambda text: text.replace("{'model'", "{'enforce_eager': True, 'model'")
           .replace("enforce_eager=False", "enforce_eager=True"))  # fmt: skip
    assert "every run carried eager" in cell(read(folder), "long-context", "0.29").reason
    edited(folder / "trial.toml", lambda text: text.replace("utilization = 0.94 }", "utilization = 0.94, enforce_eager = true }"))
    assert cell(read(folder), "long-context", "0.29", enforce_eager="True").result == "pass"


@pytest.mark.parametrize(("wanted", "result"), [("0.29", "pass"), ("0.29.0", "pass"), ("0.2", "void"), ("0.29.1", "void"), ("0.29.0.1", "void")])
def test_a_version_may_be_named_without_its_last_part(wanted: str, result: str, tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    edited(folder / "trial.toml", lambda text: "# as it was\n" + text.replace('version = "0.29.0"', f'version = "{wanted}"'))
    assert run(read(folder), "13-forced-0.29-0.94").result == result


def test_a_probe_log_that_is_missing_loses_only_the_outage(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    (folder / "logs" / "probe.log").unlink()
    found = read(folder)
    assert (len(found.runs), found.downtime) == (1, None)
    assert any("probe.log" in problem.what and problem.lost for problem in found.problems)


def test_a_folder_of_a_run_that_says_nothing_of_itself_is_told(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[34]*")
    (folder / "logs" / "14-forced-0.31-0.94" / "run.toml").unlink()
    (folder / "logs" / ".15-half").mkdir()
    assert [problem.file.rpartition("/")[2] for problem in read(folder).problems if problem.lost] == ["14-forced-0.31-0.94"]


def test_of_a_boot_that_several_runs_share_each_has_the_memory_of_its_own_time() -> None:
    boot = Boot(id="b", source="s", engine="vllm", start=Instant.sharp(0), ready=Instant.sharp(50), end=Instant.sharp(200))
    rows = tuple(MemorySample(Instant.sharp(at), "0", used, 1000.0) for at, used in ((55.0, 700.0), (80.0, 750.0), (120.0, 990.0)))
    readings = [Reading(info=SourceInfo(name="m", kind="gpu_memory"), memory=rows)]
    (first,), (second,) = (measured(readings, [boot], None, 60.0, Window(*bounds)) for bounds in ((None, 100.0), (100.0, None)))
    assert (first.margin, second.margin) == (250, 10)


def test_a_run_on_a_build_that_an_item_does_not_ask_about_is_not_lost(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[34]*")
    edited(folder / "trial.toml", lambda text: text.replace("control = { failed = 5", 'builds = ["0.31"]\ncontrol = { failed = 5'))
    assert cell(read(folder), "forced", "0.29").result == "pass"


def test_an_environment_keeps_what_tells_of_an_instrument_and_no_secret() -> None:
    kept = watching(b"NSYS_PROFILING_SESSION_ID=4711\0MY_MEM_HISTORY=1\0HOME=/x\0NSYS_API_KEY=abc\0CUDA_LAUNCH_BLOCKING=0\0", known().instruments)
    assert kept == {"NSYS_PROFILING_SESSION_ID": "4711", "MY_MEM_HISTORY": "1"}
