"""The journal: what is written stays, whatever is done to its past is found, and writers at the same time keep the chain."""

from __future__ import annotations

import multiprocessing
import os
from multiprocessing.queues import Queue
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.ledger import journal
from triage.ledger.journal import JournalError, Record, RefusedError, WrittenError, append, examine, read

DAY = 86400.0
START = 1_790_000_000.0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "ledger.jsonl"
    for number in range(4):
        append(made, "mitigation.added", f"m{number}", {"cost": f"{number} tok/s", "text": "naïve \u2028 \x1b[31m"}, at=START + number * DAY)
    return made


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def flaws(path: Path, *heads: str) -> str:
    return "; ".join(flaw.what for flaw in examine(path, heads=heads)[1])


def test_what_was_written_is_read_back_in_order(path: Path) -> None:
    records = read(path)
    assert [(r.n, r.subject, r.at) for r in records] == [(n + 1, f"m{n}", START + n * DAY) for n in range(4)]
    assert [r.prev for r in records] == [journal.START, *(r.hash for r in records[:-1])]
    assert examine(path)[1] == []


def test_a_journal_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "none.jsonl") == []


@given(data=st.data())
def test_any_byte_that_is_changed_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("j") / "ledger.jsonl"
    for number in range(3):
        append(path, "trial.predicted", f"t{number}", {"margin": 12.5 * number}, at=START + number)
    whole = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != whole[place]))
    path.write_bytes(bytes(whole))
    assert examine(path)[1]
    with pytest.raises(JournalError):
        read(path)


def test_an_edit_names_the_line(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"1 tok/s", b"9 tok/s"))
    assert examine(path)[1][0].line == 2
    assert "record 2 (mitigation.added m1) is not as it was written: it was edited" in flaws(path)
    with pytest.raises(JournalError, match=r"ledger\.jsonl:2: "):
        read(path)


@pytest.mark.parametrize("gone", range(4))
def test_a_record_that_was_taken_out_is_missed(path: Path, gone: int) -> None:
    kept = lines(path)
    path.write_bytes(b"".join(kept[:gone] + kept[gone + 1 :]))
    assert ("taken out" in flaws(path)) if gone < 3 else ("the end was cut off" in flaws(path))


def test_an_emptied_or_deleted_journal_is_missed(path: Path) -> None:
    path.write_bytes(b"")
    assert "its last record was number 4" in flaws(path)
    path.unlink()
    assert "its last record was number 4" in flaws(path)


def test_records_that_changed_places_are_found(path: Path) -> None:
    a, b, c, d = lines(path)
    path.write_bytes(a + c + b + d)
    assert "moved" in flaws(path)
    assert "backdated" in flaws(path)


def forged(record: Record, **changed: object) -> bytes:
    """A record that was changed by somebody who knows how to hash."""
    bare = msgspec.structs.replace(record, **changed)
    return journal._encoded(msgspec.structs.replace(bare, hash=journal._digest(bare)))


def test_a_forged_record_with_a_right_hash_breaks_the_chain(path: Path) -> None:
    records, kept = read(path), lines(path)
    path.write_bytes(kept[0] + forged(records[1], data={"cost": "nothing"}) + kept[2] + kept[3])
    assert "record 3 was written after another record" in flaws(path)


def test_a_backdated_last_record_is_found_though_its_hash_is_right(path: Path) -> None:
    records, kept = read(path), lines(path)
    path.write_bytes(b"".join(kept[:3]) + forged(records[3], at=START - DAY))
    assert "claims a time (2026-09-20 14:13:20 UTC) before that of the record before it" in flaws(path)
    assert "the past written anew" in flaws(path)


def test_a_whole_past_written_anew_shows_against_a_hash_that_was_noted(path: Path) -> None:
    noted = read(path)[1].hash
    for file in path.parent.iterdir():
        file.unlink()
    for number in range(4):
        append(path, "mitigation.added", f"m{number}", {"cost": "nothing"}, at=START + number * DAY)
    assert flaws(path) == ""
    assert "that was noted: the past was written anew" in flaws(path, noted[:12])
    assert flaws(path, read(path)[1].hash[:12]) == ""


def test_a_hash_too_short_to_tell_is_refused(path: Path) -> None:
    assert "has the hash '4e'" in flaws(path, "4e")


def test_nothing_is_added_to_a_broken_journal(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"1 tok/s", b"9 tok/s"))
    before = path.read_bytes()
    with pytest.raises(JournalError, match="edited"):
        append(path, "mitigation.added", "m9", {})
    assert path.read_bytes() == before


def test_a_record_that_a_crash_cut_off_was_never_written(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b'{"at":1790000000.0,"data":{},"ha')
    assert "cut off" in flaws(path)
    assert append(path, "mitigation.claimed", "m0", {}).n == 5
    assert flaws(path) == ""


def test_a_cut_line_with_records_missing_is_no_crash(path: Path) -> None:
    kept = lines(path)
    path.write_bytes(b"".join(kept[:2]) + kept[2][:40])
    with pytest.raises(JournalError):
        append(path, "mitigation.claimed", "m0", {})
    assert path.read_bytes() == b"".join(kept[:2]) + kept[2][:40]


def test_a_clock_a_little_behind_waits_and_one_far_behind_is_refused(path: Path) -> None:
    assert append(path, "mitigation.claimed", "m0", {}, at=START + 3 * DAY - 60).at == START + 3 * DAY
    with pytest.raises(JournalError, match="set the clock right first"):
        append(path, "mitigation.claimed", "m0", {}, at=START)


@pytest.mark.parametrize("junk", [b"\x00\xff\n", b"[]\n", b'{"n": 1}\n', b"[" * 100_000 + b"\n", b"not json\n", b'{"at":1e999}\n'])
def test_a_line_that_is_no_record_is_named(path: Path, junk: bytes) -> None:
    path.write_bytes(path.read_bytes() + junk)
    assert "this line is no record" in flaws(path)


def test_a_record_too_large_is_refused(path: Path) -> None:
    with pytest.raises(JournalError, match="more than it takes"):
        append(path, "note", "m", {"text": "x" * 2_000_000})


def test_a_folder_in_its_place_is_a_word_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").mkdir()
    with pytest.raises(JournalError, match="give another place with --ledger"):
        append(tmp_path / "ledger.jsonl", "note", "m", {})


def _register(path: Path, done: Queue[str]) -> None:
    try:
        done.put(append(path, "mitigation.added", "m", {}, once=True).hash)
    except WrittenError:
        done.put("")


def test_of_two_that_register_one_name_at_once_one_is_refused(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    done: Queue[str] = context.Queue()
    writers = [context.Process(target=_register, args=(tmp_path / "ledger.jsonl", done)) for _ in range(4)]
    for writer in writers:
        writer.start()
    told = sorted(done.get(timeout=120) for _ in writers)
    for writer in writers:
        writer.join()
    assert told[:3] == ["", "", ""]
    assert [r.hash for r in read(tmp_path / "ledger.jsonl")] == [told[3]]


def test_a_time_that_no_calendar_shows_is_no_record(path: Path) -> None:
    path.write_bytes(path.read_bytes() + forged(read(path)[3], n=5, prev=read(path)[3].hash, at=1e20))
    assert "this line is no record" in flaws(path)


def _write(path: Path, name: str, count: int) -> None:
    for number in range(count):
        append(path, "note", f"{name}{number}", {"by": name})


def test_two_writers_at_once_keep_the_chain(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(path, name, 40)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    records, wrong = examine(path)
    assert wrong == []
    assert sorted(r.subject for r in records) == sorted(f"{name}{n}" for name in ("a", "b") for n in range(40))
    assert [r.subject for r in records if r.data["by"] == "a"] == [f"a{n}" for n in range(40)]


def test_who_reads_while_others_write_sees_nothing_wrong(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=_write, args=(path, "x" * 20_000, 60))
    writer.start()
    seen = set()
    while writer.is_alive():
        records, wrong = examine(path)
        assert wrong == []
        seen.add(len(records))
    writer.join()
    assert len(seen) > 3
    assert len(read(path)) == 60


@pytest.mark.parametrize("full", ["write_text", "replace"])
def test_a_note_that_a_full_disk_keeps_from_being_written_stays_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch, full: str) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, full, no_room)
        assert append(path, "note", "m", {}).n == 5
    assert (journal.head_of(path) or (0, ""))[0] == 4
    assert flaws(path) == ""
    with path.open("ab") as file:
        file.write(b'{"at":17900')
    assert append(path, "note", "m", {}).n == 6
    assert (journal.head_of(path) or (0, ""))[0] == 6


def test_what_is_no_text_is_refused_and_nothing_is_written(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(RefusedError, match="no text"):
        append(path, "note", "m", {"text": "\udcff"})
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", ["pipe", "/dev/null"])
def test_what_is_no_file_keeps_nothing_and_is_refused(tmp_path: Path, place: str) -> None:
    where = tmp_path / place
    if place == "pipe":
        os.mkfifo(where)
    for use in (read, lambda at: append(at, "note", "m", {})):
        with pytest.raises(RefusedError, match="no file"):
            use(where)
