"""Changes that do nothing where they are made: a variable that the engine does not know, a value that it has already, an option that it overrides."""

from __future__ import annotations

from collections.abc import Iterator

from triage.knowledge.load import Knowledge
from triage.knowledge.predicates import version_before
from triage.ledger.answers import Case, as_shown
from triage.ledger.booted import Booted, setting
from triage.ledger.entry import Entry
from triage.ledger.modes import graphs, name_of
from triage.ledger.presence import parted, presence, same
from triage.model import Event


def does_nothing(case: Case, known: Knowledge) -> Iterator[tuple[str, Event | None]]:
    """For each part of the change that has no effect: a sentence that says why, and the line that shows it."""
    for change in case.entry.changes:
        path, wanted = parted(change)
        for found in (_unknown(path[0], case), _gone(path[-1], case, known), _already(change, path, case), _taken_back(path, wanted, case)):
            if found is not None:
                yield found
                break


def _unknown(name: str, case: Case) -> tuple[str, Event | None] | None:
    """A variable that the engine warned of, in the version that runs now: another may know it."""
    now = next((one.boot.version for one in reversed(case.boots) if one.boot.version), "")
    line = next((one.unknown[name] for one in reversed(case.boots) if name in one.unknown and one.boot.version in ("", now)), None)
    return (f"{name} does nothing here: the engine says that it does not know this variable", line) if line is not None else None


def _gone(name: str, case: Case, known: Knowledge) -> tuple[str, Event | None] | None:
    """A variable that the rules know to be older or younger than the engine."""
    version = case.boots[-1].boot.version if case.boots else ""
    gates = known.gates[case.engine].gates if case.engine in known.gates else ()
    gate = next((gate for gate in gates if name in gate.set_by), None)
    if gate is None or not version:
        return None
    if gate.gone and version_before(version, gate.gone) is False:
        return f"{name} does nothing here: {case.engine} {version} has it no more (gone in {gate.gone})", None
    if gate.since and version_before(version, gate.since):
        return f"{name} does nothing here: {case.engine} {version} does not have it yet (since {gate.since})", None
    return None


def _already(change: str, path: list[str], case: Case) -> tuple[str, Event | None] | None:
    """A value that the boots had, all of them that died of this class and tell it."""
    died = [fault.boot for fault in case.faults if fault.boot is not None]
    one = died[0] if died else None
    if one is None or _carries(change, one) != "holds" or not all(_carries(change, other) == "holds" for other in died):
        return None
    fact = setting(one, ".".join(path))
    return f"{change} does nothing here: the first boot that died of {case.entry.fault_class} had it already", fact.line if fact else None


def _taken_back(path: list[str], wanted: object, case: Case) -> tuple[str, Event | None] | None:
    """A graph mode that boots were asked for and that a later line took back."""
    mode = name_of(wanted.get("cudagraph_mode")) if isinstance(wanted, dict) else name_of(wanted) if path[-1] == "cudagraph_mode" else ""
    asked = [modes for one in case.boots if (modes := graphs(one)) is not None and mode and modes.printed == mode]
    if not asked:
        return None
    says = f"cudagraph_mode {mode} does nothing here: {len(asked)} boots were asked for it, and a later line made it {asked[-1].mode}"
    return says, asked[-1].lines[-1]


def _carries(change: str, one: Booted) -> str:
    return presence([change], as_shown(one))


def threshold_of(entry: Entry, names: tuple[str, ...]) -> float | None:
    """The number that a change sets one of these settings to; None where it sets none of them, or to no number."""
    for change in entry.changes:
        path, wanted = parted(change)
        told = {path[-1]: wanted, path[0]: wanted} | (wanted if isinstance(wanted, dict) else {})
        value = next((value for name, value in told.items() if name in names and not isinstance(value, dict)), None)
        if value is not None and same(value, value):
            try:
                return float(str(value))
            except ValueError:
                return None
    return None
