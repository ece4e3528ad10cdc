"""Several processes give what one gives, byte for byte, also where one of them is killed; pipes stay at home."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from triage import workers
from triage.cli.main import main
from triage.knowledge.load import load
from triage.knowledge.table import RuleTable
from triage.parsers.options import Options
from triage.parsers.reading import Reading
from triage.parsers.sorting import Read
from triage.sources.find import Source
from triage.sources.paths import STDIN

FIXTURES = Path(__file__).parent.parent / "fixtures"
KNOWN = load()
# What a shell runs in the background ignores Ctrl-C, and so does all that it starts, such as these tests.
HEARS_INTERRUPTS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from triage.cli.main import main; main()"
WEEKS = (FIXTURES / "outage-weeks" / "logs" / "vllm.log").read_bytes()


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few small logs are enough to be read at once."""
    monkeypatch.setattr(workers, "WORTH_BYTES", -(1 << 40))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for number in range(6):
        (tmp_path / f"engine-{number}.log").write_bytes(WEEKS)
    (tmp_path / "probe.log").write_bytes((FIXTURES / "outage-weeks" / "logs" / "probe.log").read_bytes())
    return tmp_path


def sources_in(folder: Path) -> list[tuple[Source, workers.Kind | None]]:
    files = sorted(folder.iterdir())
    return [(Source(str(file), (str(file),)), "probe" if file.name == "probe.log" else "engine") for file in files]


def readings(read: list[Read]) -> list[Reading]:
    """What was read, which are all of them logs."""
    assert all(isinstance(one, Reading) for one in read)
    return [one for one in read if isinstance(one, Reading)]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
@pytest.mark.usefixtures("eager")
def test_the_answer_is_the_same_for_any_number_of_processes(form: str) -> None:
    answers = {
        CliRunner().invoke(main, ["classify", *map(str, sorted(FIXTURES.glob("*/logs"))), "--format", form, "--jobs", str(jobs)]).output
        for jobs in (1, 2, 5)
    }
    assert len(answers) == 1


@pytest.mark.usefixtures("eager")
def test_several_processes_take_part(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_here: list[str] = []
    read = workers.read_one

    def noting(source: Source, *more: object) -> Read:
        read_here.append(source.name)  # in a child this is the child's own list
        return read(source, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "read_one", noting)
    found = readings(workers.read_all(sources_in(logs), RuleTable(KNOWN), Options(), jobs=2))
    assert [one.info.name for one in found] == [source.name for source, _ in sources_in(logs)]
    assert not read_here


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.usefixtures("eager")
def test_what_is_no_log_is_told_by_what_it_is_and_counts_as_read(logs: Path, jobs: int) -> None:
    (logs / "a-dump.json").write_text('{"version": "2.10", "pg_config": {}, "entries": []}')
    (logs / "core").write_bytes(bytes(range(256)) * 40)
    advanced: list[int] = []

    class Note:
        def begin(self, total: int) -> None:
            advanced.append(-total)

        def advance(self, size: int) -> None:
            advanced.append(size)

    sources = [(source, None) for source, _ in sources_in(logs)]
    found = workers.read_all(sources, RuleTable(KNOWN), Options(), jobs=jobs, progress=Note())
    assert [one if not isinstance(one, Reading) else one.info.kind for one in found] == ["flight_recorder", None, *["engine"] * 6, "probe"]
    assert jobs > 1 or not sum(advanced)


@pytest.mark.usefixtures("eager")
def test_what_a_killed_process_had_is_read_by_the_one_that_asks(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, read, killed = os.getpid(), workers.read_one, logs / "engine-3.log"
    whole = readings(workers.read_all(sources_in(logs), RuleTable(KNOWN), Options(), jobs=1))

    def dying(source: Source, *more: object) -> Read:
        if os.getpid() != home and source.name == str(killed):
            os.kill(os.getpid(), signal.SIGKILL)
        return read(source, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(workers, "read_one", dying)
    found = readings(workers.read_all(sources_in(logs), RuleTable(KNOWN), Options(), jobs=2))
    assert [(one.info, one.events, one.probes) for one in found] == [(one.info, one.events, one.probes) for one in whole]


@pytest.mark.usefixtures("eager")
def test_how_far_it_is_adds_up_to_the_size_of_the_files(logs: Path) -> None:
    class Note:
        total, read = 0, 0

        def begin(self, total: int) -> None:
            self.total = total

        def advance(self, size: int) -> None:
            self.read += size

    for jobs in (1, 2):
        note = Note()
        workers.read_all(sources_in(logs), RuleTable(KNOWN), Options(), jobs=jobs, progress=note)
        assert note.total == sum(file.stat().st_size for file in logs.iterdir())
        assert note.read <= note.total
        assert jobs > 1 or note.read == note.total  # of several processes the last word may come after the last look


def test_pipes_and_a_few_small_logs_are_read_at_home(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    fifo = tmp_path_factory.mktemp("pipes") / "pipe.log"
    os.mkfifo(fifo)
    assert not workers._task(0, Source(STDIN, (STDIN,)), None).is_shared
    assert not workers._task(0, Source(str(fifo), (str(fifo),)), None).is_shared
    tasks = [workers._task(0, source, kind) for source, kind in sources_in(logs)]
    assert all(task.is_shared for task in tasks)
    assert not workers._is_worth_it(tasks)


def test_batches_hold_every_task_once_and_the_dearest_come_first(logs: Path) -> None:
    (logs / "big.log").write_bytes(WEEKS * 20)
    tasks = [workers._task(number, source, kind) for number, (source, kind) in enumerate(sources_in(logs))]
    batches = workers._batches(tasks, 2)
    assert sorted(task.number for batch in batches for task in batch) == list(range(len(tasks)))
    assert batches[0][0].source.name.endswith("big.log")
    most = sum(task.cost for task in tasks) // (2 * workers.BATCHES_EACH)
    assert all(len(batch) == 1 or sum(task.cost for task in batch) <= most for batch in batches)


@pytest.mark.parametrize(
    ("sent", "code", "told"),
    [(signal.SIGINT, 130, "triage: interrupted\n"), (signal.SIGTERM, -signal.SIGTERM, ""), (signal.SIGKILL, -signal.SIGKILL, "")],
)
def test_a_run_that_is_ended_leaves_no_process_behind(tmp_path: Path, sent: signal.Signals, code: int, told: str) -> None:
    for number in range(12):
        (tmp_path / f"engine-{number}.log").write_bytes(WEEKS * 60)
    with subprocess.Popen(
        [sys.executable, "-c", HEARS_INTERRUPTS, "classify", str(tmp_path), "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            assert wait_for(lambda: len(children_of(run.pid)) == 2), "two processes have begun"
            children = children_of(run.pid)
            run.send_signal(sent)
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
    assert (run.returncode, out, err) == (code, "", told)
    try:
        assert wait_for(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
    finally:
        for child in filter(lambda child: Path(f"/proc/{child}").exists(), children):
            os.kill(child, signal.SIGKILL)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def wait_for(what: threading.Event | object) -> bool:
    for _ in range(300):
        if what():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False
