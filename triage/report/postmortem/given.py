"""What a postmortem is made of besides the findings: mitigations and trials, as small records that do not depend on who keeps them."""

from __future__ import annotations

from typing import Literal

import msgspec

from triage.model import Seconds

Status = Literal[
    "proposed", "claimed", "in effect", "supported", "refuted", "void", "paused", "confounded", "unobservable", "inconclusive", "withdrawn"
]
Outcome = Literal["pass", "fail", "inconclusive"]


class Mitigation(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the ledger: what was changed against which class, what was claimed of it, and where that claim stands.

    Times are seconds since the epoch: `claimed` when it was said to be on, `since` when a boot first showed it,
    `until` when it was taken back or refuted. `status` may carry words of the ledger's own.
    """

    name: str
    fault_class: str
    status: str
    claim: str = ""
    cost: str = ""
    note: str = ""
    claimed: Seconds | None = None
    since: Seconds | None = None
    until: Seconds | None = None
    refuted: Seconds | None = None
    refuted_by: str = ""  # the incident that did


class Rung(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a ladder: a build at a setting, the memory that was left at the worst step (MiB), and how its runs went."""

    build: str
    setting: str
    margin_mib: float | None = None
    passed: int = 0
    failed: int = 0
    inconclusive: int = 0


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One trial: the question, the verdict in words, what limits it, and its ladder where it has one."""

    name: str
    question: str = ""
    verdict: str = ""
    note: str = ""
    rungs: tuple[Rung, ...] = ()
