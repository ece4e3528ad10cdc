"""From what the ledger and trials keep to what a postmortem shows of them. Any record with these fields will do: neither package is needed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from triage.model import Seconds
from triage.report.postmortem.given import Mitigation, Rung, Trial


class Standing(Protocol):
    """Where one mitigation stands: its entry and what was said of it, a status with its reason, since when boots carry it, what refuted it."""

    @property
    def mitigation(self) -> Any: ...
    @property
    def status(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def accrual(self) -> Any: ...
    @property
    def refuted_by(self) -> Any: ...


class Ladder(Protocol):
    """A ladder of settings: rungs with a build, a setting, the margin in MiB, and how many of the runs lived."""

    @property
    def item(self) -> str: ...
    @property
    def rungs(self) -> Sequence[Any]: ...


def mitigations(standings: Iterable[Standing], *, asked: Seconds | None = None) -> tuple[Mitigation, ...]:
    """The standings of a ledger as a postmortem shows them, in their order. What was in effect at `asked`, where the evidence begins, was so
    since nobody knows when.
    """
    return tuple(_mitigation(standing, asked) for standing in standings)


def _mitigation(of: Standing, asked: Seconds | None) -> Mitigation:
    entry, refuted, effective = of.mitigation.entry, of.refuted_by, of.accrual.effective
    if effective is not None and asked is not None and effective <= asked:
        effective = None
    return Mitigation(
        name=entry.name, fault_class=entry.fault_class, status=of.status, claim=str(entry.claim), cost=entry.cost.text,
        note="; ".join(part for part in (of.reason, entry.note) if part),
        claimed=_since(of, "claimed") or of.mitigation.registered, since=effective, until=_since(of, "withdrawn"),
        refuted=refuted.at if refuted else None, refuted_by=refuted.id if refuted else "",
    )  # fmt: skip


def _since(of: Standing, word: str) -> Seconds | None:
    said = of.mitigation.said(word)
    return said.since if said else None


def trial(name: str, ladder: Ladder | None = None, *, question: str = "", verdict: str = "", note: str = "") -> Trial:
    """A trial with its ladder, if it has one. A run that did not live failed."""
    rungs = tuple(
        Rung(build=rung.build, setting=f"{rung.value:g}", margin_mib=rung.margin, passed=rung.survived, failed=rung.ran - rung.survived)
        for rung in (ladder.rungs if ladder else ())
    )
    return Trial(name=name, question=question, verdict=verdict, note=note, rungs=rungs)
