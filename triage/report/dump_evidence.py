"""What the dumps of an incident add to it: ranks, suspects, whether the log tells the same, and what dumps cannot show; as values and lines."""

from __future__ import annotations

from typing import Any

from triage.model import Suspect, Verdict
from triage.report import words
from triage.verdict.recorder import unrecorded


def of_dumps(verdict: Verdict) -> dict[str, Any]:
    """The key `dump` of an incident in `triage/1`. `log` has each operation that the watchdog calls timed out, `agrees` null where no dump tells."""
    of = verdict.incident
    found = of.dump or of.idle_dump
    return {
        "state": of.dump_state,
        "reason": of.dump_reason,
        "ranks": list(found.ranks) if found else [],
        "missing": list(found.missing) if found else [],
        "suspects": [_suspect(s) for s in (found.suspects if found else ())],
        "log": _agreements(verdict) if found else [],
        "notes": list(unrecorded(of, verdict.family)),
    }


def witnesses(verdict: Verdict) -> tuple[str, ...]:
    """Lines: whether the log's watchdog and the dumps tell the same, and what the dumps cannot show."""
    of = verdict.incident
    if of.dump is None and of.idle_dump is None:
        return ()
    return (*(told["text"] for told in _agreements(verdict)), *unrecorded(of, verdict.family))


def _agreements(verdict: Verdict) -> list[dict[str, Any]]:
    from triage.verdict.dumps.crosscheck import crosscheck

    return [
        {
            "group": found.mark.group or None,
            "sequence": found.mark.sequence,
            "operations": list(found.mark.operations),
            "ranks": list(found.mark.ranks),
            "agrees": found.agrees,
            "same": list(found.same),
            "others": [{"rank": rank, "dump": place} for rank, place in found.others],
            "text": words.clean(found.text),
        }
        for found in crosscheck(verdict.incident)
    ]


def _suspect(of: Suspect) -> dict[str, Any]:
    return {"rank": of.rank if of.rank >= 0 else None, "strength": of.strength, "reason": of.reason, "evidence": list(of.evidence)}
