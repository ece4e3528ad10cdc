"""From the dumps of one hang to who did it: `analyse` with all of the evidence, `summarise` as the noun that incidents carry."""

from __future__ import annotations

from triage.model import Dump, Instant
from triage.parsers.flight_recorder.records import RankDumps
from triage.verdict.dumps.analyse import analyse
from triage.verdict.dumps.records import Findings

__all__ = ["Findings", "analyse", "summarise"]


def summarise(dumps: RankDumps, findings: Findings | None = None) -> Dump:
    """The dump of an incident. `onset` is when the operation that everybody is stuck in was first enqueued; `timeout` is its own, in seconds."""
    found = findings or analyse(dumps)
    first = found.groups[0] if found.groups else None
    created = min((group.created for group in found.groups if group.created), default=0)
    return Dump(
        directory=dumps.directory,
        ranks=found.ranks,
        missing=found.missing,
        empty=found.empty,
        unreadable=dumps.unreadable,
        onset=Instant.sharp(created / 1e9, "computed") if created else None,
        timeout=_timeout(found),
        operation=first.operation if first else "",
        group=first.name if first else "",
        sequence=first.sequence if first else None,
        waiting=first.waiting if first else (),
        suspects=found.suspects,
        version=".".join(map(str, max((r.version for r in dumps.recordings), default=()))),
        stands=found.stands,
        newest=_newest(dumps),
    )


def _newest(dumps: RankDumps) -> Instant | None:
    """When the last operation was enqueued; of recorders that hold none, when they were written."""
    created = max((recording.newest for recording in dumps.recordings), default=0)
    if not created and dumps.recordings and dumps.written:
        return Instant.sharp(dumps.written, "file time")
    return Instant.sharp(created / 1e9, "computed") if created else None


def _timeout(found: Findings) -> float | None:
    """The shortest timeout of the stuck operations: the first watchdog to fire ends the job."""
    told = [group.timeout_ms for group in found.groups if group.timeout_ms]
    return min(told) / 1000 if told else None
