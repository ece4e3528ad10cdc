"""`triage caches`, as it is typed: what it lists, what it refuses, and that nothing happens without --yes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.caches.night import lay, text
from tests.caches.trees import hashes
from triage.cli.main import main


def run(*arguments: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "80"}).invoke(main, ["caches", *map(str, arguments)])


@pytest.fixture
def night(tmp_path: Path) -> Path:
    return lay(tmp_path / "night", scale=1000, boots=2)


def test_the_whole_night_is_one_table_by_boot(tmp_path: Path) -> None:
    done = run(lay(tmp_path / "night"))
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["boot", "kind", "size", "age", "known", "by", "where"]
    assert "63 caches, 20.0 GB" in done.stdout
    assert "built by 24 boots" in done.stdout
    assert [line.split()[-1].split("/")[0] for line in lines[2:65]] == [f"b{n:02}" for n in range(1, 25) for _ in range(3 if n <= 15 else 2)]


def test_json_says_which_lines_name_a_cache(night: Path) -> None:
    told = json.loads(run(night, "--format", "json").stdout)
    assert (told["schema"], len(told["caches"]), len(told["boots"])) == ("triage-caches/1", 6, 2)
    by_log = [cache for cache in told["caches"] if cache["known_by"] == "log and time"]
    assert [cache["kind"] for cache in by_log] == ["vllm-compile"] * 2
    assert all("Using cache directory" in cache["lines"][0]["text"] for cache in by_log)
    assert {boot for cache in told["caches"] for boot in cache["built_by"]} == {boot["id"] for boot in told["boots"]}


def test_without_yes_nothing_happens(night: Path) -> None:
    before = hashes(str(night.parent))
    done = run(night, "--archive", night.parent / "kept.tar.zst", "--remove")
    assert done.exit_code == 0
    assert "nothing was done: add --yes to do it" in done.stdout
    assert "would then remove 6 caches" in done.stdout
    assert hashes(str(night.parent)) == before


def test_archive_then_remove_leaves_the_logs_and_the_evidence(night: Path) -> None:
    archive = night.parent / "kept.tar.zst"
    done = run(night, "--archive", archive, "--remove", "--yes")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "archived 6 caches" in done.stdout
    assert "removed 6 caches" in done.stdout
    assert set(hashes(str(night))) == {"b01/vllm.log", "b02/vllm.log"}
    listed = run(archive)
    assert "6 caches" in listed.stdout
    assert "built by 2 boots, archived" in " ".join(listed.stdout.split())
    assert run(archive, "--only", "deep-gemm").stdout.count("deep-gemm") >= 2
    told = json.loads(run(archive, "--format", "json").stdout)
    assert [boot["version"] for boot in told["boots"]] == ["0.31.0", "0.31.0"]


def test_a_cache_in_use_stays_and_the_exit_code_says_so(night: Path) -> None:
    fresh = night / "b02/deep_gemm/cache/kernel.sm90_fp8_gemm_1d2d.5f0c41aa/kernel.cu"
    os.utime(fresh, (time.time(), time.time()))
    done = run(night, "--archive", night.parent / "kept.tar.zst", "--remove", "--yes")
    assert done.exit_code == 3
    assert "removed 5 caches" in done.stdout
    assert "stays:" in done.stdout
    assert "--idle 15 min" in " ".join(done.stdout.split())
    assert fresh.exists()
    assert not (night / "b01/deep_gemm/cache").exists()


def test_a_link_that_leads_out_is_never_followed_or_removed(night: Path) -> None:
    precious = text(night.parent / "precious/weights.bin", "all of it", 1)
    (night / "b01/deep_gemm/cache/kernel.sm90_fp8_gemm_1d2d.5f0c41aa/weights").symlink_to(precious.parent)
    done = run(night, "--archive", night.parent / "kept.tar.zst", "--remove", "--yes")
    assert done.exit_code == 3
    assert "leads out" in " ".join(done.stdout.split())
    assert precious.read_text() == "all of it"
    assert (night / "b01/deep_gemm/cache/kernel.sm90_fp8_gemm_1d2d.5f0c41aa/weights").is_symlink()


def test_where_everything_must_stay_the_exit_code_says_so_too(tmp_path: Path) -> None:
    night = lay(tmp_path / "night", scale=1000, boots=1)
    before = hashes(str(night))
    done = run(night, "--archive", tmp_path / "kept.tar.zst", "--remove", "--yes", "--idle", "100000d")
    assert done.exit_code == 3
    assert "stays" in done.stdout
    assert "would" not in done.stdout
    assert hashes(str(night)) == before


def test_a_second_run_finishes_and_a_third_has_nothing_to_do(night: Path) -> None:
    archive = night.parent / "kept.tar.zst"
    assert run(night, "--archive", archive, "--yes").exit_code == 0
    assert len(hashes(str(night))) > 2, "archiving alone removes nothing"
    (night / "b01/deep_gemm/cache").rename(night / "b01/deep_gemm/.triage-removing-cache")  # as a run that was killed leaves it
    planned = run(night, "--archive", archive, "--remove")
    assert "would remove 6 caches, which " in " ".join(planned.stdout.split())
    assert run(night, "--archive", archive, "--remove", "--yes").exit_code == 0
    assert set(hashes(str(night))) == {"b01/vllm.log", "b02/vllm.log"}
    assert "there is nothing to do" in run(night, "--archive", archive, "--remove", "--yes").stdout


def test_a_cache_built_since_the_archive_stays(night: Path) -> None:
    archive = night.parent / "kept.tar.zst"
    run(night, "--archive", archive, "--remove", "--yes", "--only", "flashinfer")
    done = run(night, "--archive", archive, "--remove", "--yes")
    assert len([name for name in hashes(str(night)) if "deep_gemm" in name]) == 4
    assert "archive it under another name" in " ".join(done.stdout.split())


def test_a_damaged_archive_removes_nothing(night: Path) -> None:
    archive = night.parent / "kept.tar.zst"
    run(night, "--archive", archive, "--yes")
    archive.write_bytes(archive.read_bytes()[:-20])
    before = hashes(str(night))
    done = run(night, "--archive", archive, "--remove", "--yes")
    assert (done.exit_code, hashes(str(night))) == (2, before)
    assert "kept.tar.zst: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["NIGHT", "--remove"], "--remove needs --archive"),
        (["--archive", "x.tar.zst", "--remove"], "--remove needs a PATH"),
        (["NIGHT", "--archive", "x.zip"], "must end in .tar.zst"),
        (["NIGHT", "--yes"], "belong to --archive"),
        (["NIGHT", "--only", "vlm"], "vllm-compile"),
        (["NIGHT", "--older-than", "soon"], "15m, 6h or 7d"),
        (["nowhere"], "nowhere: no such file or folder"),
        (["NIGHT", "--archive", "NIGHT/b01/deep_gemm/cache/x.tar.zst"], "lies in the cache"),
    ],
)
def test_what_cannot_be_meant_is_refused(night: Path, arguments: list[str], word: str) -> None:
    done = run(*(argument.replace("NIGHT", str(night)) for argument in arguments))
    assert done.exit_code == 2
    assert word in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_yes_is_typed_or_not_given(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIAGE_CACHES_YES", "1")
    assert "nothing was done" in run(night, "--archive", night.parent / "kept.tar.zst", "--remove").stdout
    assert not (night.parent / "kept.tar.zst").exists()


def test_what_is_nothing_of_a_cache_keeps_it_where_it_is(night: Path) -> None:
    own = text(night / "b01/deep_gemm/cache/notes.txt", "mine", 1)
    done = run(night, "--archive", night.parent / "kept.tar.zst", "--remove", "--yes", "--only", "deep-gemm")
    assert (done.exit_code, own.read_text()) == (3, "mine")
    assert "notes.txt in it is nothing of such a cache" in " ".join(done.stdout.split())
    assert "removed 1 cache," in done.stdout


def test_a_log_from_a_pipe_is_read(night: Path) -> None:
    home = night / "b01/cache/vllm"
    done = CliRunner().invoke(main, ["caches", str(home), "-", "--year", "2026"], input=(night / "b01/vllm.log").read_text())
    assert done.exit_code == 0
    assert "built by 1 boot" in done.stdout


def test_older_than_and_only_choose(night: Path) -> None:
    assert "no cache was found" in run(night, "--older-than", "9999w").stdout
    assert run(night, "--only", "flashinfer", "--older-than", "1d").stdout.count("flashinfer") == 2


def test_without_a_path_the_usual_places_are_looked_at(night: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DG_JIT_CACHE_DIR", str(night / "b01/deep_gemm"))
    assert "deep-gemm" in run().stdout


def test_names_cannot_write_to_a_terminal(tmp_path: Path) -> None:
    text(tmp_path / "\x1b[31m\nevil/cache/kernel.a.0123abcd/kernel.cu", "", 1)
    assert "\x1b" not in run(tmp_path, tmp_path / "\x1b[31m\nevil").output


def test_an_empty_folder_is_no_error(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.exit_code, done.stdout) == (0, "no cache was found\n")
