"""Provokes real faults of torch, Triton and NCCL on one NVIDIA GPU, keeps what each leaves behind, and holds triage's answer against the fault.

    python scripts/provoke_faults.py --list
    python scripts/provoke_faults.py --out build/faults
    python scripts/provoke_faults.py --out build/faults --only device-oom gloo-absent-rank

Each fault runs in a process of its own (an error of CUDA is sticky and would poison the next) in a scratch folder, under a time limit. OUT/FAULT/
then holds `engine.log` (both streams, each line stamped as by `docker logs -t`), `run.json` (exit code, signal, seconds, versions, triage's answer)
and the flight-recorder dumps. Use a GPU that serves nobody: some faults take all of its memory. What is missing (torch, a GPU, Triton) skips the
faults that need it.

Not to be provoked on one GPU: a collective hang of two NCCL ranks before NCCL 2.30, which refuses a second rank on a GPU (`nccl-timeout` brings the
watchdog's text by a lone rank, and `gloo-absent-rank` has the two ranks); a failing link or network (NCCL has no peer elsewhere); Xid, ECC and a GPU
that falls off the bus (hardware); a cuBLAS fault with nothing before it, for which there is no known cause to set.

Exit codes: 0 every fault was named as expected; 1 one was not, or did not happen; 2 wrong usage, or something is missing and its faults were skipped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

CHILDREN = Path(__file__).resolve().parent / "provoke"
MISSING = {
    "torch": "torch cannot be imported by this Python (pip install torch)",
    "gpu": "torch finds no NVIDIA GPU",
    "triton": "Triton cannot be imported by this Python (it comes with torch's builds for CUDA)",
    "nccl": "this torch was built without NCCL",
    "nccl-multi-rank": "NCCL is older than 2.30 and refuses a second rank on one GPU",
    "nvrtc": "this torch has no torch.cuda._compile_kernel",
}
UNSET = ("CUDA_LAUNCH_BLOCKING", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "NCCL_", "TORCH_NCCL_", "TORCH_FR_", "TRITON_")


class Fault(NamedTuple):
    """One fault: what must be there, the class that triage should name, how it is started, and how many seconds it may take."""

    name: str
    expected: str
    needs: tuple[str, ...]
    what: str
    command: tuple[str, ...]
    seconds: float = 120.0
    environment: dict[str, str] = {}  # noqa: RUF012  # never changed


class Ending(NamedTuple):
    """How a fault ended: the exit code or the signal's name, and neither where the time limit ended it."""

    exit_code: int | None
    signal: str | None
    seconds: float

    @property
    def shown(self) -> str:
        return self.signal or ("time limit" if self.exit_code is None else str(self.exit_code))


def fault(name: str, expected: str, needs: str, what: str, seconds: float = 120.0, **environment: str) -> Fault:
    """A fault of provoke/torch_faults.py, or of provoke/triton_faults.py where it needs Triton."""
    script = CHILDREN / ("triton_faults.py" if "triton" in needs.split() else "torch_faults.py")
    return Fault(name, expected, tuple(needs.split()), what, (sys.executable, str(script), name), seconds, environment)


FAULTS = (
    fault("device-oom", "device-oom", "torch gpu", "torch's allocator has nothing left"),
    fault("driver-oom", "device-oom", "torch gpu nvrtc", "the driver has no room for a module"),
    fault("cublas-no-room", "device-oom", "torch gpu", "cuBLAS has no room for its handle"),
    fault("device-assert", "device-assert", "torch gpu", "an index outside an embedding"),
    fault("illegal-access-cublas", "illegal-memory-access", "torch gpu triton", "a wild store, first heard of by a matrix product"),
    fault("illegal-access-triton", "illegal-memory-access", "torch gpu triton", "a wild store, first heard of by a launch"),
    fault("triton-in-capture", "graph-capture", "torch gpu triton", "a kernel's first launch while a graph is captured"),
    fault("autotune-in-capture", "graph-capture", "torch gpu triton", "autotuning while a graph is captured"),
    fault("nccl-duplicate-gpu", "collective-error", "torch gpu nccl", "two NCCL ranks on one GPU", NCCL_DEBUG="WARN"),
    fault("nccl-timeout", "collective-hang", "torch gpu nccl", "a lone rank's collective behind a kernel of a minute", 240.0),
    fault(
        "nccl-absent-rank", "collective-hang", "torch gpu nccl nccl-multi-rank", "a rank that never joins", 240.0,
        NCCL_MULTI_RANK_GPU_ENABLE="1", NCCL_NVLS_ENABLE="0",
    ),
    fault("gloo-absent-rank", "collective-hang", "torch", "a rank that never joins, on the CPU"),
)  # fmt: skip


def look() -> dict[str, str | None]:
    """What this Python has, by name (see provoke/look.py); nothing where torch is so broken that asking for it kills the process."""
    asked = subprocess.run([sys.executable, "-W", "ignore", str(CHILDREN / "look.py")], capture_output=True, text=True, check=False)
    found: dict[str, str | None] = json.loads(asked.stdout) if not asked.returncode else {}
    return found


def lacking(fault: Fault, found: dict[str, str | None]) -> str | None:
    """The first thing that the fault needs and that is not there, or None."""
    return next((need for need in fault.needs if not found.get(need)), None)


def skip(faults: Sequence[Fault], found: dict[str, str | None]) -> set[str]:
    """The names of the faults that lack something; says on stderr, once for each thing, what is missing and whom that skips."""
    lacked = {fault.name: need for fault in faults if (need := lacking(fault, found))}
    for need in sorted(set(lacked.values())):
        sys.stderr.write(f"{MISSING[need]}: skipped {', '.join(name for name, lack in lacked.items() if lack == need)}\n")
    return set(lacked)


def environment(fault: Fault, folder: Path, scratch: str) -> dict[str, str]:
    """Ours without what would change a fault, with the recorder armed and its dumps in the fault's folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(UNSET)}
    prefix, entries = str(folder.resolve() / "comm_lib_trace_rank_"), "2000"
    return kept | {
        "PYTHONUNBUFFERED": "1", "TRITON_CACHE_DIR": str(Path(scratch) / "triton"),
        "TORCH_FR_BUFFER_SIZE": entries, "TORCH_NCCL_TRACE_BUFFER_SIZE": entries, "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        "TORCH_FR_DUMP_TEMP_FILE": prefix, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": prefix,
    } | fault.environment  # fmt: skip


def stamped(line: bytes, nanoseconds: int) -> bytes:
    """A line behind its time (UTC, since the epoch) in RFC 3339 with nine digits, as `docker logs -t` prints it; always with a newline."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return b"%s.%09dZ %s\n" % (stamp.encode(), rest, line.removesuffix(b"\n"))


def keep(stream: IO[bytes], path: Path) -> None:
    """Write each line of a pipe with the time at which it came, and close it."""
    with stream, path.open("wb", buffering=0) as log:
        for line in stream:
            log.write(stamped(line, time.time_ns()))


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the child and of all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def provoke(fault: Fault, folder: Path) -> Ending:
    """Run one fault and keep its output in `folder`, which must not exist. Raises FileExistsError."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        started, code = time.monotonic(), None
        child = subprocess.Popen(
            fault.command, cwd=scratch, env=environment(fault, folder, scratch), start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        reader = threading.Thread(target=keep, args=(child.stdout, folder / "engine.log"), daemon=True)
        reader.start()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = child.wait(fault.seconds)
        finally:
            seconds = time.monotonic() - started
            end(child)
            reader.join(5)
    killed_by = signal.Signals(-code).name if code is not None and code < 0 else None
    return Ending(None if killed_by else code, killed_by, round(seconds, 1))


def triage_says(folder: Path, triage: Sequence[str]) -> str:
    """The classes that triage names in a folder, in order and joined by commas, `-` for none; or why it did not answer, in brackets."""
    try:
        asked = subprocess.run([*triage, "classify", str(folder), "--format", "json"], capture_output=True, text=True, check=False)
        return ", ".join(incident["class"] for incident in json.loads(asked.stdout)["incidents"]) or "-"
    except (OSError, ValueError, KeyError) as error:
        return f"[no answer: {type(error).__name__}]"


def command_of_triage() -> str:
    """The `triage` that is installed beside this Python, else the first on PATH."""
    own = Path(sys.executable).with_name("triage")
    return str(own) if own.exists() else shutil.which("triage") or "triage"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows as text, in columns as wide as their widest cell."""
    cells = [("fault", "exit", "seconds", "expected", "triage says"), *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in cells)


def listing(faults: Sequence[Fault]) -> str:
    """Each fault with the class that it should get, what it needs and what it is."""
    return "".join(f"{fault.name:22} {fault.expected:22} {' '.join(fault.needs):32} {fault.what}\n" for fault in faults)


def keep_record(folder: Path, fault: Fault, ending: Ending, said: str, found: dict[str, str | None]) -> None:
    """Write run.json."""
    record = {"fault": fault.name, "expected": fault.expected, "triage": said, **ending._asdict(), "versions": found}
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def attempt(fault: Fault, out: Path, triage: Sequence[str], found: dict[str, str | None]) -> tuple[str, ...]:
    """Provoke a fault and ask triage; returns its row of the table."""
    sys.stderr.write(f"{fault.name}: {fault.what} (at most {fault.seconds:.0f} s)\n")
    folder = out / fault.name
    ending = provoke(fault, folder)
    said = triage_says(folder, triage)
    keep_record(folder, fault, ending, said, found)
    return fault.name, ending.shown, f"{ending.seconds:.1f}", fault.expected, said


def options(faults: Sequence[Fault]) -> argparse.ArgumentParser:
    """What the command takes."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--list", action="store_true", help="print the faults and end")
    ask.add_argument("--only", nargs="+", metavar="FAULT", choices=[fault.name for fault in faults], help="only these")
    ask.add_argument("--out", type=Path, default=Path("build/faults"), metavar="DIR", help="gets a folder for each fault (default %(default)s)")
    ask.add_argument("--triage", default=command_of_triage(), metavar="COMMAND", help="how triage is called (default %(default)s)")
    return ask


def main(arguments: Sequence[str] | None = None, faults: Sequence[Fault] = FAULTS) -> int:
    """The command; returns its exit code."""
    ask = options(faults)
    given = ask.parse_args(arguments)
    if given.list:
        sys.stdout.write(listing(faults))
        return 0
    chosen = [fault for fault in faults if not given.only or fault.name in given.only]
    taken = [fault.name for fault in chosen if (given.out / fault.name).exists()]
    if taken:
        ask.error(f"{given.out} holds an earlier run of {', '.join(taken)}: name another --out")
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    found = look()
    skipped = skip(chosen, found)
    rows = [attempt(fault, given.out, shlex.split(given.triage), found) for fault in chosen if fault.name not in skipped]
    sys.stdout.write(table(rows) if rows else "")
    return 2 if skipped else int(any(expected != said for *_, expected, said in rows))


if __name__ == "__main__":
    sys.exit(main())
