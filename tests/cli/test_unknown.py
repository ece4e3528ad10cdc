"""`triage unknown`: from a log that no rule explains to a rule that names it, and everything that keeps a draft from being one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.lives import Life, log
from triage.cli.main import main
from triage.knowledge.lint import check
from triage.knowledge.load import load

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)


def broken(hour: float, slot: int, pid: int) -> Life:
    life = Life(hour, pid=pid).serves(1)
    life.worker(2, "WARNING", "pool.py:90", f"slot table of pool 'kv-{slot}' failed over to a spare, 1 slot lost").serves(2)
    text = f"slot table broke: page {slot} of pool 'kv-{slot}' points to itself (0x7f2a{slot:04x}0000), 12.{slot % 10} GiB mapped"
    return life.worker(1, "ERROR", "pool.py:144", text).dies()


def seat(hour: float, pid: int) -> Life:
    return Life(hour, pid=pid).serves().core("ERROR", "seat.py:12", "the licence server at 10.1.2.3:8443 took back its seat").dies()


@pytest.fixture
def logs(tmp_path: Path) -> str:
    return log(tmp_path, broken(3, 17, 100), broken(5, 923, 200), seat(7, 300), broken(9, 44, 400))


def test_clusters_come_with_count_times_and_an_example_with_file_and_line(logs: str) -> None:
    shown = run("unknown", logs)
    assert shown.exit_code == 0
    assert "4 unknown incidents of 4 in 2 clusters" in shown.stdout
    assert "slot table broke: page <num> of pool '<str>' points to itself (<hex>), <size> mapped" in shown.stdout
    text = Path(logs).read_text().splitlines()
    line = next(n for n, said in enumerate(text, 1) if "slot table broke" in said)
    assert f"{logs}:{line}" in shown.stdout


def test_the_document_has_the_clusters_with_their_incidents(logs: str) -> None:
    document = json.loads(run("unknown", logs, "--format", "json").stdout)
    assert (document["schema"], document["unknown"]) == ("triage-unknown/1", 4)
    assert [cluster["count"] for cluster in document["clusters"]] == [3, 1]
    assert len({name for cluster in document["clusters"] for name in cluster["incidents"]}) == 4


def test_a_drafted_rule_is_sound_and_names_what_was_unknown(logs: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    assert "2 rules drafted" in run("unknown", logs, "--draft", own).stdout
    checked = check(own)
    assert checked.rules == 2
    assert checked.flaws == ()
    counts = json.loads(run("classify", logs, "--rules", own, "--format", "json").stdout)["counts"]
    assert Counter({row["class"]: row["count"] for row in counts if row["count"]}) == {
        "draft-slot-table-broke-page": 3,
        "draft-licence-server-took-back": 1,
    }
    assert "nothing unknown" in run("unknown", logs, "--rules", own).stdout


def test_the_sample_is_the_real_line_and_the_near_miss_one_the_engine_went_on_from(logs: str, tmp_path: Path) -> None:
    run("unknown", logs, "--draft", tmp_path / "own")
    (signature,) = load([tmp_path / "own"]).classes["draft-slot-table-broke-page"].signatures
    text = Path(logs).read_text().splitlines()
    assert signature.samples[0] in text
    assert signature.near_misses[0] in text
    assert "failed over to a spare" in signature.near_misses[0]


def test_a_draft_that_is_there_already_is_kept(logs: str, tmp_path: Path) -> None:
    run("unknown", logs, "--draft", tmp_path / "own")
    (first, *_) = sorted((tmp_path / "own" / "faults").glob("*.toml"))
    first.write_text("mine")
    again = run("unknown", logs, "--draft", tmp_path / "own")
    assert again.exit_code == 0
    assert first.read_text() == "mine"
    assert "kept" in again.stdout


def test_no_word_of_a_user_and_no_key_gets_into_a_draft(tmp_path: Path) -> None:
    life = Life(3).serves()
    life.worker(1, "ERROR", "pool.py:144", "slot table broke while it served 'please tell me about the bears', api_key=sk-0123456789abcdef0123")
    folder = tmp_path / "own"
    run("unknown", log(tmp_path, life.dies()), "--draft", folder)
    (draft,) = (folder / "faults").glob("*.toml")
    assert "bears" not in draft.read_text()
    assert "0123456789abcdef" not in draft.read_text()
    assert check(folder).flaws == ()


@pytest.mark.parametrize(
    "line",
    [
        "slot table broke: https://bear:honeyhoney@pool.example/slots?token=honeyhoney was refused",
        "slot table broke with password=honeyhoney after the pool was drained",
        "slot table broke ''' and \"\"\" and ' at the end of the pool '",
    ],
)
def test_a_draft_of_a_line_with_a_secret_names_that_line_and_holds_no_secret(line: str, tmp_path: Path) -> None:
    logs, folder = log(tmp_path, Life(3).serves().worker(1, "ERROR", "pool.py:144", line).dies()), tmp_path / "own"
    run("unknown", logs, "--draft", folder)
    (draft,) = (folder / "faults").glob("*.toml")
    assert "honey" not in draft.name + draft.read_text()
    assert check(folder).flaws == ()
    assert "nothing unknown" in run("unknown", logs, "--rules", folder).stdout


def test_a_line_with_quotes_backslashes_and_control_characters_makes_a_file_that_loads(tmp_path: Path) -> None:
    life = Life(3).serves().worker(1, "ERROR", "pool.py:144", "slot table ''' broke \\d \"x\" \x1b[31m\x07 [a-z]+ {3} of pool \\ 'kv'")
    folder = tmp_path / "own"
    assert "1 rule drafted" in run("unknown", log(tmp_path, life.dies()), "--draft", folder).stdout
    assert check(folder).flaws == ()


@pytest.mark.parametrize(
    ("life", "said"),
    [
        (Life(3).serves().dies(), "says that something died, not why"),
        (Life(3).serves().worker(1, "ERROR", "x.py:1", "gone 17").dies(), "too little of the line is fixed text"),
    ],
)
def test_what_no_rule_can_be_made_of_is_said(tmp_path: Path, life: Life, said: str) -> None:
    shown = run("unknown", log(tmp_path, life), "--draft", tmp_path / "own")
    assert said in shown.stdout
    assert not list((tmp_path / "own").rglob("*.toml"))


def test_a_line_that_the_engine_survives_elsewhere_makes_no_rule(tmp_path: Path) -> None:
    hiccup = "a peer of the pool was lost and found"
    life = Life(3).serves(1).worker(0, "ERROR", "x.py:1", hiccup).serves(2).worker(0, "ERROR", "x.py:1", hiccup).dies()
    assert "the engine went on" in run("unknown", log(tmp_path, life), "--draft", tmp_path / "own").stdout


def test_where_everything_has_a_class_there_is_nothing_unknown() -> None:
    assert run("unknown", FIXTURES / "oom-then-cublas").stdout.startswith("nothing unknown")


def test_probes_alone_make_clusters_without_lines() -> None:
    shown = run("unknown", FIXTURES / "probes-alone" / "logs").stdout
    assert "refused at the first failed probe" in shown
    assert "a timeout at the first failed probe" in shown


def test_a_folder_that_cannot_be_written_is_said(logs: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("unknown", logs, "--draft", tmp_path / "file" / "own")
    assert result.exit_code == 2
    assert "can be written" in result.stderr


def test_without_scikit_learn_words_are_compared_and_it_is_said(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sklearn.feature_extraction.text", None)
    result = run("unknown", logs, "--likeness", "text")
    assert result.exit_code == 0
    assert "crash-triage[learn]" in result.stderr
    assert "2 clusters" in result.stdout


def test_markdown_has_a_heading_a_cluster(logs: str) -> None:
    assert run("unknown", logs, "--format", "markdown").stdout.count("\n### ") == 2
