"""`triage bundle`: packed, verified, opened; the same each time, whole or not at all, and clear about what it cannot do."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main
from triage.report.bundle.archive import packed, read_bundle

ROOT = Path(__file__).resolve().parents[2]
WEEKS = ROOT / "fixtures" / "outage-weeks"
SMALL = ROOT / "fixtures" / "oom-then-cublas"
HANG = "f3793506"
KILLS = 5


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("made") / "hang.tar.zst"
    assert run("bundle", HANG[:4], WEEKS, "-o", file).exit_code == 0
    return file


def test_it_says_what_it_packed_and_how_much_was_taken_out(tmp_path: Path) -> None:
    result = run("bundle", "all", SMALL, "-o", tmp_path / "b.tar.zst")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first.startswith(f"{tmp_path / 'b.tar.zst'}: ") and "of 1 incident" in first
    assert second.startswith("taken out: ")


def test_all_evidence_of_a_hang_is_in_it(made: Path) -> None:
    files = read_bundle(str(made))
    manifest = json.loads(files["manifest.json"])
    assert [told["id"] for told in manifest["incidents"]] == [HANG]
    assert manifest["redacted"] is True and manifest["notes"] == []
    names = {name.removeprefix(f"incidents/{HANG}/") for name in files}
    assert {"incident.json", "boot.json", "boot.log", "excerpt-1.log", "excerpt-2.log", *(f"dump/rank_{n}.json" for n in range(8))} <= names
    verdict = json.loads(files[f"incidents/{HANG}/incident.json"])
    assert (verdict["class"], verdict["dump"]["suspects"][0]["rank"]) == ("collective-hang", 3)
    assert json.loads(files[f"incidents/{HANG}/boot.json"])["config"]["tp"] == "8"


def test_the_same_evidence_gives_the_same_bytes_from_anywhere(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(WEEKS, tmp_path / "elsewhere" / "copied")
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("COLUMNS", "200")
    assert run("bundle", HANG, "copied", "-o", "again.tar.zst").exit_code == 0
    assert Path("again.tar.zst").read_bytes() == made.read_bytes()


@pytest.mark.parametrize(("folder", "named"), [("logs", "."), ("", "."), ("", "./logs"), ("", "logs"), ("", "{}"), ("logs", "../logs")])
def test_however_the_folder_was_named(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, named: str) -> None:
    shutil.copytree(WEEKS, tmp_path / "copied")
    monkeypatch.chdir(tmp_path / "copied" / folder)
    assert run("bundle", HANG, named.format(tmp_path / "copied"), "-o", tmp_path / "again.tar.zst").exit_code == 0
    again, first = read_bundle(str(tmp_path / "again.tar.zst")), read_bundle(str(made))
    assert {name for name, content in again.items() if content != first.get(name)} == set()
    assert again.keys() == first.keys()


def test_the_order_in_which_incidents_are_named_does_not_matter(tmp_path: Path) -> None:
    store, one, two = tmp_path / "h.db", tmp_path / "1.tar.zst", tmp_path / "2.tar.zst"
    assert run("classify", WEEKS, "--record", "--store", store, "-q").exit_code == 0
    ids = ("1480434e", "d64dd364", "343a30e8")
    for out, named in ((one, ids), (two, ids[::-1])):
        assert run("bundle", *named, "--store", store, "-o", out).exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    assert "It came 4 times in what was read, from 2026-11-15 16:30 to 11-27" in read_bundle(str(one))["issue.md"].decode()


def test_a_bundle_may_come_through_a_pipe(made: Path, tmp_path: Path) -> None:
    def piped(*args: str) -> Result:
        return CliRunner().invoke(main, ["bundle", *args], input=made.read_bytes(), catch_exceptions=False)

    assert piped("verify", "-").stdout.startswith("-: as it was packed")
    assert piped("open", "-").exit_code == 2
    assert piped("open", "-", "-C", str(tmp_path / "o")).exit_code == 0
    assert (tmp_path / "o" / "manifest.json").exists()


def test_triage_reads_the_dumps_of_an_opened_bundle(made: Path, tmp_path: Path) -> None:
    assert run("bundle", "open", made, "-C", tmp_path / "o").exit_code == 0
    result = run("dump", tmp_path / "o" / "incidents" / HANG / "dump", "--format", "json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["suspects"][0]["rank"] == 3


def test_the_draft_goes_to_stdout_and_the_rest_to_stderr(tmp_path: Path) -> None:
    result = run("bundle", "all", SMALL, "--issue-text", "-o", tmp_path / "b.tar.zst")
    assert result.stdout == read_bundle(str(tmp_path / "b.tar.zst"))["issue.md"].decode()
    assert "taken out" in result.stderr


def test_a_draft_needs_no_file() -> None:
    result = run("bundle", "all", SMALL, "--issue-text")
    assert result.exit_code == 0 and result.stdout.startswith("# ")


def test_it_can_be_written_to_stdout(tmp_path: Path) -> None:
    result = run("bundle", "all", SMALL, "-o", "-")
    (tmp_path / "b.tar.zst").write_bytes(result.stdout_bytes)
    assert result.exit_code == 0
    assert "README.txt" in read_bundle(str(tmp_path / "b.tar.zst"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["bundle", "all", SMALL], "-o FILE"),
        (["bundle", SMALL, "--issue-text"], "is no incident's id"),
        (["bundle", "abcdef", SMALL, "--issue-text"], "no incident 'abcdef' in what was read; incidents here: "),
        (["bundle", "all", ROOT / "fixtures" / "clean-day", "--issue-text"], "there is no incident in it"),
        (["bundle", "all", ROOT / "no such folder", "--issue-text"], "nothing to read"),
        (["bundle", "verify", ROOT / "README.md"], "no bundle"),
        (["bundle", "verify", ROOT / "nothing.tar.zst"], "No such file"),
        (["bundle", "verify", ROOT / "fixtures"], "directory"),
        (["bundle", "open", ROOT / "README.md"], "no bundle"),
        (["bundle", "all", SMALL, "--issue-text", "--redact", ROOT / "README.md"], "README.md: "),
        (["bundle", "all", SMALL, "-o", ROOT / "fixtures"], "is a folder"),
        (["bundle", "all", SMALL, "-o", "/no/such/folder/b"], "there is no folder"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line_and_is_exit_2(args: list[str | Path], said: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_a_log_is_never_written_over(tmp_path: Path) -> None:
    shutil.copytree(SMALL / "logs", tmp_path / "logs")
    log = next(file for file in (tmp_path / "logs").rglob("*") if file.is_file())
    before = log.read_bytes()
    assert run("bundle", "all", tmp_path / "logs", "-o", log).exit_code == 2
    assert log.read_bytes() == before


def test_a_part_that_could_not_be_read_is_exit_3_and_the_rest_is_packed(tmp_path: Path) -> None:
    shutil.copytree(SMALL / "logs", tmp_path / "logs")
    (tmp_path / "logs" / "broken.log.gz").write_bytes(b"\x1f\x8b\x08broken")
    assert run("bundle", "all", tmp_path / "logs", "-o", tmp_path / "b.tar.zst").exit_code == 3
    assert run("bundle", "verify", tmp_path / "b.tar.zst").exit_code == 0


def test_verify_says_whether_anything_was_changed(made: Path, tmp_path: Path) -> None:
    assert "as it was packed" in run("bundle", "verify", made).stdout
    files = read_bundle(str(made))
    changed = tmp_path / "changed.tar.zst"
    changed.write_bytes(packed({**files, "issue.md": b"another\n"}))
    result = run("bundle", "verify", changed)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "issue.md: is not what was packed" in result.stderr
    result = run("bundle", "open", changed, "-C", tmp_path / "o")
    assert result.exit_code == 3 and not (tmp_path / "o").exists()


def test_open_makes_a_new_folder_named_like_the_bundle(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("bundle", "open", made).exit_code == 0
    assert (tmp_path / "hang" / "README.txt").is_file()
    again = run("bundle", "open", made)
    assert again.exit_code == 2 and "name a new folder with -C" in again.stderr


def test_without_redaction_it_says_so_everywhere(tmp_path: Path) -> None:
    out = tmp_path / "b.tar.zst"
    assert "nothing taken out (--no-redact)" in run("bundle", "all", SMALL, "-o", out, "--no-redact").stdout
    assert b"Nothing was taken out" in read_bundle(str(out))["README.txt"]
    assert "NOT redacted" in run("bundle", "verify", out).stdout


def test_rules_of_ones_own_take_out_more(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[[take]]\nid='x'\nkind='model'\npattern='/models/[a-z0-9-]+'\nput='<model>'\nsamples=['/models/x']\nnear_misses=['x']\n")
    assert "/models/larch" in run("bundle", HANG, WEEKS, "--issue-text").stdout
    result = run("bundle", HANG, WEEKS, "--issue-text", "--redact", own)
    assert "<model>" in result.stdout and "/models/larch" not in result.stdout and " model" in result.stderr


def test_the_history_gives_cited_lines_and_says_what_it_has_not(tmp_path: Path) -> None:
    shutil.copytree(WEEKS / "logs", tmp_path / "logs")
    assert run("classify", tmp_path / "logs", "--record", "--store", tmp_path / "h.db").exit_code == 0
    for file in (tmp_path / "logs").glob("vllm.log*"):  # other lines stand there now
        file.write_text("INFO 11-14 09:00:00 [x.py:1] rotated\n" * 40_000)
    shutil.rmtree(tmp_path / "logs" / "flight-recorder")
    result = run("bundle", HANG, "--store", tmp_path / "h.db", "-o", tmp_path / "b.tar.zst")
    assert result.exit_code == 0
    assert "without those around them" in result.stderr and "the dumps are not here" in result.stderr
    files = read_bundle(str(tmp_path / "b.tar.zst"))
    excerpt = files[f"incidents/{HANG}/excerpt-1.log"].decode()
    assert "Watchdog caught collective operation timeout" in excerpt and "rotated" not in excerpt
    assert len(json.loads(files["manifest.json"])["notes"]) == 2


WRITE = """
import os, sys
from triage.report.writing import write_whole
path, new = sys.argv[1], bytes(30_000_000)
while True:
    write_whole(path, new)
"""


@pytest.mark.skipif(os.name != "posix", reason="no SIGKILL here")
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(made: Path, tmp_path: Path) -> None:
    file, chance = tmp_path / "b.tar.zst", random.Random(7)
    seen = set()
    for _ in range(KILLS):
        shutil.copy(made, file)
        child = subprocess.Popen([sys.executable, "-c", WRITE, str(file)], cwd=ROOT)
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*.part")) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.05))
        child.send_signal(signal.SIGKILL)
        child.wait()
        content = file.read_bytes()
        seen.add("old" if content == made.read_bytes() else "new" if content == bytes(30_000_000) else "half")
    assert seen <= {"old", "new"}
