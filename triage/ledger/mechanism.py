"""The first question: can the mechanism that a mitigation is aimed at produce the fault on the configuration that the engine booted with?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from triage.history.secrets import HIDDEN, is_secret
from triage.knowledge.configuration import Mechanism
from triage.knowledge.load import Knowledge
from triage.knowledge.predicates import Lookup, Term, holds, parsed, term_holds
from triage.ledger.answers import MECHANISM, Answer, Case, Fault, worst
from triage.ledger.booted import LIBRARIES, Booted, setting
from triage.ledger.idle_changes import does_nothing
from triage.ledger.modes import graphs
from triage.ledger.presence import Presence, names
from triage.ledger.versions import history, running_at
from triage.model import Event, Seconds

ABOUT = {"graphs.decode": "cudagraph_mode", "graphs.mixed": "cudagraph_mode", "graphs.any": "cudagraph_mode"}  # what a line calls them


class UnknownMechanismError(ValueError):
    """A mechanism that is neither one of the rules' nor a condition; names those that there are."""


class Needed(msgspec.Struct, frozen=True):
    """A mechanism with its terms; `rule` is None for a condition that the user wrote."""

    name: str
    terms: tuple[Term, ...]
    rule: Mechanism | None = None


def mechanism_answer(case: Case, known: Knowledge) -> Answer:
    """Whether every mechanism is possible in the boots that died without the change, and whether the change does anything there.

    Raises UnknownMechanismError, and PredicateError for a condition that cannot be read.
    """
    needed = [needed_of(name, known, case.engine) for name in case.entry.mechanisms]
    idle = list(does_nothing(case, known))
    boots = _boots(case)
    answers = [_of_mechanism(one, boots, case) for one in needed]
    verdicts = [verdict for verdict, _, _ in answers] + ["fails" for _ in idle[:1]]
    if not needed and not idle:
        return Answer(question=MECHANISM, verdict="cannot be observed", says=(_none_named(case, known),))
    says = [*(sentence for _, sentences, _ in answers for sentence in sentences), *(text for text, _ in idle)]
    lines = [*(line for _, _, lines in answers for line in lines), *(line for _, line in idle if line is not None)]
    about = tuple(ABOUT.get(term.name, term.name.rpartition(".")[2]) for one in needed for term in one.terms)
    return Answer(question=MECHANISM, verdict=worst(verdicts), says=tuple(says), lines=_once(lines), about=about)


def _none_named(case: Case, known: Knowledge) -> str:
    """What to name: a mechanism that people mean to prevent by this change, where the rules know one."""
    changed = {name for change in case.entry.changes for name in names(change)}
    rules = known.mechanisms[case.engine].mechanisms if case.engine in known.mechanisms else ()
    possible = " or ".join(f"--mechanism {rule.id}" for rule in rules if changed & set(rule.acts_on))
    return f"no mechanism was named: {possible or 'name one of the rules'}, or a condition such as `nccl < 2.28.3`"


def needed_of(name: str, known: Knowledge, engine: str) -> Needed:
    """A mechanism by its id, or a condition. Raises UnknownMechanismError, PredicateError."""
    rules = known.mechanisms[engine].mechanisms if engine in known.mechanisms else ()
    rule = next((one for one in rules if one.id == name), None)
    if rule is not None:
        return Needed(name, parsed(rule.needs), rule)
    if not any(sign in name for sign in "<>=!"):
        possible = ", ".join(one.id for one in rules) or "none for this engine"
        raise UnknownMechanismError(f"no mechanism {name!r}; possible: {possible}; or a condition such as `nccl < 2.28.3`")
    terms = parsed(name)
    return Needed(" and ".join(f"{t.name} {t.op} {HIDDEN}" if is_secret(t.name) else str(t) for t in terms), terms)


def lookup(one: Booted) -> Lookup:
    """What a boot shows of each name that a condition may have, as text."""
    return lambda name: _text(_shown(one, name)[0])


def _boots(case: Case) -> list[tuple[Booted, Fault | None]]:
    """The boots that died of this class without the change, else those that died of it at all, else all boots."""
    died = [(fault.boot, fault) for fault in case.without or case.faults if fault.boot is not None]
    return list(died) or [(one, None) for one in case.boots]


def _of_mechanism(one: Needed, boots: Sequence[tuple[Booted, Fault | None]], case: Case) -> tuple[Presence, list[str], list[Event]]:
    told = [(boot, holds(one.terms, lookup(boot))) for boot, _ in boots]
    able, unable = [b for b, answer in told if answer], [b for b, answer in told if answer is False]
    verdict: Presence = "holds" if able else "fails" if unable else "cannot be observed"
    shown = (able or unable or [boot for boot, _ in boots])[-1:]
    sentences = [_headline(one, verdict, len(able), len(unable), len(told), case)]
    lines: list[Event] = []
    for boot in shown:
        for term in one.terms:
            sentences += _term_says(term, boot, case)
            lines += _shown(boot, term.name)[1]
    return verdict, sentences, lines


def _headline(one: Needed, verdict: Presence, able: int, unable: int, count: int, case: Case) -> str:
    what = f"{one.rule.title} ({one.name})" if one.rule else one.name
    without = " without the change" if case.without and len(case.without) < len(case.faults) else ""
    of = f"boots that died of {case.entry.fault_class}{without}" if case.faults else "boots in these logs"
    if verdict == "cannot be observed":
        needs = one.rule.needs if one.rule else one.name
        return f"{what}: none of the {count} {of} shows what it needs ({needs})" if count else f"{what}: no boot was seen"
    if verdict == "fails":
        rest = f"; {count - unable} do not tell" if unable < count else ""
        why = one.rule.impossible if one.rule else f"{one.name} is not so"
        return f"{what}: impossible: {why} in {unable} of {count} {of}{rest}"
    why = one.rule.possible if one.rule else f"{one.name} is so"
    return f"{what}: possible: {why} in {able} of {count} {of}"


def _term_says(term: Term, boot: Booted, case: Case) -> Iterator[str]:
    value, _ = _shown(boot, term.name)
    if term.name.startswith("graphs.") and (modes := graphs(boot)) is not None:
        stale = f"; {modes.printed} was asked for and printed first, a later line took it back" if modes.printed else ""
        proof = ", as the graphs show that were captured" if modes.captured else ""
        pair = f"{modes.decode} for pure decode batches, {modes.mixed or 'not told'} for batches with a prefill"
        yield f"graph mode {modes.mode or 'not told'}: {pair}{proof}{stale}"
    elif term.name in LIBRARIES or term.name == boot.boot.engine:
        yield from _since(term, case)
    elif value is None:
        yield f"{term.name}: no line of the boot shows it"
    else:
        yield f"{term.name} is {HIDDEN if is_secret(term.name) else _text(value)}"


def _since(term: Term, case: Case) -> Iterator[str]:
    """Since when the version has been running that the first fault met."""
    versions = history(term.name, case.boots)
    first = next((fault for fault in case.faults if fault.at is not None), None)
    met = running_at(first.at, versions) if first is not None and first.at is not None else (versions[-1] if versions else None)
    if met is None:
        yield f"{term.name}: no line shows its version"
        return
    since = f"since {_moment(met.since)}" if met.since is not None else "since the log begins"
    before = f" (before that {met.before})" if met.before else ""
    if first is None or first.at is None:
        yield f"{term.name} {met.version} has been running {since}{before}"
        return
    relation = "before" if term_holds(term, met.version) is False else "when it came to"
    first_fault = f"the first {case.entry.fault_class} ({_moment(first.at)})"
    yield f"{term.name} {met.version} has been running {since}{before}, {relation} {first_fault}"


def _shown(one: Booted, name: str) -> tuple[object, list[Event]]:
    """The value of a name in a boot, and the lines that show it; None and no line where nothing does."""
    if name.startswith("graphs."):
        modes = graphs(one)
        if modes is None:
            return None, []
        told: dict[str, object] = {"graphs.decode": modes.decode or None, "graphs.mixed": modes.mixed or None, "graphs.mode": modes.mode or None}
        told["graphs.any"] = {modes.decode, modes.mixed} != {"NONE"}
        return told.get(name), list(modes.lines)
    if name == "custom_all_reduce":
        return _custom_all_reduce(one)
    found = setting(one, name)
    return (None, []) if found is None else ("None" if found.value is None else found.value, [found.line] if found.line else [])


def _custom_all_reduce(one: Booted) -> tuple[object, list[Event]]:
    """Off where it was asked to be, and where the engine says that it cannot be had here."""
    off, asked = setting(one, "custom_all_reduce_off"), setting(one, "disable_custom_all_reduce")
    if off is not None:
        return "off", [off.line] if off.line else []
    if asked is None:
        return None, []
    return "off" if asked.value in (True, "True") else "on", [asked.line] if asked.line else []


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _moment(at: Seconds | None) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") if at is not None else "a time that is not known"


def _once(lines: Iterable[Event]) -> tuple[Event, ...]:
    return tuple({(line.place.file, line.place.offset): line for line in lines}.values())
