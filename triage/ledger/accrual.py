"""What time counts for a mitigation, and what does not and why: only what was seen, in boots that carried it, after it was registered."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.ledger.book import Mitigation
from triage.ledger.evidence import Evidence, Life, host_of, on_hosts
from triage.ledger.presence import Presence, differences, presence
from triage.ledger.stretches import Stretch, less, merged, origin, total, within, without
from triage.model import Seconds

SHORTEST: Seconds = 60.0


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """One life and whether the change stood in it."""

    life: Life
    presence: Presence


class Accrual(msgspec.Struct, frozen=True, kw_only=True):
    """The time before, the time that counts since and the time after withdrawal, and what was left out, by reason, in seconds.

    `carried`: all time in boots with the change. `effective`: when the first of them began. `confounded`: when something else changed, and what.
    """

    lives: tuple[Carried, ...] = ()
    before: tuple[Stretch, ...] = ()
    since: tuple[Stretch, ...] = ()
    after: tuple[Stretch, ...] = ()
    carried: tuple[Stretch, ...] = ()
    effective: Seconds | None = None
    confounded: tuple[Seconds, tuple[str, ...]] | None = None
    left_out: tuple[tuple[str, Seconds], ...] = ()


def accrue(mitigation: Mitigation, evidence: Evidence, others: Sequence[tuple[Seconds, str]] = ()) -> Accrual:
    """The clock of one mitigation. `others`: when another mitigation of the same class took effect, and its name."""
    lives = [Carried(life=life, presence=presence(mitigation.entry.changes, life.boot)) for life in _own(mitigation, evidence)]
    claimed, gone = mitigation.claimed, mitigation.said("withdrawn")
    until = evidence.until if evidence.until is not None else 0.0
    end = min(gone.since, until) if gone else until
    counting = [c for c in lives if c.presence == "holds" or (c.presence == "cannot be observed" and claimed and c.life.end > claimed.since)]
    carried = merged(_from(c, claimed.since if claimed else 0.0) for c in counting)
    began = min((start - origin(start) for start, _ in carried), default=None)
    effective = began if began is not None or claimed is None else claimed.since
    seen = less([c.life.stretch for c in lives], evidence.gaps)
    first = min(at for at in (effective, until) if at is not None)
    change = _other_change(mitigation, lives, counting, others)
    told = merged(_from(c, claimed.written if claimed else 0.0) for c in counting)
    since, left = _counted(mitigation, evidence, (carried, told), end, change[0] if change else None)
    return Accrual(
        lives=tuple(lives), before=tuple(within(without(seen, carried), 0.0, first)), since=tuple(since), carried=tuple(carried),
        after=tuple(within(without(seen, carried), max(end, first), until)) if gone else (),
        effective=effective, confounded=change, left_out=(*left, *_unqualified(mitigation, lives, counting, end)),
    )  # fmt: skip


def _own(mitigation: Mitigation, evidence: Evidence) -> list[Life]:
    hosts = mitigation.entry.hosts
    return [life for life in evidence.lives if on_hosts(hosts, host_of(life.boot.host, life.boot.source))]


def _from(carried: Carried, claimed: Seconds) -> Stretch:
    """The part of a life in which the change stood: all of it where its lines say so, else from when somebody said so."""
    life = carried.life
    return (life.stretch[0] if carried.presence == "holds" else life.axis + max(life.start, claimed)), life.stretch[1]


def _counted(
    mitigation: Mitigation, evidence: Evidence, carried: tuple[Sequence[Stretch], Sequence[Stretch]], end: Seconds, changed: Seconds | None
) -> tuple[list[Stretch], list[tuple[str, Seconds]]]:
    """The clean time that counts, and how much each reason took from it, one after the other.

    `carried`: in boots with the change, and of that what was so when it was said: who says so afterwards, of boots that do not tell, has looked.
    """
    whole, time = (within(each, 0.0, end) for each in carried)
    unsaid = total(whole) - total(time)
    left = [("before anybody said that it was applied (post hoc)", unsaid)] if unsaid >= SHORTEST else []
    after = mitigation.entry.falsifier.after
    holes = (
        ("before it was registered (post hoc)", [(0.0, mitigation.registered)]),
        ("before the falsifier's time", [(0.0, after)] if after is not None else []),
        ("paused", _paused(mitigation, end)),
        ("after something else changed", [(changed, end)] if changed is not None else []),
        ("not seen by any log or probe", list(evidence.gaps)),
        ("with nothing to do", list(evidence.idle or ())),
    )
    for reason, stretches in holes:
        rest = less(time, stretches)
        taken = total(time) - total(rest)
        time = rest
        left += [(reason, taken)] if taken >= SHORTEST else []
    return time, left


def _paused(mitigation: Mitigation, end: Seconds) -> list[Stretch]:
    stretches, began = [], None
    for word in mitigation.words:
        if word.said == "paused" and began is None:
            began = word.since
        elif word.said == "resumed" and began is not None:
            stretches.append((began, word.since))
            began = None
    return [*stretches, (began, max(began, end))] if began is not None else stretches


def _unqualified(mitigation: Mitigation, lives: Sequence[Carried], counting: Sequence[Carried], end: Seconds) -> list[tuple[str, Seconds]]:
    """Time in boots that did not carry the change, after it should have been there."""
    claimed = mitigation.claimed
    if claimed is None:
        return []
    counted = {id(c) for c in counting}
    taken = total(within([c.life.stretch for c in lives if id(c) not in counted], max(claimed.since, mitigation.registered), end))
    return [("in boots without the change", taken)] if taken >= SHORTEST else []


def _other_change(
    mitigation: Mitigation, lives: Sequence[Carried], counting: Sequence[Carried], others: Sequence[tuple[Seconds, str]]
) -> tuple[Seconds, tuple[str, ...]] | None:
    """The first time at which something else changed than what the entry says: in the boot lines, by another mitigation, or as somebody said."""
    said = mitigation.said("confounded")
    found: list[tuple[Seconds, tuple[str, ...]]] = [(said.since, (said.reason or "something else changed",))] if said else []
    if counting:
        start = min(each.life.start for each in counting)
        found += [(at, (f"{name} took effect",)) for at, name in others if at > start + 1.0]
        found += [change for axis in {each.life.axis for each in counting} if (change := _changed_on(axis, mitigation, lives, counting)) is not None]
    return min(found, key=lambda pair: pair[0]) if found else None


def _changed_on(
    axis: Seconds, mitigation: Mitigation, lives: Sequence[Carried], counting: Sequence[Carried]
) -> tuple[Seconds, tuple[str, ...]] | None:
    """The first boot of one engine that carries the change and differs in something else from the one before it."""
    own = [each for each in counting if each.life.axis == axis]
    earlier = [c.life for c in lives if c.life.axis == axis and c.life.start < own[0].life.start]
    reference = earlier[-1] if earlier else None
    for each in own:
        if reference is not None and (what := differences(reference.boot, each.life.boot, mitigation.entry.changes)):
            return each.life.start, tuple(what)
        reference = each.life
    return None
