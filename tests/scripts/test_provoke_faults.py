"""The runner that provokes real faults, shown on children that only print and die; the one fault without a GPU is real where torch is."""

from __future__ import annotations

import ast
import fcntl
import importlib.util
import json
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import provoke_faults
from scripts.provoke_faults import CHILDREN, FAULTS, Fault, end, main, provoke, stamped, table, triage_says

ROOT = Path(__file__).parents[2]
TRIAGE = f"{sys.executable} -m triage"
STAMPED = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z (.*)$")
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.25 GiB."


def fake(name: str, program: str, needs: tuple[str, ...] = ("torch",), seconds: float = 60.0, **environment: str) -> Fault:
    """A fault that should be a `device-oom`, whose child is a line of Python."""
    return Fault(name, "device-oom", needs, "a child that prints and dies", (sys.executable, "-c", program), seconds, environment)


def lines(folder: Path) -> list[str]:
    """The lines of engine.log without their stamps, each of which must be one."""
    found = [STAMPED.match(line) for line in (folder / "engine.log").read_text(encoding="utf-8").splitlines()]
    assert all(found)
    return [line[1] for line in found if line]


@pytest.fixture
def with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provoke_faults, "look", lambda: {"python": "3.11.7", "torch": "2.14.1", "triton": None})
    monkeypatch.chdir(ROOT)


def test_the_list_names_every_fault_with_its_class(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list"]) == 0
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in shown] == [[fault.name, fault.expected] for fault in FAULTS]
    assert {fault.expected for fault in FAULTS} <= {path.stem for path in (ROOT / "rules" / "faults").glob("*.toml")}


def test_each_fault_is_one_that_its_script_knows() -> None:
    for script in ("torch_faults.py", "triton_faults.py"):
        tree = ast.parse((CHILDREN / script).read_text(encoding="utf-8"))
        known = {key.value for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys if isinstance(key, ast.Constant)}
        named = {fault.name for fault in FAULTS if fault.command[1].endswith(script)}
        assert named
        assert named <= known


def test_every_need_has_a_word_for_its_lack() -> None:
    assert {need for fault in FAULTS for need in fault.needs} == set(provoke_faults.MISSING)


def test_only_a_cpu_is_needed_for_the_rank_that_never_joins() -> None:
    assert [fault.name for fault in FAULTS if "gpu" not in fault.needs] == ["gloo-absent-rank"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="needs a Python without torch")
def test_without_torch_it_says_so_and_ends_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "out"), "--only", "device-oom", "gloo-absent-rank"]) == 2
    out, err = capfd.readouterr()
    assert (out, err) == ("", "torch cannot be imported by this Python (pip install torch): skipped device-oom, gloo-absent-rank\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("with_torch")
def test_what_is_missing_skips_only_what_needs_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [fake("needs-gpu", "0", needs=("torch", "gpu")), fake("cpu", f"raise SystemExit({OUT_OF_MEMORY!r})")]
    assert main(["--out", str(tmp_path), "--triage", TRIAGE], faults) == 2
    assert "torch finds no NVIDIA GPU: skipped needs-gpu\n" in capsys.readouterr().err
    assert [folder.name for folder in tmp_path.iterdir()] == ["cpu"]


@pytest.mark.usefixtures("with_torch")
def test_a_run_ends_with_a_table_and_keeps_what_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [fake("memory", f"import sys; print('loading', flush=True); sys.exit({OUT_OF_MEMORY!r})"), fake("nothing", "print('all is well')")]
    assert main(["--out", str(tmp_path), "--triage", TRIAGE], faults) == 1
    assert re.sub(r"\d+\.\d", "0.0", capsys.readouterr().out) == (
        "fault    exit  seconds  expected    triage says\n"
        "memory   1     0.0      device-oom  device-oom\n"
        "nothing  0     0.0      device-oom  -\n"
    )  # fmt: skip
    record = json.loads((tmp_path / "memory" / "run.json").read_text(encoding="utf-8"))
    assert 0 <= record.pop("seconds") < 60
    assert record == {
        "fault": "memory", "expected": "device-oom", "triage": "device-oom", "exit_code": 1, "signal": None,
        "versions": {"python": "3.11.7", "torch": "2.14.1", "triton": None},
    }  # fmt: skip
    assert lines(tmp_path / "memory") == ["loading", OUT_OF_MEMORY]


@pytest.mark.usefixtures("with_torch")
def test_all_named_as_expected_is_0_and_an_earlier_run_is_never_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [fake("memory", f"raise SystemExit({OUT_OF_MEMORY!r})"), fake("other", "0")]
    arguments = ["--out", str(tmp_path), "--triage", TRIAGE, "--only", "memory"]
    assert main(arguments, faults) == 0
    with pytest.raises(SystemExit, match="2"):
        main(arguments, faults)
    assert f"{tmp_path} holds an earlier run of memory" in capsys.readouterr().err


def test_both_streams_are_kept_in_order_with_the_exit_code(tmp_path: Path) -> None:
    program = "import sys; print('out', flush=True); print('err', file=sys.stderr, flush=True); sys.stdout.buffer.write(b'\\xff cut'); sys.exit(3)"
    ending = provoke(fake("streams", program), tmp_path / "streams")
    assert (ending.exit_code, ending.signal, ending.shown) == (3, None, "3")
    kept = (tmp_path / "streams" / "engine.log").read_bytes()
    assert [line.split(b" ", 1)[1] for line in kept.splitlines()] == [b"out", b"err", b"\xff cut"]


def test_a_signal_is_named(tmp_path: Path) -> None:
    ending = provoke(fake("abort", "import os; os.kill(os.getpid(), 6)"), tmp_path / "abort")
    assert (ending.exit_code, ending.signal, ending.shown) == (None, "SIGABRT", "SIGABRT")


def test_the_time_limit_ends_a_child_that_does_not(tmp_path: Path) -> None:
    ending = provoke(fake("stuck", "import time; time.sleep(60)", seconds=0.3), tmp_path / "stuck")
    assert (ending.exit_code, ending.signal, ending.shown) == (None, None, "time limit")
    assert ending.seconds < 30


def test_what_a_child_started_is_killed_with_it(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = f"import fcntl, time; held = open({str(lock)!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"
    program = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {holder!r}])"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout
        assert child.stdout.readline() == b"held\n"
        end(child)
        assert select.select([child.stdout], [], [], 20)[0], "somebody still holds the pipe"
    with lock.open() as free:
        fcntl.flock(free, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_child_that_ends_leaves_nobody_behind(tmp_path: Path) -> None:
    program = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print('gone', flush=True)"
    assert provoke(fake("orphan", program), tmp_path / "orphan").seconds < 30
    assert lines(tmp_path / "orphan") == ["gone"]


def test_the_recorder_writes_into_the_folder_and_our_settings_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1")
    program = """
import os
for name in ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"):
    open(os.environ[name] + "0", "w")
print(sorted(name for name in os.environ if name.startswith(("CUDA_L", "NCCL"))), os.environ["TORCH_FR_BUFFER_SIZE"])
open("core", "w")
"""
    provoke(fake("armed", program, NCCL_DEBUG="WARN"), tmp_path / "armed")
    assert lines(tmp_path / "armed") == ["['NCCL_DEBUG'] 2000"]
    assert {file.name for file in (tmp_path / "armed").iterdir()} == {"engine.log", "comm_lib_trace_rank_0"}


def test_a_stamp_is_that_of_docker_logs() -> None:
    assert stamped(b"step 1\n", 1_763_617_861_000_833_021) == b"2025-11-20T05:51:01.000833021Z step 1\n"
    assert stamped(b"cut off", 1_763_617_861_118_000_000) == b"2025-11-20T05:51:01.118000000Z cut off\n"


def test_the_table_fits_its_widest_cells() -> None:
    assert table([("a-long-fault", "SIGABRT", "9.0", "x", "y, z")]) == (
        "fault         exit     seconds  expected  triage says\n"
        "a-long-fault  SIGABRT  9.0      x         y, z\n"
    )  # fmt: skip


def test_a_triage_that_does_not_run_is_said(tmp_path: Path) -> None:
    assert triage_says(tmp_path, ["no-such-triage"]) == "[no answer: FileNotFoundError]"
    assert triage_says(tmp_path, [sys.executable, "-c", "print('usage')"]) == "[no answer: JSONDecodeError]"


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_the_rank_that_never_joins_is_a_collective_hang(tmp_path: Path) -> None:
    (fault,) = [fault for fault in FAULTS if fault.name == "gloo-absent-rank"]
    folder = tmp_path / fault.name
    assert provoke(fault, folder).shown == "1"
    assert triage_says(folder, TRIAGE.split()) == "collective-hang"
    assert {file.name for file in folder.iterdir()} == {"engine.log", "comm_lib_trace_rank_0", "comm_lib_trace_rank_1"}
