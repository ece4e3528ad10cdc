"""The parts of `triage dump` that are asked for: a timeline around the fault, and the stacks of ranks that wait or are missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from triage.parsers.flight_recorder.records import RETIRED, Frame, RankDumps, Recording
from triage.report import words
from triage.report.fitting import TERMINAL, columns, wrapped
from triage.verdict.dumps import Findings
from triage.verdict.dumps.groups import groups as groups_of
from triage.verdict.dumps.records import NO_RANK, Group, StuckGroup
from triage.verdict.dumps.waits import row_of
from triage.verdict.dumps.words import ranks, spans

GROUPS_SHOWN = 6
FRAMES_SHOWN = 6
SEQUENCE_WIDTH, OPERATION_WIDTH = 10, 24
# Frames between the user's code and the operation, or below it, that tell nothing.
PLUMBING = ("/torch/", "/multiprocessing/", "/concurrent/", "/threading.py", "<frozen", "<string>", "/runpy.py", "/contextlib.py", "torch::", "c10")


class _Step:
    """One operation of a group and how each rank stands to it."""

    def __init__(self) -> None:
        self.finished: list[int] = []
        self.inside: list[int] = []


def timeline(dumps: RankDumps, found: Findings, count: int) -> list[dict[str, Any]]:
    """The last `count` operations before the fault and those after it, for each stuck group, aligned by sequence number."""
    recordings = {recording.rank: recording for recording in dumps.recordings}
    wanted = {(stuck.name, stuck.members): stuck for stuck in reversed(found.groups) if not stuck.transfer}
    told = [
        {"group": group.label, "fault": stuck.sequence, "steps": list(_steps(group, recordings, stuck, count))}
        for group in groups_of(dumps)
        if (stuck := wanted.get((group.label, group.members))) is not None
    ]
    order = [stuck.name for stuck in found.groups]
    return sorted(told, key=lambda entry: order.index(entry["group"]))


def _steps(group: Group, recordings: dict[int, Recording], stuck: StuckGroup, count: int) -> Iterator[dict[str, Any]]:
    fault, waited_for = stuck.sequence, {*stuck.missing} - {*group.positions}
    last = max((position.entered for position in group.positions.values()), default=fault)
    for sequence in range(max(1, fault - count + 1), min(last, fault + count) + 1):
        steps: dict[str, _Step] = {}
        for rank, position in sorted(group.positions.items()):
            if position.entered >= sequence:
                operation, ended = _row(group, recordings[rank], sequence)
                step = steps.setdefault(operation, _Step())
                (step.finished if ended or position.done >= sequence else step.inside).append(rank)
        absent = sorted(
            {rank for rank, position in group.positions.items() if position.entered < sequence} | (waited_for if sequence >= fault else set())
        )
        for operation, step in _named(steps).items():
            told = {"sequence": sequence, "operation": operation, "finished": sorted(step.finished), "in": sorted(step.inside)}
            yield told | {"not_entered": absent}


def _named(steps: dict[str, _Step]) -> dict[str, _Step]:
    """Ranks whose entry is gone do what the others do, where these agree."""
    if len(steps) == 2 and "" in steps:
        gone = steps.pop("")
        other = next(iter(steps.values()))
        other.finished += gone.finished
        other.inside += gone.inside
    return steps


def _row(group: Group, recording: Recording, sequence: int) -> tuple[str, bool]:
    lane = group.lanes.get(recording.rank)
    index = row_of(lane, sequence)
    if lane is None or index is None:
        return "", False
    signature = recording.signatures.get(lane.keys()[index])
    return signature.operation if signature else "", lane.progress[index] >= RETIRED


def timeline_text(told: Sequence[dict[str, Any]], style: str) -> str:
    """The timeline as one table for each group."""
    from tabulate import tabulate

    parts = []
    for entry in told[:GROUPS_SHOWN]:
        rows = [
            [
                f"{'>' if step['sequence'] == entry['fault'] else ' '} {step['sequence']}",
                words.clean(step["operation"] or "?", 40),
                *(spans(step[what]) or "-" for what in ("finished", "in", "not_entered")),
            ]
            for step in entry["steps"]
        ]
        headings, limits = ("seq", "operation", "finished", "in it", "not entered"), _limits() if style == TERMINAL else None
        table = tabulate(rows, headings, tablefmt=style, disable_numparse=True, maxcolwidths=limits)
        parts.append(f"timeline of {words.clean(entry['group'])}\n\n{table}")
    return "\n\n".join(parts) or "no timeline: no group is stuck in a collective"


def _limits() -> list[int | None]:
    """Widths of the timeline's columns: what the terminal leaves beside number and operation goes to the ranks."""
    ranks_each = max(12, (columns() - SEQUENCE_WIDTH - OPERATION_WIDTH - 8) // 3)
    return [None, OPERATION_WIDTH, ranks_each, ranks_each, ranks_each]


def stacks(found: Findings) -> list[dict[str, Any]]:
    """Innermost frames of the user's code in the operation a rank waits in, or in its last one, the same stack once."""
    missing = {s.rank for s in found.suspects if s.rank != NO_RANK}
    together: dict[tuple[str, tuple[Frame, ...]], list[int]] = {}
    for rank, operation in sorted(found.stuck_at.items()):
        waits = operation.progress < RETIRED
        what = ("waiting, and a suspect" if waits else "last operation of a suspect") if rank in missing else "waiting" if waits else "last operation"
        together.setdefault((what, _user_frames(operation.frames)), []).append(rank)
    ordered = sorted(together.items(), key=lambda item: (item[0][0] == "last operation", "suspect" not in item[0][0], item[1]))
    return [
        {"ranks": found_ranks, "what": what, "frames": [{"name": f.name, "file": f.filename, "line": f.line} for f in frames]}
        for (what, frames), found_ranks in ordered
        if frames
    ]


def _user_frames(frames: Sequence[Frame]) -> tuple[Frame, ...]:
    own = [frame for frame in frames if not any(part in frame.filename or frame.name.startswith(part) for part in PLUMBING)]
    return tuple((own or list(frames))[:FRAMES_SHOWN])


def stacks_text(told: Sequence[dict[str, Any]], style: str) -> str:
    """The stacks as indented blocks, innermost frame first."""
    fence = ["```"] if style == "github" else []
    parts = []
    for entry in told:
        head = _fitted(f"{ranks(entry['ranks'])}, {entry['what']}:", style)
        lines = [_fitted(words.clean(f"  {frame['name']} at {frame['file']}:{frame['line']}"), style) for frame in entry["frames"]]
        parts.append("\n".join([head, *fence, *lines, *fence]))
    return "\n\n".join(parts) or _fitted("no stacks: the recorder had none (TORCH_INCLUDE_STACK_TRACE=0, or JSON, which never has them)", style)


def _fitted(line: str, style: str) -> str:
    return wrapped(line, columns()) if style == TERMINAL else line
