"""Puts what one run read into the history and judges again what that could change: the store then holds what one whole read would say."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec

from triage.history.coverage import IDLE, cover
from triage.history.dumps import merge_dumps
from triage.history.events import EventMerger, Window
from triage.history.incidents import Change, write_verdicts
from triage.history.lives import write_boots, write_outages
from triage.history.probes import load_probes, merge_probes, series_of
from triage.history.region import ALWAYS, Region, cut_for, key_of, load_region
from triage.history.store import Store
from triage.knowledge.load import Knowledge
from triage.knowledge.table import RuleTable
from triage.model import LOGS, Boot, Event, Outage, Place, Probe, Seconds, Verdict
from triage.parsers.reading import Reading
from triage.parsers.repeats import harmless_per_life
from triage.parsers.thinned import thinned
from triage.pipeline import Evidence, judged
from triage.sources.numbering import line_numbers
from triage.sources.opening import IDENTITY, head
from triage.sources.paths import STDIN, is_lasting, is_regular
from triage.sources.urls import is_url
from triage.timeline.boots import boots
from triage.timeline.incidents import join
from triage.timeline.outages import covered, outages
from triage.verdict.common_cause import mark_ids
from triage.verdict.judge import Judge

DUMPS_READ = "dumps were read"
PROBE_SILENCE = 3.0  # usual intervals without a probe that are still no gap
TELLING = ("death", "exit", "stop")


class Origin(msgspec.Struct, frozen=True):
    """Where a file that holds a window of another one comes from: the name of the log, the true file, and the offset there."""

    name: str
    file: str
    base: int


Origins = Mapping[str, Origin]
Lines = Mapping[str, tuple[tuple[Event, ...], tuple[Event, ...]]]


def record(
    store: Store, evidence: Evidence, known: Knowledge, *, source: str = "", origins: Origins | None = None, since_event: str = "onset"
) -> list[Change]:
    """Record what was gathered, whole or not at all, and return which incidents are new or have another class than before.

    `source` names the log where nothing else does (stdin); `origins` says of files what they are windows of. Raises StoreError where
    the store cannot be written.
    """
    origins = origins or {}
    with store.transaction() as db:
        probes = [merge_probes(db, r.probes, _name(r, source, origins)) for r in evidence.readings]
        dumps = merge_dumps(db, evidence.dumps)
        merger = EventMerger(db, _harmless(known))
        near = _outages(load_probes(db, _first(evidence.readings)))
        merged = [merger.merge(_window(r, source, origins, near)) for r in evidence.readings if r.info.kind in LOGS]
        _cover(store, evidence.readings, source, origins)
        times = [at for at in (*probes, dumps, *(m.earliest for m in merged)) if at is not None]
        if evidence.dumps and not store.meta(DUMPS_READ):
            store.set_meta(DUMPS_READ, "yes")
            times.append(ALWAYS)
        changes = []
        if times:
            touched = [s for m in merged if m.earliest is not None for s in m.sources]
            cut = ALWAYS if min(times) == ALWAYS else cut_for(db, min(times), touched)
            changes = derive(store, known, cut, since_event=since_event, lines=_lines(evidence, known, origins))
        _note_run(store, evidence, known, sum(m.added for m in merged), len(changes))
        return changes


def derive(
    store: Store, known: Knowledge, cut: Seconds = ALWAYS, *, since_event: str = "onset", region: Region | None = None, lines: Lines | None = None
) -> list[Change]:
    """Join and judge the evidence from `cut` on, and write what that gives. To be called inside a transaction.

    `lines` are the best and the last lines of incidents by their ids, as a run saw them; those of others stay as they were kept.
    """
    region = region or load_region(store.db, cut)
    shown = {key_of(number): name for number, name in store.db.execute("SELECT id, shown FROM sources")}
    events = tuple(thinned(region.events, RuleTable(known)))
    lives = boots(e for e in events if e.origin != "kernel")
    failures = _outages(region.probes)
    verdicts = _verdicts(store, known, msgspec.structs.replace(region, events=events), lives, failures, since_event)
    write_boots(store.db, lives, region, shown)
    write_outages(store.db, failures, cut)
    changes = write_verdicts(store.db, _with(lines or {}, verdicts), region, shown, known.version, time.time())
    return [change for change in changes if change.before != change.now]


def _lines(evidence: Evidence, known: Knowledge, origins: Origins) -> Lines:
    """What incidents are told apart by where no rule names them: lines that the store does not keep by themselves."""
    found = judged(evidence, known, lines_of_all=True).verdicts
    return {v.incident.id: (_all_moved(v.best_lines, origins), _all_moved(v.last_lines, origins)) for v in found if v.fault}


def _all_moved(events: Sequence[Event], origins: Origins) -> tuple[Event, ...]:
    return tuple(_moved(event, origins) for event in events)


def _with(lines: Lines, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts with the lines that are known of them."""
    kept = (lines.get(v.incident.id, ((), ())) for v in verdicts)
    return [msgspec.structs.replace(v, best_lines=best, last_lines=last) for v, (best, last) in zip(verdicts, kept, strict=True)]


def _verdicts(store: Store, known: Knowledge, region: Region, lives: list[Boot], failures: list[Outage], since_event: str) -> list[Verdict]:
    kernel = [e for e in region.events if e.origin == "kernel"]
    judge = Judge(known, since=since_event, dumps_were_read=bool(store.meta(DUMPS_READ)))
    return judge.verdicts(join(lives, failures, region.dumps, kernel))


def _outages(probes: dict[str, list[Probe]]) -> list[Outage]:
    """The outages of all series, each once: a log that names no target may have been read under several names."""
    told = [outage for own in probes.values() for outage in outages(own)]
    return list({(outage.target, outage.began.earliest, outage.symbols): outage for outage in told}.values())


def _name(reading: Reading, source: str, origins: Origins) -> str:
    """The name of a log that stays the same from run to run: the one that the user gave, else where its newest file lies."""
    file = reading.info.files[-1]
    if source or file in origins:
        return source or origins[file].name
    return file if file == STDIN or is_url(file) else os.path.realpath(file)


def _window(reading: Reading, source: str, origins: Origins, near: Sequence[Outage]) -> Window:
    files = [origins[file].file if file in origins else file for file in reading.info.files if is_lasting(file)]
    events = _numbered([_moved(event, origins) for event in reading.with_pulse_around(near)])
    file = reading.info.files[-1]
    return Window(
        name=_name(reading, source, origins),
        shown=source or (origins[file].name if file in origins else reading.info.name),
        kind=reading.info.kind,
        events=events,
        heads=tuple(head(file, IDENTITY) for file in files),
    )


def _moved(event: Event, origins: Origins) -> Event:
    """The event with its line where it truly stands."""
    of = event.place
    origin = origins.get(of.file)
    return event if origin is None else msgspec.structs.replace(event, place=Place(of.source, origin.file, of.offset + origin.base, 0))


def _numbered(events: Sequence[Event]) -> tuple[Event, ...]:
    """The events, those that a verdict may cite with their line numbers: when they are cited, the file may have another name."""
    wanted: dict[str, set[int]] = {}
    for event in events:
        if (event.role or event.kind in TELLING) and not event.place.line and is_regular(event.place.file):
            wanted.setdefault(event.place.file, set()).add(event.place.offset)
    numbers = {(file, offset): line for file, offsets in wanted.items() for offset, line in line_numbers(file, offsets)[0].items()}
    return tuple(_with_line(event, numbers.get((event.place.file, event.place.offset))) for event in events)


def _with_line(event: Event, line: int | None) -> Event:
    of = event.place
    return msgspec.structs.replace(event, place=Place(of.source, of.file, of.offset, line)) if line else event


def _harmless(known: Knowledge) -> dict[str, int]:
    """How many lines of what tells of no fault are kept of one life; a host's journal has no lives, so marks of a common cause are not among them."""
    marks = mark_ids(known.common_causes)
    return {rule: most for rule, most in harmless_per_life(RuleTable(known)).items() if rule not in marks}


def _first(readings: Sequence[Reading]) -> Seconds:
    return min((r.info.first.earliest for r in readings if r.info.first), default=time.time()) - IDLE


def _cover(store: Store, readings: Sequence[Reading], source: str, origins: Origins) -> None:
    for reading in readings:
        info, name = reading.info, _name(reading, source, origins)
        if info.kind in LOGS and info.first and info.last:
            cover(store.db, "log", name, [(info.first.earliest, info.last.latest)], IDLE)
        for series, own in _by_series(reading, name).items():
            cover(store.db, "probe", series, covered(own), PROBE_SILENCE * _usual(own))


def _by_series(reading: Reading, name: str) -> dict[str, list[Probe]]:
    grouped: dict[str, list[Probe]] = {}
    for probe in reading.probes:
        grouped.setdefault(series_of(probe, name), []).append(probe)
    return grouped


def _usual(probes: Sequence[Probe]) -> Seconds:
    """The usual time from one probe to the next in seconds; a minute where there is only one."""
    steps = sorted(b.at.earliest - a.at.earliest for a, b in pairwise(probes) if b.at.earliest > a.at.earliest)
    return steps[len(steps) // 2] if steps else 60.0


def _note_run(store: Store, evidence: Evidence, known: Knowledge, events: int, incidents: int) -> None:
    read = sum(r.info.bytes for r in evidence.readings)
    complete = all(r.is_known for r in evidence.readings) and not any(p.lost for p in evidence.problems)
    store.db.execute(
        "INSERT INTO runs (at, rules, sources, bytes, events, incidents, complete) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (time.time(), known.version, len(evidence.readings), read, events, incidents, complete),
    )
