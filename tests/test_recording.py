"""Whatever way a log comes, and however often: each incident stands in the history once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest

from tests.lived import LOGS, at, bare, between, compose, count, incidents, journal, json_file, kubernetes, remember, whole, write
from triage.history.store import Store, open_store
from triage.timeline.coverage import SHORTEST_GAP

CRASH = at("2026-11-13T02:40:00"), at("2026-11-13T03:20:00")  # one crash with the boots on either side
HANG = at("2026-11-14T09:30:00"), at("2026-11-14T10:20:00")
LATER = at("2026-11-29T00:00:00")
WAYS: dict[str, Callable[[list[str]], list[str]]] = {
    "docker": list, "json-file": json_file, "journald": journal, "kubernetes": kubernetes, "compose": compose, "file": bare,
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "history.db") as opened:
        yield opened


def fresh(path: Path) -> Store:
    path.parent.mkdir(exist_ok=True)
    return open_store(path)


def test_a_log_read_twice_adds_nothing(store: Store, tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH), when=LATER)
    assert remember(store, log) == [("", "cublas-fault")]
    before = incidents(store), count(store, "events")
    assert remember(store, log) == []
    assert (incidents(store), count(store, "events")) == before


@pytest.mark.parametrize("first", WAYS)
def test_the_same_lines_through_another_way_are_the_same_incident(first: str, tmp_path: Path) -> None:
    lines = between("vllm.log", *CRASH)
    with fresh(tmp_path / "one" / "history.db") as one:
        for way in (first, *(w for w in WAYS if w != first)):
            remember(one, write(tmp_path / f"{way}.log", WAYS[way](lines), when=LATER))
        assert [(row[0], row[1]) for row in incidents(one)] == [(row[0], "cublas-fault") for row in incidents(one)][:1]
        assert (count(one, "sources"), count(one, "boots")) == (1, 2)
        ids = {row[0] for row in incidents(one)}
    with fresh(tmp_path / "other" / "history.db") as other:
        remember(other, write(tmp_path / "docker.log", lines, when=LATER))
        assert {row[0] for row in incidents(other)} == ids


def test_two_ways_that_are_both_read_in_windows_are_one_log_in_quiet_times_too(store: Store, tmp_path: Path) -> None:
    for now in range(int(CRASH[0]) + 300, int(CRASH[1]) + 300, 300):
        for way in (list, journal, bare):
            if lines := between("vllm.log", now - 900, now):
                remember(store, write(tmp_path / "window.log", way(lines), when=now), source="vllm")
    assert [row[1] for row in incidents(store)] == ["cublas-fault"]
    assert (count(store, "sources"), count(store, "boots")) == (1, 2)


def test_two_engines_with_the_same_story_stay_two(store: Store, tmp_path: Path) -> None:
    lines = journal(between("vllm.log", *CRASH))
    remember(store, write(tmp_path / "a.json", lines, when=LATER))
    remember(store, write(tmp_path / "b.json", [line.replace("gpu-a", "gpu-b") for line in lines], when=LATER))
    assert [row[1] for row in incidents(store)] == ["cublas-fault", "cublas-fault"]
    assert len({row[0] for row in incidents(store)}) == 2


def test_two_engines_under_one_name_are_told_apart_by_their_lines(store: Store, tmp_path: Path) -> None:
    lines = between("vllm.log", *CRASH)
    noon = between("vllm.log", at("2026-11-12T13:20:00"), at("2026-11-12T13:50:00"))
    other = [line.replace("2026-11-12T13:3", "2026-11-13T03:0").replace("11-12 13:3", "11-13 03:0") for line in noon if "T13:3" in line]
    remember(store, write(tmp_path / "vllm.log", lines, when=LATER), source="vllm")
    remember(store, write(tmp_path / "vllm.log", other, when=LATER), source="vllm")
    assert [row[1] for row in incidents(store)] == ["cublas-fault", "cublas-fault"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_parts_of_a_log_in_any_order_give_the_same_history(order: tuple[int, ...], tmp_path: Path) -> None:
    start, end = CRASH[0], HANG[1]
    cuts = [start, at("2026-11-13T03:01:00"), at("2026-11-14T09:57:12"), end]  # inside the crash, inside the hang's last words
    parts = [between("vllm.log", cuts[i] - 300, cuts[i + 1]) for i in range(3)]
    paths = [write(tmp_path / f"part{i}.log", part, when=LATER) for i, part in enumerate(parts)]
    probes = write(tmp_path / "probe.log", between("probe.log", start, end), when=LATER)
    with fresh(tmp_path / "a" / "history.db") as pieces, fresh(tmp_path / "b" / "history.db") as at_once:
        for index in order:
            remember(pieces, paths[index], source="vllm@gpu-a")
        remember(pieces, probes)
        remember(at_once, write(tmp_path / "all.log", between("vllm.log", start - 300, end), when=LATER), probes)
        assert incidents(pieces) == incidents(at_once)
        assert [row[1] for row in incidents(pieces)] == ["cublas-fault", "collective-hang"]


def test_a_log_that_is_rotated_compressed_and_copied_adds_nothing(store: Store, tmp_path: Path) -> None:
    logs, copy = tmp_path / "logs", tmp_path / "backup"
    logs.mkdir()
    copy.mkdir()
    lines = between("vllm.log", *CRASH)
    write(logs / "vllm.log", lines[:200], when=LATER)
    remember(store, str(logs))
    (logs / "vllm.log").rename(logs / "vllm.log.1")
    write(logs / "vllm.log", lines[200:], when=LATER)
    remember(store, str(logs))
    before = incidents(store), count(store, "events"), count(store, "sources")
    write(logs / "vllm.log.2.gz", lines[:200])
    (logs / "vllm.log.1").unlink()
    write(copy / "vllm.log-20261113.gz", lines[:200])
    assert remember(store, str(logs)) == remember(store, str(copy)) == []
    assert (incidents(store), count(store, "events"), count(store, "sources")) == before
    assert len(before[0]) == 1


def test_a_truncated_copy_goes_on_where_the_log_was(store: Store, tmp_path: Path) -> None:
    lines = between("vllm.log", *CRASH)
    log = tmp_path / "vllm.log"
    remember(store, write(log, lines[:150], when=LATER))
    remember(store, write(log, lines[150:], when=LATER))  # copytruncate: the same file, begun anew
    with fresh(tmp_path / "whole" / "history.db") as other:
        remember(other, write(log, lines, when=LATER))
        assert incidents(store) == incidents(other)


def test_a_log_without_any_stamp_is_known_again_by_its_offsets(store: Store, tmp_path: Path) -> None:
    life = [
        "vLLM API server version 0.11.2",
        "torch.cuda.OutOfMemoryError: CUDA out of memory.",
        "terminate called after throwing an instance of 'c10::Error'",
    ]
    log = write(tmp_path / "out.log", life)
    remember(store, log)
    before = count(store, "events"), len(incidents(store))
    assert before[0]
    remember(store, log)
    assert (count(store, "events"), len(incidents(store))) == before


def test_a_hang_first_seen_while_it_lasts_is_completed_and_not_doubled(store: Store, tmp_path: Path) -> None:
    during = at("2026-11-14T09:52:00")
    told = remember(store, write(tmp_path / "probe.log", between("probe.log", HANG[0], during), when=LATER),
                    write(tmp_path / "vllm.log", between("vllm.log", HANG[0], during), when=LATER))  # fmt: skip
    first = incidents(store)
    assert told == [("", "unclassified")]
    assert len(first) == 1
    told = remember(store, write(tmp_path / "probe.log", between("probe.log", *HANG), when=LATER),
                    write(tmp_path / "vllm.log", between("vllm.log", *HANG), when=LATER))  # fmt: skip
    assert told == [("unclassified", "collective-hang")]
    assert len(incidents(store)) == 1
    assert store.db.execute("SELECT incident FROM aliases WHERE id = ?", (first[0][0],)).fetchone() or incidents(store)[0][0] == first[0][0]


def test_dumps_that_come_later_make_the_absence_of_others_evidence(store: Store, tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", at("2026-11-12T13:31:58"), HANG[1]), when=LATER)
    remember(store, log)
    assert {row[9] for row in incidents(store)} == {"not collected"}
    remember(store, log, str(LOGS / "flight-recorder" / "2026-11-14"))
    assert [row[9] for row in incidents(store)][-2:] == ["absent", "present"]


def test_good_probes_are_kept_only_beside_bad_ones(store: Store, tmp_path: Path) -> None:
    lines, _ = whole("probe.log")
    for start in range(0, 1200, 100):
        remember(store, write(tmp_path / "probe.log", list(lines[start : start + 150]), when=LATER))
    bad = store.db.execute("SELECT count(*) FROM probes WHERE symbol NOT IN ('.', 's')").fetchone()[0]
    assert bad == sum(" 200 0 " not in line for line in lines[:1250])
    assert count(store, "probes") <= bad + 2 * count(store, "outages") + 4
    assert count(store, "coverage") == 1


def test_probes_stamped_at_their_end_are_the_same_with_and_without_a_known_timeout(store: Store, tmp_path: Path) -> None:
    lines = ["2026-11-12T03:10:00Z 200 0", "2026-11-12T03:11:30Z 000 28", "2026-11-12T03:12:30Z 000 28 time=30.0", "2026-11-12T03:13:00Z 200 0"]
    remember(store, write(tmp_path / "p.log", lines[:2], when=LATER), source="p")
    remember(store, write(tmp_path / "p.log", lines, when=LATER), source="p")
    assert store.db.execute("SELECT symbols FROM outages").fetchall() == [("tt",)]


def test_a_probe_log_without_a_target_is_the_same_under_every_name(store: Store, tmp_path: Path) -> None:
    probes = [line.replace(" http://gpu-a:8000/v1/completions", "") for line in between("probe.log", *CRASH)]
    engine = write(tmp_path / "vllm.log", between("vllm.log", *CRASH))
    remember(store, engine, write(tmp_path / "probe.log", probes), source="vllm")
    before = incidents(store)
    for name in ("probe.log", "copy.log", "copy.log.gz"):
        assert remember(store, write(tmp_path / name, probes)) == []
    assert incidents(store) == before
    assert count(store, "outages") == len(before) == 1


def test_coverage_is_the_union_of_what_was_seen(store: Store, tmp_path: Path) -> None:
    from triage.history.query import covered

    start = at("2026-11-13T04:00:00")
    for begin in (0, 3600, 7200, 6 * 3600):
        remember(store, write(tmp_path / "probe.log", between("probe.log", start + begin, start + begin + 4000), when=LATER))
    seen = covered(store.db)
    assert [round((gap.end - gap.start) / 3600, 1) for gap in seen.gaps] == [2.9]
    assert all(gap.end - gap.start >= SHORTEST_GAP for gap in seen.gaps)


def test_a_run_that_was_given_nothing_it_knows_is_not_a_whole_one(store: Store, tmp_path: Path) -> None:
    remember(store, write(tmp_path / "probe.log", between("probe.log", *CRASH)))
    remember(store, write(tmp_path / "vllm.log", ["Error response from daemon: No such container: vllm"]))
    assert store.db.execute("SELECT complete FROM runs ORDER BY id").fetchall() == [(1,), (0,)]


def test_a_run_that_fails_on_the_way_leaves_nothing(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *CRASH), when=LATER)
    monkeypatch.setattr("triage.recording.write_outages", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        remember(store, log)
    assert count(store, "events") == count(store, "sources") == count(store, "runs") == 0
    monkeypatch.undo()
    assert remember(store, log) == [("", "cublas-fault")]


def test_a_mark_of_a_common_cause_is_kept_however_many_came_before_it(store: Store, tmp_path: Path) -> None:
    """A host's journal has weeks of unit reloads and no lives; the one before a refusal is not among the first."""
    began = datetime(2026, 11, 1, tzinfo=UTC)
    stamps = [began + timedelta(minutes=5 * number) for number in range(5000)]
    reloads = [f"{at:%b %d %H:%M:%S} node-a systemd[1]: Reloading requested from client PID 4410 ('systemctl')...\n" for at in stamps]
    for part in (reloads[:2500], reloads[2500:]):
        remember(store, write(tmp_path / "journal.log", part, when=LATER))
    last, kept = store.db.execute("SELECT max(sorted_at), count(*) FROM events WHERE rule = 'context/unit-reload'").fetchone()
    assert (last, kept) == (stamps[-1].timestamp(), len(reloads))
