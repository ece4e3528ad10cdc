"""How a registered mitigation is shown, without any evidence: in a list, in full, and when it has just been written down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from triage.ledger.book import Mitigation
from triage.ledger.entry import Entry
from triage.ledger.journal import Record
from triage.ledger.silence import LEAST, quiet_needed
from triage.report import inert, words
from triage.report.fitting import fitted_table, text_columns, wrapped
from triage.report.ledger import days, falsifier_words

HEADINGS = ("mitigation", "class", "claim", "registered", "last word")
GIVE = (("class", 15), ("mitigation", 20), ("claim", 0), ("registered", 0))


def listed(known: Sequence[Mitigation], *, style: str = "simple") -> str:
    """One row a mitigation, in order of registration."""
    if not known:
        return "no mitigation was registered: triage mitigation add --help"
    rows = [(words.clean(m.name), m.entry.fault_class, str(m.entry.claim), words.minute(m.registered), _last(m)) for m in known]
    return fitted_table(HEADINGS, rows, style, GIVE)


def _last(of: Mitigation) -> str:
    return f"{of.words[-1].said} {words.minute(of.words[-1].since)}" if of.words else "-"


def shown(of: Mitigation) -> str:
    """All of one mitigation."""
    lines = [f"{words.clean(of.name)}  registered {words.minute(of.registered)} UTC, {of.hash[:12]}", *_parts(of.entry)]
    lines += [f"  {word.said:<12}  {words.minute(word.since)} UTC" + _why(word.reason or word.incident) for word in of.words]
    return "\n".join(wrapped(line, text_columns()) for line in lines)


def registered(entry: Entry, record: Record, path: Path) -> str:
    """What is said when an entry was written down: what is frozen, what it would take, and what to do next."""
    lines = [f"recorded {words.clean(entry.name)} as record {record.n} of {words.clean(str(path))}", *_parts(entry)]
    lines += [f"  frozen        {record.hash[:12]}: note it elsewhere, `triage ledger verify --head {record.hash[:12]}` holds it against the journal"]
    lines += [f"  next          `triage mitigation claim {words.clean(entry.name)}` once it is applied; days before now do not count for it"]
    return "\n".join(wrapped(line, text_columns()) for line in lines)


def as_json(known: Sequence[Mitigation]) -> str:
    """The mitigations as one document."""
    return inert.as_json({"schema": "triage/1", "mitigations": [entry_document(m) for m in known]})


def entry_document(of: Mitigation) -> dict[str, object]:
    """One mitigation as the JSON has it; times in ISO 8601, UTC."""
    told = msgspec.to_builtins(of.entry)
    told["class"] = told.pop("fault_class")
    told["claim"] = str(of.entry.claim)
    said = [{**msgspec.to_builtins(word), "since": words.iso(word.since), "written": words.iso(word.written)} for word in of.words]
    return {**told, "registered": words.iso(of.registered), "hash": of.hash, "said": said}


def _parts(entry: Entry) -> Iterator[str]:
    told = {
        "claim": f"{entry.claim} {entry.fault_class}" + (f" on {', '.join(entry.hosts)}" if entry.hosts else ""),
        "change": " and ".join(entry.changes),
        "mechanism": ", ".join(entry.mechanisms),
        "falsifier": falsifier_words(entry),
        "cost": entry.cost.text + (f" ({entry.cost.change * 100:+.0f} %)" if entry.cost.change is not None else ""),
        "gate": entry.gate.enable,
        "note": entry.note,
        "needs": _needs(entry),
    }
    yield from (f"  {title:<12}  {words.clean(text, 400)}" for title, text in told.items() if text)
    yield from (f"  {'reference':<12}  {words.clean(f'{r.url} {_why(r.status)}', 300)}" for r in entry.references)
    if entry.falsifier.kind == "literal":
        yield "  careful       `any end at all` is also met by a stop that somebody asked for (docker stop, SIGTERM)"


def _needs(entry: Entry) -> str:
    if entry.baseline is None or not entry.baseline.events:
        return ""
    events, seconds = entry.baseline.events, entry.baseline.seconds
    needed = quiet_needed(events, seconds, ratio=entry.claim.ratio)
    if needed is None:
        return f"{events} in {days(seconds)} before: too few, no quiet time will ever be enough"
    return f"{events} in {days(seconds)} before: three fault intervals are {days(LEAST * seconds / events)}, {days(needed)} of quiet are needed"


def _why(text: str) -> str:
    return f" ({words.clean(text, 120)})" if text else ""
