"""Large dumps are loaded by CPython's own unpickler, which is ten times as fast as ours: in a child process that can do no harm.

The child's unpickler resolves no class, follows no persistent id and has limits of processor time and memory that end it; then
the file it was reading is refused and a new child goes on with the next. What the unpickler cannot load goes through our own
machine, in the same child, which salvages a cut stream and names what it refuses. `python -m` with this module is the child:
it reads requests from stdin and writes answers to stdout, each with its length in front.
"""

from __future__ import annotations

import io
import os
import pickle
import select
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NoReturn, Self

import msgspec

from triage.parsers.flight_recorder import machine
from triage.parsers.flight_recorder.machine import DumpError, Loaded
from triage.parsers.flight_recorder.reader import read_dump
from triage.parsers.flight_recorder.records import Recording

MEMORY = 160 << 20  # bytes of data the child may hold
SECONDS = 0.5  # of processor time for a file, and more for a big one:
BYTES_PER_SECOND = 32 << 20
PATIENCE = 60.0  # seconds for a disk or network that does not answer
LONGEST_ANSWER = 16 << 20  # bytes; a recording of 20,000 entries has half of one MiB
LENGTH = 8  # bytes before a message that say how long it is
HOME = Path(__file__).resolve().parents[3]  # where the package lies


class Request(msgspec.Struct, frozen=True):
    """One file to read."""

    path: str
    rank: int
    name: str


class Answer(msgspec.Struct, frozen=True):
    """A recording, or why there is none."""

    recording: Recording | None = None
    refused: str = ""


class Jail:
    """The parent's side: `read` has one file read by the child, starting it when there is none."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def read(self, path: str, *, rank: int, name: str) -> Recording:
        """The recording in `path`; raises DumpError with what is wrong, OSError where no child can be started."""
        child = self._child = self._child or _start()
        assert child.stdin is not None and child.stdout is not None
        try:
            _send(child.stdin, msgspec.msgpack.encode(Request(path, rank, name)))
            if not select.select([child.stdout], [], [], PATIENCE)[0]:
                self._end()
                raise DumpError(f"not read within {PATIENCE:.0f} s")
            answer = _receive(child.stdout)
        except BrokenPipeError:
            answer = None
        if answer is None:
            raise DumpError(f"reading it took more time or memory than any honest dump does (reader ended with {self._end()})")
        told = msgspec.msgpack.decode(answer, type=Answer)
        if told.recording is None:
            raise DumpError(told.refused)
        return told.recording

    def _end(self) -> int | None:
        child, self._child = self._child, None
        if child is None:
            return None
        child.kill()
        child.communicate()
        return child.returncode


def _start() -> subprocess.Popen[bytes]:
    """A child that imports this package from where we have it and nothing from the folder we happen to be in."""
    path = os.pathsep.join(filter(None, (str(HOME), os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, "-P", "-m", "triage.parsers.flight_recorder.jail"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": path})


def _send(to: IO[bytes], data: bytes) -> None:
    to.write(len(data).to_bytes(LENGTH, "little") + data)
    to.flush()


def _receive(source: IO[bytes]) -> bytes | None:
    """The next message, or None where the other side is gone."""
    head = source.read(LENGTH)
    if len(head) < LENGTH:
        return None
    data = source.read(size := int.from_bytes(head, "little"))
    return data if len(data) == size else None


class _Bare(pickle.Unpickler):
    """An unpickler that knows containers, text and numbers."""

    def find_class(self, _module: str, _name: str, /) -> NoReturn:
        raise pickle.UnpicklingError("it names a class or function")

    def persistent_load(self, _pid: Any, /) -> NoReturn:
        raise pickle.UnpicklingError("it refers to something outside of the file")


class _Peekable(io.BytesIO):
    """Bytes that the unpickler takes in one piece; of a file without `peek` it asks for each opcode."""

    def peek(self, _size: int = 0, /) -> bytes:
        return self.getvalue()[self.tell() :]


def _load(data: bytes) -> Loaded:
    """Load by the fast unpickler; what it cannot load, our own machine salvages or refuses."""
    try:
        return Loaded(_Bare(_Peekable(data)).load(), cut=False, limited=True)
    except MemoryError:
        raise DumpError("loading it needs more memory than any honest dump does") from None
    except Exception:
        return machine.load(data)


def _answer(request: Request) -> Answer:
    try:
        return Answer(read_dump(request.path, rank=request.rank, name=request.name, load=_load))
    except MemoryError:
        return Answer(refused="reading it needs more memory than any honest dump does")
    except (DumpError, OSError) as error:
        return Answer(refused=str(error))


def _encoded(answer: Answer) -> bytes:
    try:
        encoded = msgspec.msgpack.encode(answer)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(Answer(refused="text that is no UTF-8"))
    if len(encoded) > LONGEST_ANSWER:
        return msgspec.msgpack.encode(Answer(refused="more groups and operations than any honest dump has"))
    return encoded


def serve() -> None:
    """The child's life: limits, then one answer for each request until stdin ends."""
    import gc
    import resource
    import signal

    gc.disable()  # millions of small containers; cycles, which only a hostile file has, go between files
    gc.freeze()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (data := _receive(sys.stdin.buffer)) is not None:
        request = msgspec.msgpack.decode(data, type=Request)
        signal.setitimer(signal.ITIMER_PROF, SECONDS + _size(request.path) / BYTES_PER_SECOND)
        answer = _encoded(_answer(request))
        signal.setitimer(signal.ITIMER_PROF, 0)
        _send(sys.stdout.buffer, answer)
        gc.collect()


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


if __name__ == "__main__":
    serve()
