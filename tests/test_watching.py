"""Following a log that grows, rotates and is truncated gives the history of one whole read, and goes on where it was left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.lived import KNOWN, at, between, incidents, remember, write
from triage import watching
from triage.cli.main import main
from triage.history.store import Store, open_store
from triage.parsers.options import Options
from triage.watching import Watcher

SPAN = at("2026-11-13T02:40:00"), at("2026-11-14T10:20:00")


def follow(store: Store, *paths: str) -> int:
    """Follow the files up to their ends with a new watcher; how many windows that took."""
    watcher = Watcher(store, KNOWN, paths, options=Options())
    steps = 0
    while watcher.step():
        steps += 1
    return steps


def append(path: Path, lines: list[str]) -> None:
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines))


def once(folder: Path) -> list[object]:
    folder.mkdir()
    with open_store(folder / "history.db") as store:
        remember(store, write(folder / "vllm.log", between("vllm.log", *SPAN), when=SPAN[1]),
                 write(folder / "probe.log", between("probe.log", *SPAN), when=SPAN[1]))  # fmt: skip
        return [row[1:] for row in incidents(store)]


def test_a_log_that_grows_and_rotates_gives_what_one_read_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "MOST", 1 << 17)
    monkeypatch.setattr(watching, "OVERLAP", 1 << 14)
    log, probes = tmp_path / "vllm.log", tmp_path / "probe.log"
    lines = between("vllm.log", *SPAN)
    with open_store(tmp_path / "history.db") as store:
        for part in range(10):
            if part == 4:
                os.rename(log, tmp_path / "vllm.log.1")
                append(tmp_path / "vllm.log.1", lines[part * len(lines) // 10 : part * len(lines) // 10 + 40])
                append(log, lines[part * len(lines) // 10 + 40 : (part + 1) * len(lines) // 10])
            else:
                append(log, lines[part * len(lines) // 10 : (part + 1) * len(lines) // 10])
            write(probes, between("probe.log", SPAN[0], SPAN[0] + (SPAN[1] - SPAN[0]) * (part + 1) / 10))
            assert follow(store, str(log), str(probes))
        assert [row[1:] for row in incidents(store)] == once(tmp_path / "once")
        assert len(incidents(store)) == 2


def test_a_watcher_that_was_away_for_several_rotations_reads_them_all(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    lines = between("vllm.log", *SPAN)
    with open_store(tmp_path / "history.db") as store:
        append(log, lines[:20])
        follow(store, str(log))
        append(log, lines[20:40])
        write(tmp_path / "vllm.log.3.gz", lines[:40], when=SPAN[0])
        write(tmp_path / "vllm.log.2", lines[40:1200], when=SPAN[0])  # with the first of the two incidents
        write(tmp_path / "vllm.log.1", lines[1200:1400], when=SPAN[0])
        write(log, lines[1400:])
        write(tmp_path / "vllm-other.log", between("vllm.log", at("2026-11-12T13:00:00"), at("2026-11-12T14:00:00")))
        follow(store, str(log))
        assert [row[1] for row in incidents(store)] == ["cublas-fault", "collective-hang"]
        assert follow(store, str(log)) == 0


def test_a_truncated_log_is_read_from_its_start_again(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    lines = between("vllm.log", *SPAN)
    with open_store(tmp_path / "history.db") as store:
        append(log, lines[:300])
        follow(store, str(log))
        write(log, lines[300:])
        follow(store, str(log))
        assert [row[1] for row in incidents(store)] == ["cublas-fault", "collective-hang"]


def test_nothing_new_costs_no_window_and_half_a_line_waits(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    lines = between("vllm.log", *SPAN)
    with open_store(tmp_path / "history.db") as store:
        append(log, lines[:50])
        assert follow(store, str(log)) == 1
        assert follow(store, str(log)) == 0
        with log.open("a") as file:
            file.write(lines[50][:40])
        assert follow(store, str(log)) == 0
        append(log, [lines[50][40:]])
        assert follow(store, str(log)) == 1


def test_the_command_tells_each_incident_in_three_lines_once(tmp_path: Path) -> None:
    log = write(tmp_path / "vllm.log", between("vllm.log", *SPAN))
    arguments = ["watch", log, "--once", "--store", str(tmp_path / "history.db")]
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0
    assert len(first.stdout.splitlines()) == 6
    assert f"{log}: " in first.stdout
    assert CliRunner().invoke(main, arguments).stdout == ""


def test_new_lines_that_tell_nothing_are_passed_over(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    append(log, ["a word of an entrypoint"])
    with open_store(tmp_path / "history.db") as store:
        assert follow(store, str(log)) == 1
        append(log, between("vllm.log", *SPAN))
        assert follow(store, str(log)) >= 1
        assert incidents(store)


def test_a_file_that_is_not_there_is_told_and_followed_when_it_comes(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    arguments = ["watch", str(log), "--once", "--store", str(tmp_path / "history.db")]
    early = CliRunner().invoke(main, arguments)
    assert (early.exit_code, early.stdout) == (0, "")
    assert early.stderr == f"triage: {log}: there is no such file; it is followed as soon as it can be\n"
    append(log, between("vllm.log", *SPAN))
    late = CliRunner().invoke(main, arguments)
    assert late.stderr == ""
    assert len(late.stdout.splitlines()) == 6


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("-", str(tmp_path / "pipe")):
        result = CliRunner().invoke(main, ["watch", path, "--once", "--store", str(tmp_path / "history.db")])
        assert (result.exit_code, "only files can be followed" in result.stderr) == (2, True)
