"""The ledger as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from triage.ledger.evidence import Death, Evidence
from triage.ledger.journal import Record
from triage.ledger.standing import Standing
from triage.ledger.stretches import total
from triage.model import Seconds
from triage.report import inert, words
from triage.report.ledger import status_words
from triage.report.ledger_entry import entry_document


def as_json(standings: Sequence[Standing], evidence: Evidence, records: Sequence[Record]) -> str:
    """Everything in full; times in ISO 8601 UTC, lengths in seconds, rates in events a day."""
    told = {
        "schema": "triage/1",
        "evidence": {"from": _iso(evidence.start), "to": _iso(evidence.until), "boots": len(evidence.lives), "idle_known": evidence.idle is not None},
        "journal": {"records": len(records), "head": records[-1].hash if records else None},
        "mitigations": [_standing(standing) for standing in standings],
    }
    return inert.as_json(told)


def _standing(of: Standing) -> dict[str, Any]:
    accrual, before, control = of.accrual, of.before, of.control
    return {
        **entry_document(of.mitigation),
        "status": of.status,
        "says": status_words(of),
        "reason": of.reason,
        "refuted_by": _death(of.refuted_by) if of.refuted_by else None,
        "recurrences": [_death(death) for death in of.recurrences],
        "before_registration": [_death(death) for death in of.earlier],
        "effective": _iso(accrual.effective),
        "mechanism_observed": of.observable,
        "clean_seconds": total(accrual.since),
        "not_counted": [{"reason": reason, "seconds": seconds} for reason, seconds in accrual.left_out],
        "confounded": {"at": _iso(accrual.confounded[0]), "by": accrual.confounded[1]} if accrual.confounded else None,
        "rate_before": _before(of) if before else None,
        "progress": _progress(of),
        "control": msgspec.to_builtins(control) if control else None,
        "other_deaths": dict(of.others),
        "unnamed_deaths": of.unnamed,
        "not_named_by_falsifier": [_death(death) for death in of.spared],
        "evidence_begins_late": of.late,
        "jointly_with": of.jointly,
        "boots": [{"id": c.life.boot.id, "from": _iso(c.life.start), "to": _iso(c.life.end), "change": c.presence} for c in accrual.lives],
    }


def _before(of: Standing) -> dict[str, Any]:
    before = of.before
    if before is None:
        return {}
    quiet = before.quiet
    told = {"seconds": quiet.seconds, "from": _iso(quiet.start), "to": _iso(quiet.end), "stack": quiet.stack} if quiet else None
    return {
        "events": before.events, "seconds": before.seconds, "per_day": before.rate * 86400, "stated": before.stated, "dispersion": before.dispersion,
        "longest_quiet": told,
    }  # fmt: skip


def _progress(of: Standing) -> dict[str, Any] | None:
    now = of.progress
    if now is None:
        return None
    return {
        "quiet_seconds": now.clean, "intervals": now.intervals, "e_value": now.e_value, "e_value_against": now.against if of.recurrences else None,
        "needed_seconds": now.needed, "supported_at_earliest": _iso(now.earliest) if of.status == "unverified" else None,
    }  # fmt: skip


def _death(death: Death) -> dict[str, Any]:
    return {"incident": death.id, "at": words.iso(death.at), "class": death.fault_class, "boot": death.boot or None}


def _iso(at: Seconds | None) -> str | None:
    return None if at is None else words.iso(at)
