"""Holds the verdicts of two sets of rules on the same evidence against each other: whose verdict changed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.model import Findings, Instant, Seconds, Verdict

NEAR: Seconds = 600.0  # how far apart two verdicts of one engine may have their onset and still be about one thing


class Change(msgspec.Struct, frozen=True):
    """One incident under the old and under the new rules; None where one of them sees no incident."""

    old: Verdict | None
    new: Verdict | None

    @property
    def either(self) -> Verdict:
        """The new verdict, or the old one where there is no new. Raises ValueError for a change without any."""
        verdict = self.new or self.old
        if verdict is None:
            raise ValueError("a change has a verdict on one side at least")
        return verdict

    @property
    def what(self) -> tuple[str, ...]:
        """What differs: `class`, `root` (another line is cited); nothing where both say the same."""
        if self.old is None or self.new is None:
            return ("class",)
        roots = [(v.root.line if v.root else None) for v in (self.old, self.new)]
        pairs = {"class": (self.old.fault_class, self.new.fault_class), "root": (roots[0], roots[1])}
        return tuple(name for name, (before, after) in pairs.items() if before != after)


def compared(old: Findings, new: Findings) -> tuple[Change, ...]:
    """Every incident of either side once, in the order of the new rules' verdicts, then those that only the old rules saw."""
    rest = list(old.verdicts)
    pairs: dict[int, Verdict] = {}
    for same in (_same_incident, _same_time):
        for index, verdict in enumerate(new.verdicts):
            if index not in pairs and (partner := next((one for one in rest if same(one, verdict)), None)) is not None:
                pairs[index] = partner
                rest.remove(partner)
    return (*(Change(pairs.get(index), verdict) for index, verdict in enumerate(new.verdicts)), *(Change(one, None) for one in rest))


def changed(changes: Sequence[Change]) -> list[Change]:
    """Those whose verdict is not the same."""
    return [change for change in changes if change.what]


def _same_incident(one: Verdict, other: Verdict) -> bool:
    return one.incident.id == other.incident.id


def _same_time(one: Verdict, other: Verdict) -> bool:
    """Whether two verdicts are about one engine at one time: rules that see a boot elsewhere give an incident another id."""
    if (one.incident.source, one.incident.stream) != (other.incident.source, other.incident.stream):
        return False
    first, second = _at(one), _at(other)
    return first is not None and second is not None and abs(first.earliest - second.earliest) <= NEAR


def _at(verdict: Verdict) -> Instant | None:
    return verdict.incident.onset or verdict.incident.dead or (verdict.root.at if verdict.root else None)
