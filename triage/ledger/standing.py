"""Where a mitigation stands: its status by the machine below, with the figures and the incident that it rests on.

    proposed -> claimed -> unverified -> supported       (refuted from either, by one recurrence; supported stays falsifiable for good)
                        -> void        boots since, and none of them carries the change
                        -> paused      the last boot does not carry it, or somebody said so
                        -> confounded  something else changed, from the first boot on or since: the clock stands for good
                        -> withdrawn   taken out: the time after it is a control

"Supported" asks for three things at once: an e-value of 20, three fault intervals, and a quiet time longer than the stack kept by itself before,
where the rate alone does not explain that one. All three count a quiet time for less where the fault came in clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from triage.ledger.accrual import Accrual, accrue
from triage.ledger.baseline import Before, counted, stated
from triage.ledger.book import Mitigation
from triage.ledger.entry import Baseline
from triage.ledger.evidence import Death, Evidence, Life, matches, nameless, on_hosts
from triage.ledger.silence import ALPHA, LEAST, LEVEL, conditional_chance, e_value, quiet_needed
from triage.ledger.stretches import origin, total, within
from triage.model import Seconds

Status = Literal["proposed", "claimed", "unverified", "supported", "refuted", "void", "paused", "confounded", "withdrawn"]
STATUSES: tuple[Status, ...] = ("proposed", "claimed", "unverified", "supported", "refuted", "void", "paused", "confounded", "withdrawn")
UNSEEN: Seconds = 3600.0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the clock has come: clean exposure in seconds, in fault intervals (m, less what clustering takes off), its e-value.

    `needed`: exposure in seconds at which it could be called supported; None where no quiet time is enough. `earliest`: the date, if it stays quiet.
    """

    clean: Seconds
    intervals: float
    e_value: float
    against: float  # the e-value of the opposite: the rate is not as low as claimed
    needed: Seconds | None
    earliest: Seconds | None


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """The time after it was taken out: exposure in seconds, events in it, and how long the first took to come back (seconds of exposure)."""

    seconds: Seconds
    events: int
    first_after: Seconds | None = None


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """One mitigation and where it stands. `recurrences`: what its falsifier names, in boots that carry it, after it was registered."""

    mitigation: Mitigation
    status: Status
    reason: str = ""
    accrual: Accrual = Accrual()
    before: Before | None = None
    progress: Progress | None = None
    recurrences: tuple[Death, ...] = ()
    refuted_by: Death | None = None
    earlier: tuple[Death, ...] = ()  # as recurrences, but before it was registered
    spared: tuple[Death, ...] = ()  # its own fault in that time, but not as the falsifier names it
    others: tuple[tuple[str, int], ...] = ()  # what else died in that time and does not count, and how often
    unnamed: int = 0
    control: Control | None = None
    jointly: tuple[str, ...] = ()
    observable: bool = True
    late: bool = False  # the evidence begins after it was in force: who chose that beginning may have seen what came before

    @property
    def name(self) -> str:
        return self.mitigation.name

    @property
    def contradicted(self) -> bool:
        """Whether the rate that was stated is not the one that was counted, and so does not hold."""
        given = self.mitigation.entry.baseline
        return given is not None and given.events > 0 and (self.before is None or not self.before.stated)


def standings(known: Sequence[Mitigation], evidence: Evidence) -> list[Standing]:
    """Every mitigation of a journal held against the evidence, in order of registration."""
    alone = {m.name: accrue(m, evidence) for m in known}
    return [_standing(m, evidence, _others(m, known, alone)) for m in known]


def _others(mitigation: Mitigation, known: Sequence[Mitigation], alone: dict[str, Accrual]) -> list[tuple[Seconds, str]]:
    """When other mitigations against the same class, on hosts of this one, took effect."""
    rest = (m for m in known if m.name != mitigation.name and m.entry.fault_class == mitigation.entry.fault_class)
    shared = (m for m in rest if not m.entry.hosts or on_hosts(mitigation.entry.hosts, *m.entry.hosts))
    return [(began, m.name) for m in shared if (began := alone[m.name].effective) is not None]


def _standing(mitigation: Mitigation, evidence: Evidence, others: Sequence[tuple[Seconds, str]]) -> Standing:
    accrual = accrue(mitigation, evidence, others)
    before = _before(mitigation, evidence, accrual)
    found = [d for d in evidence.deaths if matches(mitigation.entry.falsifier, d) and _in_it(d, accrual)]
    end = _end(mitigation, evidence)
    recurred = tuple(d for d in found if d.at > mitigation.registered and _still_in_force(d, mitigation, accrual))
    started = accrual.effective if accrual.carried else None
    spared = _spared(mitigation, evidence, accrual)
    made = Standing(
        mitigation=mitigation, status="proposed", accrual=accrual, before=before, recurrences=recurred, spared=spared,
        earlier=tuple(d for d in found if d.at <= mitigation.registered), others=_not_counted(mitigation, evidence, accrual, end, spared),
        unnamed=sum(nameless(d) and d.within(accrual.since) and d not in recurred for d in evidence.deaths),
        control=_control(mitigation, evidence, accrual),
        jointly=tuple(name for at, name in others if started is not None and abs(at - started) <= 1.0),
        observable=any(c.presence == "holds" for c in accrual.lives), late=_late(mitigation, evidence),
    )  # fmt: skip
    made = msgspec.structs.replace(made, progress=_progress(made, evidence))
    status, reason, death = _status(made, evidence)
    return msgspec.structs.replace(made, status=status, reason=reason, refuted_by=death)


def _end(mitigation: Mitigation, evidence: Evidence) -> Seconds:
    gone = mitigation.said("withdrawn")
    until = evidence.until if evidence.until is not None else mitigation.registered
    return min(gone.since, until) if gone else until


def _late(mitigation: Mitigation, evidence: Evidence) -> bool:
    """Whether the evidence leaves out more than a little of the time in which a recurrence would have refuted it."""
    claimed = mitigation.claimed
    counts = max(mitigation.registered, claimed.written if claimed else 0.0, mitigation.entry.falsifier.after or 0.0)
    return evidence.start is not None and evidence.start > counts + UNSEEN


def _still_in_force(death: Death, mitigation: Mitigation, accrual: Accrual) -> bool:
    """Whether a death came before the withdrawal; one that is dated back does not undo what a boot that shows the change did until it was said."""
    gone = mitigation.said("withdrawn")
    shown = any(c.life.boot.id == death.boot and c.presence == "holds" for c in accrual.lives)
    return gone is None or death.at <= (gone.written if shown else gone.since)


def _in_it(death: Death, accrual: Accrual) -> bool:
    """Whether a death fell into a boot that carried the change: the boot that it names, or where it names none that served, by its time."""
    own = [c.life for c in accrual.lives if c.life.boot.id == death.boot]
    if not own:
        return death.within(accrual.carried)
    return any(death.at >= life.start and _carried_at(life, min(death.at, life.end), accrual) for life in own)


def _carried_at(life: Life, at: Seconds, accrual: Accrual) -> bool:
    """Whether the change stood in a life by then; two lives may touch, so the life must share more than an edge with the time that was carried."""
    low, high = life.stretch
    return any(start < high and end > low and start <= life.axis + at for start, end in accrual.carried)


def _before(mitigation: Mitigation, evidence: Evidence, accrual: Accrual) -> Before | None:
    """The rate of the class before: as stated, unless what was counted in all time without the change is too low for that; else as counted."""
    own = [d for d in evidence.deaths if d.fault and d.fault_class == mitigation.entry.fault_class and on_hosts(mitigation.entry.hosts, d.host)]
    seen = counted(accrual.before, own, [c.life for c in accrual.lives])
    given = mitigation.entry.baseline
    return stated(given, seen) if given is not None and not _contradicted(given, seen, accrual) else seen


def _contradicted(given: Baseline | None, seen: Before | None, accrual: Accrual) -> bool:
    """Whether so few came without the change that a stated rate cannot have been the rate."""
    seconds = total(accrual.before)
    if given is None or not given.events or seconds <= 0:
        return False
    return conditional_chance(given.events, given.seconds, seen.events if seen else 0, seconds) <= ALPHA


def _spared(mitigation: Mitigation, evidence: Evidence, accrual: Accrual) -> tuple[Death, ...]:
    """The fault that it is against, in boots that carry it and while it was in force, where the falsifier's words leave it out: host or text."""
    entry = mitigation.entry
    own = (d for d in evidence.deaths if d.fault and d.phase != "boot" and d.fault_class == entry.fault_class and not matches(entry.falsifier, d))
    after = max(mitigation.registered, entry.falsifier.after or 0.0)
    here = (d for d in own if d.at > after and on_hosts(entry.hosts, d.host) and _in_it(d, accrual))
    return tuple(d for d in here if _still_in_force(d, mitigation, accrual))


def _not_counted(
    mitigation: Mitigation, evidence: Evidence, accrual: Accrual, end: Seconds, spared: Sequence[Death]
) -> tuple[tuple[str, int], ...]:
    """Deaths while it was in force that are none of its fault and that its falsifier does not name, by class."""
    own, began = mitigation.entry.falsifier, max(mitigation.registered, mitigation.entry.falsifier.after or 0.0)
    rest = [d for d in evidence.deaths if began < d.at <= end and _in_it(d, accrual) and not matches(own, d) and d not in spared]
    kinds = [f"{d.fault_class} while starting" if d.fault and d.phase == "boot" else d.fault_class for d in rest]
    return tuple((kind, kinds.count(kind)) for kind in dict.fromkeys(kinds))


def _control(mitigation: Mitigation, evidence: Evidence, accrual: Accrual) -> Control | None:
    if mitigation.said("withdrawn") is None or not accrual.after:
        return None
    own = mitigation.entry.fault_class
    times = [d.elapsed(accrual.after) for d in evidence.deaths if d.fault and d.fault_class == own and d.within(accrual.after)]
    return Control(seconds=total(accrual.after), events=len(times), first_after=min(times, default=None))


def _progress(of: Standing, evidence: Evidence) -> Progress | None:
    """The figures, where there is a rate to hold the quiet time against."""
    before, claim = of.before, of.mitigation.entry.claim
    if before is None or not before.events:
        return None
    since = of.accrual.since
    came = sorted(d.at for d in (*of.recurrences, *of.spared))
    clean, seen = total(within(since, 0.0, came[0])) if came and not claim.ratio else total(since), len(came)
    counts = clean * before.share
    needed = quiet_needed(before.events, before.seconds, seen=seen, ratio=claim.ratio, level=LEVEL)
    if needed is not None:
        needed = max(needed / before.share, LEAST / before.rate / before.share, before.bar)
    value = e_value(before.events, before.seconds, seen, counts, claim.ratio)
    engines = len({origin(start) for start, _ in of.accrual.carried}) or 1
    earliest = evidence.until + max(0.0, needed - clean) / engines if needed is not None and evidence.until is not None else None
    return Progress(
        clean=clean, intervals=counts * before.rate, e_value=value, against=1 / value if value else float("inf"), needed=needed, earliest=earliest
    )  # fmt: skip


def _status(of: Standing, evidence: Evidence) -> tuple[Status, str, Death | None]:
    """The status, why, and the incident that refuted it."""
    refuted = _refuted(of, evidence)
    if refuted is not None:
        return "refuted", refuted[0], refuted[1]
    mitigation, accrual = of.mitigation, of.accrual
    gone, claimed = mitigation.said("withdrawn"), mitigation.said("claimed")  # the last: it was applied anew after boots without it
    if gone is not None:
        return "withdrawn", gone.reason, None
    if not accrual.carried:
        return *_without_effect(of, claimed.since if claimed else None), None
    if of.earlier and not of.recurrences and before_first(of, evidence):
        return "void", "nothing is changed by it: it was in place before the first such death, which it did not prevent", None
    last = mitigation.said("paused", "resumed")
    if last is not None and last.said == "paused":
        return "paused", last.reason or "somebody said so", None
    newest = accrual.lives[-1]
    carrying = max(start - origin(start) for start, _ in accrual.carried)
    if newest.presence == "fails" and newest.life.start > carrying and not _elsewhere(newest.life, accrual):
        return "paused", f"boot {newest.life.boot.id} does not carry it", None
    if _supported(of):
        return "supported", "", None
    return ("confounded", "; ".join(accrual.confounded[1]), None) if accrual.confounded is not None else ("unverified", "", None)


def before_first(of: Standing, evidence: Evidence) -> bool:
    """Whether every death of its class came in boots that carried the change already, before anybody registered it."""
    own = [d for d in evidence.deaths if d.fault and d.fault_class == of.mitigation.entry.fault_class]
    return bool(own) and all(_in_it(d, of.accrual) and d.at <= of.mitigation.registered for d in own)


def _elsewhere(life: Life, accrual: Accrual) -> bool:
    """Whether a boot is one of another engine than those that carry the change."""
    return life.axis not in {origin(start) for start, _ in accrual.carried}


def _without_effect(of: Standing, claimed: Seconds | None) -> tuple[Status, str]:
    """Proposed, claimed or void: no boot was seen that carries the change."""
    if claimed is None:
        return "proposed", "nobody has said that it was applied, and no boot carries it"
    since = [c for c in of.accrual.lives if c.life.start >= claimed]
    if not since:
        return "claimed", "no boot since: what is running was started before"
    return "void", f"the change never took effect: {len(since)} boots since, the last of them {since[-1].life.boot.id}, and none carries it"


def _refuted(of: Standing, evidence: Evidence) -> tuple[str, Death | None] | None:
    """Why it is refuted, by what the evidence shows or, where that is gone, by what was written down when it was seen."""
    if of.mitigation.entry.claim.kind == "reduces":
        shown = of.progress is not None and bool(of.recurrences) and of.progress.against >= LEVEL
        return ("the rate is not as low as claimed", of.recurrences[-1]) if shown else None
    if of.recurrences:
        return "", of.recurrences[0]
    word = of.mitigation.said("refuted")
    if word is not None and word.incident not in evidence.dismissed and not any(d.id == word.incident for d in evidence.deaths):
        at = Death(id=word.incident, at=word.since, fault_class=of.mitigation.entry.fault_class, fault=True, phase="serving", boot="", host="")
        return "as written down then; its log is no longer among what was read", at
    return None


def _supported(of: Standing) -> bool:
    """All three conditions, no death in that time that is or might be its fault, and evidence from the day on that it counts from."""
    now = of.progress
    if now is None or now.needed is None or of.before is None or of.unnamed or of.spared or of.late:
        return False
    return now.e_value >= LEVEL and now.intervals >= LEAST and now.clean >= max(now.needed, of.before.bar)
