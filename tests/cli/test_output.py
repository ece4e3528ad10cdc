"""Where an answer goes: whole into a file, through a device or a pipe as it is, never over the evidence, and never lost without a word."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from triage.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "fixtures" / "oom-then-cublas" / "logs"
DUMPS = ROOT / "fixtures" / "outage-weeks" / "logs" / "flight-recorder"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args], catch_exceptions=False)


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """What a shell says of `command`, in which `triage` is the command under test."""
    text = f'triage() {{ {sys.executable} -m triage "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", text], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_a_file_is_replaced_whole_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    kept, link = tmp_path / "kept.json", tmp_path / "link.json"
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    assert run("classify", LOGS, "--format", "json", "--output", link).exit_code == 0
    assert link.is_symlink() and kept.read_text().startswith("{")
    assert kept.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["kept.json", "link.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_written_through_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    assert run("classify", LOGS, "--output", pipe).exit_code == 0
    reader.join(30)
    assert pipe.is_fifo()
    assert "device-oom" in got[0]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no such device here")
def test_a_device_is_never_replaced() -> None:
    before = os.stat("/dev/full")
    result = run("classify", LOGS, "--output", "/dev/full")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("triage: --output /dev/full: cannot be written")
    assert os.stat("/dev/full").st_rdev == before.st_rdev


def test_a_place_that_cannot_be_written_is_one_line_and_two(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere" / "out.csv"):
        result = run("classify", LOGS, "--output", place)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(place) in result.stderr.splitlines()[-1]


def test_metrics_and_tables_of_the_history_keep_to_it_too(tmp_path: Path) -> None:
    store = tmp_path / "history.db"
    result = run("classify", LOGS, "--record", "--store", store, "--prom", tmp_path)
    assert (result.exit_code, "metrics not written" in result.stderr) == (3, True)
    assert run("history", "export", "--store", store, "--output", tmp_path).exit_code == 2


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    logs = Path(shutil.copytree(LOGS, tmp_path / "logs"))
    log = next(logs.glob("vllm.log"))
    dump = Path(shutil.copytree(DUMPS, tmp_path / "dumps")) / "2026-11-14" / "comm_lib_trace_rank_0"
    link = tmp_path / "link"
    link.symlink_to(log)
    for paths, output in (([log], log), ([logs], log), ([logs], link), ([tmp_path / "dumps"], dump)):
        before = output.read_bytes()
        result = run("classify", *paths, "--output", output)
        assert (result.exit_code, result.stdout) == (2, "")
        assert str(output) in result.stderr
        assert output.read_bytes() == before


@pytest.mark.parametrize("command", ["classify", "explain all", "boots", "dump"])
@pytest.mark.parametrize("where", [">&-", ">/dev/full"])
def test_a_stdout_that_takes_nothing_is_one_line_and_two(command: str, where: str) -> None:
    done = shell(f"triage {command} {DUMPS if command == 'dump' else LOGS} {where}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("triage: the answer could not be written")
    assert done.stderr.count("\n") == 1


def test_help_on_a_full_disk_and_stderr_closed_too_is_two() -> None:
    assert shell("triage --help >/dev/full").returncode == 2
    assert shell(f"triage classify {LOGS} >&- 2>&-").returncode == 2


def test_a_file_needs_no_stdout(tmp_path: Path) -> None:
    assert shell(f"triage classify {LOGS} --output {tmp_path / 'out'} >&-").returncode == 0
    assert "device-oom" in (tmp_path / "out").read_text()


def test_a_reader_that_leaves_early_is_no_error_to_tell() -> None:
    done = shell("triage explain all fixtures/outage-weeks | head -1")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_is_130_and_one_word(tmp_path: Path) -> None:
    import signal

    log = tmp_path / "vllm.log"
    log.write_text("")
    store = tmp_path / "history.db"
    hears = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a test run in the background may not
    program = f"{hears}; from triage.cli.main import main; main(['watch', {str(log)!r}, '--store', {str(store)!r}])"
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.PIPE, text=True) as watching:
        while not store.exists():
            assert watching.poll() is None
        watching.send_signal(signal.SIGINT)
        _, told = watching.communicate(timeout=60)
    assert (watching.returncode, told) == (130, "triage: interrupted\n")
