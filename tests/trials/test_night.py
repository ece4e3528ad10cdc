"""The night of 24 boots: what is concluded, what is refused, and that both change when the evidence does."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.trials.night import NIGHT, cell, copied, edited, night, read, run
from triage.cli.main import main
from triage.ledger.journal import JournalError, append
from triage.trials.comparing import against, by_shape
from triage.trials.ladder import ladders
from triage.trials.predictions import KIND, lean

GOLDEN = Path(__file__).parent / "golden"
PREDICTION = {"id": "margin-0.94", "item": "forced", "arm": "0.31 at 0.94", "quantity": "free_at_worst_step"}


@pytest.mark.parametrize(("command", "code"), [("show", 0), ("verdict", 5), ("memory", 0), ("plan", 5)])
def test_the_transcript(command: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NIGHT.parents[1])
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(main, ["trial", command, "fixtures/acceptance-night"])
    assert result.exit_code == code, result.stderr
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert result.stdout == (GOLDEN / f"{command}.txt").read_text(encoding="utf-8")


def test_every_run_is_read_from_its_logs() -> None:
    trial = night()
    assert (len(trial.runs), trial.boots) == (24, 24)
    assert {one.run.boot.version for one in trial.counted if one.run.boot} == {"0.29.0", "0.31.0"}
    assert sum(one.run.fault_class == "device-oom" for one in trial.counted) == 7


# What the story concludes.


def test_with_the_hook_two_of_three_and_without_it_none_of_five() -> None:
    (one,) = against(cell(night(), "burst", "0.31"))
    assert (one.survived, one.ran) == ((0, 2), (5, 3))
    assert one.fisher == pytest.approx(0.107, abs=5e-4)
    assert not one.is_shown


def test_the_burst_has_to_be_whole() -> None:
    assert [(s.state, s.survived, s.ran) for s in by_shape(cell(night(), "burst", "0.31"))] == [("arrived whole", 0, 6), ("arrived in pieces", 2, 2)]


def test_margins_of_two_builds() -> None:
    (ladder,) = [one for one in ladders(night().counted) if one.item == "forced"]
    margins = {(rung.build, rung.value): rung.margin for rung in ladder.rungs}
    assert margins["0.29", 0.95] == 12
    assert margins["0.31", 0.94] == 174
    assert margins["0.29", 0.94] == 232
    assert margins["0.31", 0.95] == pytest.approx(-58.3, abs=0.1)


def test_where_the_extra_cost_sits() -> None:
    (ladder,) = [one for one in ladders(night().counted) if one.item == "forced"]
    pairs = ladder.pairs("0.29", "0.31")
    assert all(38 <= pair.rest <= 42 for pair in pairs if pair.rest is not None)
    assert sorted(pair.step for pair in pairs if pair.step is not None) == [20, 31, 38]


def test_the_rung_that_was_picked_and_what_it_costs() -> None:
    (ladder,) = [one for one in ladders(night().counted) if one.item == "forced"]
    assert ladder.highest_with(128) == 0.94
    assert ladder.highest_with(200) == 0.93
    assert ladder.highest_with(5000) is None
    assert ladder.kv_change(0.94) == pytest.approx(-0.034, abs=5e-4)
    assert not ladder.broken


def test_equal_margin_is_another_setting_on_each_build() -> None:
    (ladder,) = [one for one in ladders(night().counted) if one.item == "forced"]
    setting = ladder.setting_for("0.29", 174)
    assert setting is not None
    assert 0.94 < setting < 0.95
    assert ladder.setting_for("0.29", 5) is None  # less than was measured anywhere


def test_predictions_were_all_too_high() -> None:
    leans = lean(night().predictions)
    assert leans is not None
    assert (leans.above, leans.below) == (0, 4)
    assert 20 <= leans.least <= leans.largest <= 40
    assert all(one.is_before and not one.edited for one in night().predictions)


def test_the_outage_that_the_night_caused() -> None:
    downtime = night().downtime
    assert downtime is not None
    assert (round(downtime.seconds / 60), downtime.outages, downtime.failed) == (158, 1, 158)


def test_what_differs_between_the_builds() -> None:
    assert {one.name: dict(one.values) for one in night().differences} == {
        "version": {"0.29": "0.29.0", "0.31": "0.31.0"},
        "FlashInfer": {"0.29": "0.6.18", "0.31": "0.7.0"},
    }


# What the night first believed, and triage must not say.


def test_hooked_runs_are_not_pooled() -> None:
    burst = cell(night(), "burst", "0.31")
    assert [(stratum.name, len(stratum.ran)) for stratum in burst.strata] == [("no heavy instrument", 5), ("memory-history", 3)]
    assert (burst.result, burst.reason) == ("fail", "5 of 5 runs: device-oom")


def test_the_hook_was_blind() -> None:
    (died,) = [one for one in run(night(), "06-burst-new-hook").run.instruments if one.id == "memory-history"]
    assert died.is_blind
    assert run(night(), "05-burst-new-hook").run.instruments[0].recorded is None  # there was nothing to record


def test_racing_clients_are_no_test() -> None:
    burst = cell(night(), "burst", "0.29")
    assert burst.result == "inconclusive"
    assert "no step held more than 52" in burst.reason


def test_a_tier_that_was_never_asked_is_no_pass() -> None:
    tier, small = (c for c in night().cells if c.item.id == "cpu-tier")
    assert tier.result == "inconclusive"
    assert "path not run: the pool was full: largest 31.4" in tier.reason
    assert small.result == "fail"
    assert "bytes loaded: sum 0" in small.reason
    assert "bytes stored: sum 2,415,919,104" in small.reason


# Other evidence, other verdicts.


def test_without_the_hook_in_the_log_there_is_one_stratum(tmp_path: Path) -> None:
    folder = copied(tmp_path, "*burst-new*")
    for log in folder.glob("logs/*hook/engine.log"):
        edited(log, lambda text: "".join(line for line in text.splitlines(keepends=True) if "memory_hook.py" not in line))
    burst = cell(read(folder), "burst", "0.31")
    assert [(len(stratum.ran), stratum.survived) for stratum in burst.strata] == [(8, 2)]
    assert not against(burst)
    assert (burst.result, burst.reason) == ("fail", "6 of 8 runs: device-oom")


def test_a_hook_that_wrote_its_snapshot_is_not_blind(tmp_path: Path) -> None:
    folder = copied(tmp_path, "06*")
    (folder / "logs" / "06-burst-new-hook" / "memory_snapshot.pickle").write_bytes(b"\x80\x04N.")
    assert [one.recorded for one in run(read(folder), "06-burst-new-hook").run.instruments if one.id == "memory-history"] == [True]


def test_a_snapshot_of_another_hour_is_none_of_the_fault(tmp_path: Path) -> None:
    folder = copied(tmp_path, "06*")
    told = "2026-10-10T01:36:30.000000000Z (EngineCore pid=140) INFO 10-10 {} [memory_hook.py:58] wrote memory snapshot to /dumps/a\n"
    edited(folder / "logs" / "06-burst-new-hook" / "engine.log", lambda text: told.format("01:36:30").replace("T01:36", "T00:36") + text)
    assert [one.recorded for one in run(read(folder), "06-burst-new-hook").run.instruments if one.id == "memory-history"] == [False]


def test_heavy_runs_alone_say_nothing_of_the_engine_without(tmp_path: Path) -> None:
    burst = cell(read(copied(tmp_path, "*hook")), "burst", "0.31")
    assert burst.result == "inconclusive"
    assert "every run carried memory-history" in burst.reason


def test_an_unknown_instrument_is_heavy(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    edited(folder / "logs" / "13-forced-0.29-0.94" / "run.toml", lambda text: 'instruments = ["my-own-tracer"]\n' + text)
    forced = cell(read(folder), "forced", "0.29")
    assert forced.result == "inconclusive"
    assert "my-own-tracer" in forced.reason


def test_a_burst_that_did_arrive_whole_is_a_pass(tmp_path: Path) -> None:
    folder = copied(tmp_path, "01*")
    edited(folder / "logs" / "01-burst-old" / "engine.log", lambda text: text.replace("41 context requests, 5248", "64 context requests, 8192"))
    assert cell(read(folder), "burst", "0.29").result == "pass"


def test_without_a_line_of_its_steps_the_shape_of_racing_clients_is_unknown(tmp_path: Path) -> None:
    folder = copied(tmp_path, "01*")
    edited(folder / "logs" / "01-burst-old" / "engine.log", lambda text: "".join(x for x in text.splitlines(keepends=True) if "Iteration(" not in x))
    found = read(folder)
    assert run(found, "01-burst-old").run.shape.state == "unknown"
    assert cell(found, "burst", "0.29").result == "inconclusive"


def test_the_engines_steps_stand_over_what_the_client_meant(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    log = folder / "logs" / "13-forced-0.29-0.94" / "engine.log"
    edited(log, lambda text: text.replace("64 context requests, 8192", "40 context requests, 5120"))
    assert run(read(folder), "13-forced-0.29-0.94").run.shape.state == "arrived in pieces"


def test_a_tier_that_is_asked_and_answers_passes(tmp_path: Path) -> None:
    folder = copied(tmp_path, "20*")
    log = folder / "logs" / "20-tier" / "engine.log"
    edited(log, lambda text: text.replace("KV cache usage: 31.4%", "KV cache usage: 99.5%"))
    assert cell(read(folder), "cpu-tier", "0.31").result == "fail"
    edited(log, lambda text: text.replace("KV Transfer metrics: ", "KV Transfer metrics: vllm:kv_offload_load_bytes=4096, "))
    assert cell(read(folder), "cpu-tier", "0.31").result == "pass"


def test_another_build_than_the_arms_makes_a_run_void(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    edited(folder / "logs" / "13-forced-0.29-0.94" / "engine.log", lambda text: text.replace("0.29.0", "0.28.1"))
    forced = cell(read(folder), "forced", "0.29")
    assert (forced.result, forced.reason) == ("void", "booted 0.28.1, not 0.29.0")


def test_another_configuration_than_the_arms_makes_a_run_void(tmp_path: Path) -> None:
    folder = copied(tmp_path, "12*")
    log = folder / "logs" / "12-forced-0.31-0.95" / "engine.log"
    edited(log, lambda text: text.replace("'gpu_memory_utilization': 0.95", "'gpu_memory_utilization': 0.9"))
    forced = cell(read(folder), "forced", "0.31")
    assert (forced.result, forced.reason) == ("void", "gpu_memory_utilization is 0.9, not 0.95")


def test_a_death_of_another_class_is_no_failure_of_the_item(tmp_path: Path) -> None:
    folder = copied(tmp_path, "12*")
    edited(folder / "trial.toml", lambda text: text.replace('faults = ["device-oom"]', 'faults = ["collective-hang"]'))
    forced = cell(read(folder), "forced", "0.31")
    assert forced.result == "inconclusive"
    assert "died of device-oom before it could tell" in forced.reason


def test_runs_that_share_a_boot_are_one_replicate(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    twin = folder / "logs" / "13-twin"
    twin.mkdir()
    for file in (folder / "logs" / "13-forced-0.29-0.94").iterdir():
        (twin / file.name).write_bytes(file.read_bytes())
    assert cell(read(folder), "forced", "0.29").reason == "1 of 1 run"
    edited(twin / "run.toml", lambda text: 'independent = "the engine was reset between them"\n' + text)
    assert cell(read(folder), "forced", "0.29").reason == "2 of 2 runs"


def test_more_passes_can_be_asked_for(tmp_path: Path) -> None:
    folder = copied(tmp_path, "13*")
    edited(folder / "trial.toml", lambda text: text.replace("runs = 1\ncontrol", "runs = 4\npasses = 4\ncontrol"))
    forced = cell(read(folder), "forced", "0.29")
    assert (forced.result, forced.reason) == ("inconclusive", "1 of the 4 passes that count")


def test_a_failure_that_only_a_person_saw(tmp_path: Path) -> None:
    folder = copied(tmp_path, "23*")
    edited(folder / "logs" / "23-long-0.29" / "run.toml", lambda text: 'outcome = "fail"\nbecause = "the answer was another one"\n' + text)
    long = cell(read(folder), "long-context", "0.29")
    assert (long.result, long.reason) == ("fail", "1 of 1 run: by hand: the answer was another one")


def test_the_log_stands_over_the_word_of_a_person(tmp_path: Path) -> None:
    folder = copied(tmp_path, "12*")
    edited(folder / "logs" / "12-forced-0.31-0.95" / "run.toml", lambda text: 'outcome = "pass"\nbecause = "it answered"\n' + text)
    assert cell(read(folder), "forced", "0.31").result == "fail"


def test_a_lower_rung_that_fails_refutes_memory_pressure(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[1-9]*")
    dead = (NIGHT / "logs" / "12-forced-0.31-0.95" / "engine.log").read_text(encoding="utf-8")
    log = folder / "logs" / "18-forced-0.31-0.92" / "engine.log"
    log.write_text(dead.replace("'gpu_memory_utilization': 0.95", "'gpu_memory_utilization': 0.92"), encoding="utf-8")
    (ladder,) = ladders(read(folder).counted)
    assert ladder.broken == (("0.31", 0.93, 0.92),)


def test_an_edited_prediction_is_told_and_the_registered_one_counts(tmp_path: Path) -> None:
    folder = copied(tmp_path, "14*")
    edited(folder / "trial.toml", lambda text: text.replace("value = 195.0", "value = 175.0"))
    (one,) = [one for one in read(folder).predictions if one.prediction.id == "margin-0.94"]
    assert one.edited
    assert (one.prediction.value, one.residual) == (195, -21)


def test_a_second_thought_under_the_same_name_does_not_count(tmp_path: Path) -> None:
    folder = copied(tmp_path, "14*")
    append(folder / "predictions.jsonl", KIND, "margin-0.94", {**PREDICTION, "value": 175.0})
    (one,) = [one for one in read(folder).predictions if one.prediction.id == "margin-0.94"]
    assert (one.prediction.value, one.is_before) == (195, True)


def test_a_changed_journal_concludes_nothing(tmp_path: Path) -> None:
    folder = copied(tmp_path, "14*")
    edited(folder / "predictions.jsonl", lambda text: text.replace('"value":195.0', '"value":175.0'))
    with pytest.raises(JournalError, match="it was edited"):
        read(folder)


def test_what_was_written_after_the_run_is_no_prediction(tmp_path: Path) -> None:
    folder = copied(tmp_path, "1[24]*")
    for file in folder.glob("predictions.jsonl*"):
        file.unlink()
    assert CliRunner().invoke(main, ["trial", "predict", str(folder)]).exit_code == 0
    found = [one for one in read(folder).predictions if one.measured is not None]
    assert len(found) == 2
    assert not any(one.is_before for one in found)
    assert lean(found) is None
