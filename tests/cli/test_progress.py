"""How far reading is: shown on a terminal when it takes long, gone when the answer comes, and silent everywhere else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triage.cli import progress

LOGS = Path(__file__).parent.parent.parent / "fixtures" / "outage-weeks" / "logs"


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress.time, "monotonic", clock.monotonic)
    return clock


def test_nothing_is_shown_before_a_second_has_passed_and_nothing_is_left_after_the_end(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.shown(True) as shown:
        assert shown is not None
        shown.begin(400_000_000)
        clock.now = 0.9
        shown.advance(100_000_000)
        assert capsys.readouterr().err == ""
        clock.now = 2.0
        shown.advance(100_000_000)
        err = capsys.readouterr().err
        assert "50%" in err
        assert "100 MB/s" in err
    assert capsys.readouterr().err.endswith(progress.GONE)


@pytest.mark.parametrize("wanted", [True, False])
def test_where_nobody_looks_nothing_is_told(wanted: bool) -> None:
    with progress.shown(wanted) as shown:
        assert shown is None


@pytest.mark.parametrize(("flags", "seen"), [([], True), (["--no-progress"], False)])
def test_on_a_terminal_stdout_has_the_answer_alone(flags: list[str], seen: bool) -> None:
    """On a real one; the clock of patience is turned off there, since a test's logs are read in no time."""
    program = "from triage.cli import progress; progress.PATIENCE = -1; from triage.cli.main import main; main()"
    ours, theirs = os.openpty()
    try:
        command = [sys.executable, "-c", program, "classify", str(LOGS), "--jobs", "1", *flags]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env={**os.environ, "TERM": "xterm"}, check=True)
        os.set_blocking(ours, False)
        try:
            told = os.read(ours, 1 << 16).decode()
        except BlockingIOError:
            told = ""
    finally:
        os.close(ours)
        os.close(theirs)
    assert "reading" not in run.stdout
    assert run.stdout.startswith("3 files") or "outages" in run.stdout
    assert ("reading" in told) is seen
