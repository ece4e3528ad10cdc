"""On which side of a gate a traceback or a step lies: by the functions in it, by the lines of functions that hold both branches, by its size.

>>> compared(condition("enable = batch_tokens <= THRESHOLD"), 1408, 1024)
False
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from triage.knowledge.configuration import Gate

Side = Literal["on", "off", ""]
_CONDITION = re.compile(
    r"(?:\w+\s*=(?!=)\s*)?(?:(?P<low>\d+(?:\.\d+)?)\s*(?P<under><=?)\s*)?(?P<name>[A-Za-z_]\w*)\s*(?P<op><=|>=|==|<|>)\s*(?P<value>[A-Za-z_]\w*|\d+(?:\.\d+)?)"
)
_FRAME = re.compile(r"(?P<path>.*):(?P<line>\d+) (?P<function>.+)")
_OPS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "==": operator.eq}


class ConditionError(ValueError):
    """A gate's condition that cannot be read."""


class Condition(NamedTuple):
    """`low < name op THRESHOLD`: what is compared, how, the number it is compared with where that is fixed, and what it must exceed."""

    name: str
    op: str
    fixed: float | None = None
    low: float | None = None
    strictly: bool = True


class Seen(NamedTuple):
    """What a traceback says of a gate: the side, the frame that tells it, and whether the frame is in the gate's way at all."""

    side: Side
    frame: str = ""
    passed: bool = False


def condition(text: str) -> Condition:
    """A gate's comparison. Raises ConditionError."""
    found = _CONDITION.fullmatch(text.strip())
    if not found:
        raise ConditionError(f"{text!r} is no condition of a gate: write `batch_tokens <= THRESHOLD`")
    value = found["value"]
    low = float(found["low"]) if found["low"] else None
    return Condition(found["name"], found["op"], float(value) if value[0].isdigit() else None, low, found["under"] != "<=")


def compared(of: Condition, size: float, threshold: float) -> bool:
    """Whether the branch is taken for something of this size."""
    if of.low is not None and not (size > of.low if of.strictly else size >= of.low):
        return False
    return bool(_OPS[of.op](size, threshold if of.fixed is None else of.fixed))


def side_of(gate: Gate, frames: Sequence[str], version: str) -> Seen:
    """The side that a traceback (outermost frame first) went by; the innermost frame that tells decides.

    Where one function holds both branches, its line number tells, in the versions whose lines are known.
    """
    named = [(frame, *_parts(frame)) for frame in frames]
    passed = [at for at, (_, _, _, function) in enumerate(named) if function in gate.through]
    if gate.through and not passed:
        return Seen("")
    start = passed[-1] if passed else 0
    for frame, path, line, function in reversed(named[start:]):
        if told := _by_function(gate, path, line, function) or _by_line(gate, path, line, function, version):
            return Seen(told, frame, True)
    return Seen("", frames[start] if passed else "", bool(passed))


def _parts(frame: str) -> tuple[str, int, str]:
    found = _FRAME.fullmatch(frame)
    return (found["path"], int(found["line"]), found["function"].rpartition(".")[2]) if found else ("", 0, frame.strip())


def _by_function(gate: Gate, path: str, line: int, function: str) -> Side:
    names = {function, f"{path.rpartition('/')[2]}:{line}"}
    return "on" if names & set(gate.on_frames) else "off" if names & set(gate.off_frames) else ""


def _by_line(gate: Gate, path: str, line: int, function: str, version: str) -> Side:
    for known in gate.lines:
        if function != known.function or not path.endswith(known.file) or minor(version) != known.version:
            continue
        return "on" if line in known.on else "off" if line in known.off else ""
    return ""


def minor(version: str) -> str:
    """`0.27` of `0.27.0rc1`."""
    found = re.match(r"v?(\d+\.\d+)", version)
    return found[1] if found else ""
