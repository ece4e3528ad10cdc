"""Reads the frames of the Python traceback that ends in a given line, walking backwards through one speaker's lines.

>>> frame('  File "/opt/engine/model.py", line 812, in forward')
'/opt/engine/model.py:812 forward'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import msgspec

from triage.expressions import compiled_later
from triage.parsers.tags import Tag, tag

LONGEST_TRACEBACK = 400
_FRAME = compiled_later(r'[\s|]*File "(?P<path>[^"]{1,400})", line (?P<line>\d+), in (?P<name>.{1,200})')
_RUNNER = compiled_later(r"<frozen runpy>:|<string>:|\S*/runpy\.py:")
PROGRAM = "<program>"  # the function of the first frame, where the interpreter began with a module body
_BEGIN = "Traceback (most recent call last)"
_FOLLOWS = ("The above exception was the direct cause", "During handling of the above exception")
_IGNORED = ("Exception ignored in", "Exception ignored on", "future: <Task finished")
_SOURCE = ("raise ", "assert ")
LONGEST_SOURCE = 8  # lines of source that newer interpreters print below one frame


class HasText(Protocol):
    """A line of a piece: its text, and who wrote it as far as a launcher's prefix says."""

    @property
    def text(self) -> str: ...

    @property
    def rank(self) -> int | None: ...

    @property
    def pid(self) -> int | None: ...


L = TypeVar("L", bound=HasText)


class Traceback(msgspec.Struct, frozen=True):
    """Frames innermost last, and whether the exception was raised while another was being handled.

    `quoted`: the line is the source text of a frame, which quotes what it would raise. `ignored`: nobody met the exception, which was
    raised in an exit handler, a destructor, or a task that was not waited for.
    """

    frames: tuple[str, ...] = ()
    follows: bool = False
    quoted: bool = False
    ignored: bool = False


def frame(text: str) -> str | None:
    """`path:line function` where `text` is a frame's line of a traceback, else None."""
    found = _FRAME.match(text)
    return f"{found['path']}:{found['line']} {found['name'].strip()}" if found else None


def traceback_before(line: L, before: Callable[[L], L | None]) -> Traceback:
    """The traceback whose last line is `line`. Lines of other processes in between are passed over."""
    speaker = tag(line.text)
    if _is_source(line, speaker, before):
        return Traceback(quoted=True)
    frames: list[str] = []
    walked: L | None = line
    for _ in range(LONGEST_TRACEBACK):
        walked = before(walked) if walked is not None else None
        if walked is None:
            break
        heard = tag(walked.text)
        if _begins_behind_a_bar(walked, line):
            return Traceback(_from_program(frames[::-1]))
        if _other(speaker, heard) or (walked.rank, walked.pid) != (line.rank, line.pid):
            continue
        message = heard.message.strip("\r")
        if _BEGIN in message:
            above = _heard_above(walked, before, speaker)
            return Traceback(_from_program(frames[::-1]), above.startswith(_FOLLOWS), ignored=above.startswith(_IGNORED))
        if message.startswith(_IGNORED):
            return Traceback(tuple(reversed(frames)), ignored=True)
        seen = frame(message)
        plain = bool(message.strip()) and not message[:1].isspace() and not message.startswith(("+", "|"))
        if not seen and plain and not _lost_indent(walked, before, speaker):
            break
        if seen:
            frames.append(seen)
    return Traceback(tuple(reversed(frames)))


def _begins_behind_a_bar(walked: L, line: L) -> bool:
    """Whether the traceback of the rank that `line` names begins at the end of a progress bar, which names none."""
    return walked.rank is None and line.rank is not None and f"[rank{line.rank}]: {_BEGIN}" in walked.text


def _from_program(frames: list[str]) -> tuple[str, ...]:
    """The frames of a whole traceback, with the program's own first file told from the modules that it imports."""
    first = next((i for i, seen in enumerate(frames) if not _RUNNER.match(seen)), None)
    if first is not None and frames[first].endswith(" <module>"):
        frames[first] = frames[first].removesuffix("<module>") + PROGRAM
    return tuple(frames)


def _lost_indent(line: L, before: Callable[[L], L | None], speaker: Tag) -> bool:
    """Whether a line that is not indented is the source text of a frame that is not either: somebody pasted it without its spaces."""
    walked: L | None = line
    for _ in range(LONGEST_SOURCE):
        walked = before(walked) if walked is not None else None
        if walked is None:
            return False
        heard = tag(walked.text)
        if not _other(speaker, heard):
            return heard.message.startswith('File "')
    return False


def _other(speaker: Tag, heard: Tag) -> bool:
    return (speaker.process, speaker.pid) != (heard.process, heard.pid)


def _heard_above(first: L, before: Callable[[L], L | None], speaker: Tag) -> str:
    """The last words of the same speaker above a traceback: what they say of it."""
    walked: L | None = first
    for _ in range(12):
        walked = before(walked) if walked is not None else None
        if walked is None:
            return ""
        heard = tag(walked.text)
        if _other(speaker, heard) or not heard.message.strip():
            continue
        return heard.message.lstrip()
    return ""


def _is_source(line: L, speaker: Tag, before: Callable[[L], L | None]) -> bool:
    """Whether a line is the source text below a frame of a traceback: indented deeper, or a statement that raises."""
    message = speaker.message
    if not message[:1].isspace() and not message.startswith(_SOURCE):
        return False
    walked: L | None = line
    for _ in range(LONGEST_SOURCE):
        walked = before(walked) if walked is not None else None
        if walked is None:
            return False
        heard = tag(walked.text)
        if _other(speaker, heard):
            continue
        if frame(heard.message):
            return not message[:1].isspace() or _indent(message) > _indent(heard.message)
        if not heard.message[:1].isspace():
            return False
    return False


def _indent(message: str) -> int:
    return len(message) - len(message.lstrip())
