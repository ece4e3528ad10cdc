"""`triage mitigation`: what is registered is frozen, and each word about it goes into the journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.ledger.book import mitigations
from triage.ledger.journal import read

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
ADD = ["add", "car-off", "--class", "collective-hang", "--change=--disable-custom-all-reduce"]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def run(journal: Path, *arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["mitigation", *arguments, "--ledger", str(journal)], catch_exceptions=False)


def test_what_was_registered_says_what_it_would_take(journal: Path) -> None:
    done = run(journal, *ADD, "--cost", "decode 39.4 -> 29.9 tok/s", "--rate", "4/17d", "--falsifier", "any engine death on gpu-a",
               "--ref", "https://example.org/1", "--ref-status", "open", "--ref", "https://example.org/2")  # fmt: skip
    assert done.exit_code == 0
    assert "three fault intervals are 12.7 d, 19.0 d of" in done.output
    assert "(-24 %)" in done.output
    assert read(journal)[0].hash[:12] in done.output
    (kept,) = mitigations(read(journal))
    assert [(r.url, r.status) for r in kept.entry.references] == [("https://example.org/1", "open"), ("https://example.org/2", "")]


def test_an_entry_can_be_reviewed_before_it_is_registered(journal: Path) -> None:
    done = run(journal, "add", "--from", str(FIXTURES / "two-fixes" / "entries" / "piecewise-graphs.toml"))
    assert done.exit_code == 0
    assert mitigations(read(journal))[0].entry.mechanisms == ("full-graph-on-mixed-batch",)


def test_what_is_registered_is_frozen(journal: Path) -> None:
    run(journal, *ADD)
    again = run(journal, *ADD)
    assert (again.exit_code, len(read(journal))) == (2, 1)
    assert "frozen: give it another name" in again.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["add", "x"], "give NAME, --class and --change"),
        (["add", "x", "--class", "nothing-of-ours", "--change", "A=1"], "no 'nothing-of-ours'"),
        (["add", "x", "--class", "saturation", "--change", "A=1"], "is no fault"),
        (["add", "x", "--class", "triton-fault"], "no change"),
        (["add", "x", "--class", "triton-fault", "--change", "A=1", "--falsifier", "class triton-fault,nothing-of-ours"], "no 'nothing-of-ours'"),
        (["add", "x", "--class", "triton-fault", "--change", "A=1", "--claim", "helps"], "write eliminates"),
        (["add", "x", "--class", "triton-fault", "--change", "A=1", "--ref-status", "open"], "says something of a --ref"),
        (["add", "x", "--class", "triton-fault", "--change", "A=1", "--rate", "soon"], "write how many in how long"),
        (["add", "x\x1b[31m", "--class", "triton-fault", "--change", "A=1"], "letters, digits"),
        (["claim", "x"], "none was registered"),
        (["withdraw", "x"], "--reason"),
    ],
)
def test_what_cannot_be_taken_is_refused_with_a_word(journal: Path, arguments: list[str], says: str) -> None:
    done = run(journal, *arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert "\x1b" not in done.output
    assert not journal.exists()


def test_each_word_is_written_down_with_its_time_and_reason(journal: Path) -> None:
    run(journal, *ADD)
    for verb in ("claim", "pause", "resume"):
        assert run(journal, verb, "car").exit_code == 0
    assert run(journal, "confound", "car-off", "--reason", "driver", "--since", "2h").exit_code == 0
    assert run(journal, "withdraw", "car-off", "--reason", "it came again").exit_code == 0
    (kept,) = mitigations(read(journal))
    assert [word.said for word in kept.words] == ["claimed", "paused", "resumed", "confounded", "withdrawn"]
    assert kept.words[3].written - kept.words[3].since == pytest.approx(7200, abs=60)
    shown = run(journal, "show", "car-off")
    assert "withdrawn" in shown.output
    assert "(it came again)" in shown.output


def test_nothing_is_said_of_a_time_that_lies_ahead(journal: Path) -> None:
    run(journal, *ADD)
    done = run(journal, "claim", "car-off", "--since", "2199-01-01")
    assert (done.exit_code, "lies ahead" in done.output, len(read(journal))) == (2, True, 1)
    done = run(journal, "claim", "car-off", "--since", "1900-01-01")
    assert (done.exit_code, "before any engine" in done.output, len(read(journal))) == (2, True, 1)


def test_a_list_and_a_document(journal: Path) -> None:
    assert "no mitigation was registered" in run(journal, "list").output
    run(journal, *ADD)
    assert "car-off" in run(journal, "list").output
    told = json.loads(run(journal, "list", "--format", "json").output)
    assert (told["schema"], told["mitigations"][0]["class"], told["mitigations"][0]["claim"]) == ("triage/1", "collective-hang", "eliminates")


def test_an_edited_journal_is_neither_read_nor_added_to(journal: Path) -> None:
    run(journal, *ADD)
    journal.write_bytes(journal.read_bytes().replace(b"collective-hang", b"collective-hung"))
    before = journal.read_bytes()
    for arguments in (["list"], ["claim", "car-off"], ["show", "car-off"], [*ADD[:1], "other", *ADD[2:]]):
        done = run(journal, *arguments)
        assert (done.exit_code, "it was edited" in done.output) == (4, True)
    assert journal.read_bytes() == before


def test_the_journal_lies_beside_the_history_unless_it_is_named(tmp_path: Path) -> None:
    runner = CliRunner(env={"TRIAGE_STORE": str(tmp_path / "history.db")})
    assert runner.invoke(main, ["mitigation", *ADD]).exit_code == 0
    assert (tmp_path / "ledger.jsonl").exists()
    runner = CliRunner(env={"TRIAGE_LEDGER": str(tmp_path / "own.jsonl")})
    assert runner.invoke(main, ["mitigation", *ADD]).exit_code == 0
    assert (tmp_path / "own.jsonl").exists()


def test_what_was_withdrawn_is_not_claimed_again_under_its_name(journal: Path) -> None:
    run(journal, *ADD)
    run(journal, "claim", "car-off")
    run(journal, "withdraw", "car-off", "--reason", "refuted")
    done = run(journal, "claim", "car-off")
    assert (done.exit_code, "register it under another name" in done.output) == (2, True)
    assert len(read(journal)) == 3


def test_a_secret_in_a_reason_and_a_word_that_is_no_text_are_refused(journal: Path) -> None:
    run(journal, *ADD)
    secret = run(journal, "pause", "car-off", "--reason", "moved to https://me:hushhush@host/")
    assert (secret.exit_code, "hushhush" in secret.output) == (2, False)
    broken = run(journal, "add", "y", "--class", "triton-fault", "--change", "A=\udcff")
    assert (broken.exit_code, "no text" in broken.output) == (2, True)
    assert len(read(journal)) == 1
