"""Reads one source whole with the parser its content asks for; needs nothing but the source and the rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from triage.knowledge.table import RuleTable
from triage.model import Event, Instant, Kind, Outage, Probe, Problem, Seconds, SourceInfo
from triage.parsers import kernel
from triage.parsers.engine import EngineParser
from triage.parsers.options import Options
from triage.parsers.pulse import Pulse
from triage.parsers.sniff import probe_rows, speaks_like_an_engine
from triage.parsers.tail import Tail
from triage.parsers.trouble import Trouble
from triage.sources.clock import BACKWARDS, Clock, zone_of
from triage.sources.find import Source
from triage.sources.opening import identity, written_at
from triage.sources.paths import STDIN, is_lasting
from triage.sources.pieces import HEAD, Line, Piece, lines_of, pieces

if TYPE_CHECKING:
    from triage.parsers.gpu_memory import MemorySample

EDGE_LINES = 200
LINES_TRIED = 50
AROUND: Seconds = 120.0  # how far from an outage its periodic lines still tell something


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one source gave: its events, its probes, and what must be said about reading it."""

    info: SourceInfo
    events: tuple[Event, ...] = ()
    probes: tuple[Probe, ...] = ()
    memory: tuple[MemorySample, ...] = ()
    assumptions: tuple[str, ...] = ()
    pulse: Pulse | None = None
    trouble: Trouble | None = None
    tail: Tail | None = None
    is_ours: bool = False  # by the word of the user, or by how it is written, which is looked at where there is no stamp

    @property
    def is_known(self) -> bool:
        """Whether anything in it was understood: an event, a probe, at least a stamp, or what kind of log it is."""
        return bool(self.is_ours or self.probes or self.info.first or any(e.kind != "end" for e in self.events))

    def with_pulse_around(self, outages: Sequence[Outage]) -> tuple[Event, ...]:
        """The events, and with them the periodic lines around each outage: whether tokens were made then decides what it was."""
        if self.pulse is None or not outages:
            return self.events
        recalled = [e for o in outages for e in self.pulse.between(o.onset.earliest - AROUND, (o.ended or o.began).latest + AROUND)]
        known = {(e.order, e.rule) for e in self.events}
        fresh = {(e.order, e.rule): e for e in recalled if (e.order, e.rule) not in known}
        return tuple(sorted((*self.events, *fresh.values()), key=lambda e: e.order))


class Tally:
    """Passes pieces on and counts what went by; remembers the first and the last instant."""

    def __init__(self, clock: Clock, told: Callable[[int], None] | None = None) -> None:
        self.clock = clock
        self._told = told
        self.bytes = 0
        self.lines = 0
        self.first: Instant | None = None
        self.last: Instant | None = None
        self.head = b""
        self._piece: Piece | None = None
        self._begun_late = False  # whether the first instant stands in a later piece: one that comes before it may not have been looked for

    def counted(self, read: Iterator[Piece]) -> Iterator[Piece]:
        for piece in read:
            self.bytes += piece.size
            self.lines += piece.lines
            self.head = self.head or piece.data[:HEAD]
            if self.first is None:
                self._begun_late = self._piece is not None
                self.first = self._edge(piece, forward=True)
            self._piece = piece
            yield piece
            if self._told is not None:
                self._told(piece.taken)
        if self._piece is not None:
            self.last = self._edge(self._piece, forward=False) or max(self._piece.known.values(), key=attrgetter("latest"), default=None)

    def widen(self, events: Sequence[Event]) -> None:
        """Takes the instants of events for those edges at which too many lines without a stamp stand, such as an installer's or a dying rank's."""
        stamped = [event.at for event in events if event.at]
        own = [at for at in stamped if at.how != "carried"] or stamped
        if own and (self.first is None or self._begun_late):
            self.first = min(own[0], self.first or own[0], key=attrgetter("earliest"))
        self.last = self.last or (own[-1] if own else None)

    @property
    def tail(self) -> bytes:
        """The last bytes that went by."""
        return self._piece.data[-HEAD:] if self._piece is not None else b""

    def _edge(self, piece: Piece, *, forward: bool) -> Instant | None:
        if not piece.data:
            return None
        line: Line | None = piece.line_at(0 if forward else len(piece.data) - 1)
        for _ in range(EDGE_LINES):
            if line is None:
                return None
            found = self.clock.instant(line)
            if found:
                return found
            line = piece.after(line) if forward else piece.before(line)
        return None


def read_source(source: Source, kind: Kind, table: RuleTable, options: Options, told: Callable[[int], None] | None = None) -> Reading:
    """The events or probes of one source. Never raises for what stands in it: problems are part of the reading.

    `told` is called with how many more bytes of the files were read.
    """
    problems: list[Problem] = []
    clock = Clock(tz=options.tz, year=options.year, reference=_file_time(source))
    tally = Tally(clock, told)
    if kind == "gpu_memory":
        return _memory(source, tally.counted(pieces(source, clock, problems=problems)), tally, problems, options)
    parser = None if kind == "probe" else EngineParser(table, source.name, kind, clock, last_lines=options.last_lines)
    look = parser.asides.look if parser else None
    read = tally.counted(pieces(source, clock, problems=problems, numbered=kind == "probe", look=look))
    events: tuple[Event, ...] = ()
    probes: tuple[Probe, ...] = ()
    if parser is None:
        from triage.parsers.rows import read_probes

        probes, strange = read_probes(read, source.name, options, table.knowledge.probes)
        problems += strange
    else:
        found = (kernel.enriched(e, table.xids) if e.origin == "kernel" else e for e in parser.events(read))
        events = tuple(sorted(found, key=lambda e: e.order))
        tally.widen(events)
        problems += [*parser.problems, *_unread_probes(source, tally)]
    return _reading(source, kind, tally, problems, events, probes, parser)


def _memory(source: Source, read: Iterator[Piece], tally: Tally, problems: list[Problem], options: Options) -> Reading:
    """Samples of device memory, and a word about what had to be assumed and what was none."""
    from triage.parsers.gpu_memory import Row, parse

    rows = (Row(line.text, line.outer) for piece in read for line in lines_of(piece))
    log = parse(rows, zone_of(options.tz))
    stamps = [sample.at for sample in log.samples if sample.at]
    if log.assumption:
        problems.append(Problem(source.name, log.assumption, lost=False))
    if log.unread:
        count = "1 line is" if log.unread == 1 else f"{log.unread:,} lines are"
        what = f"{count} no sample of device memory, such as {log.first_unread[:80]!r}"
        problems.append(Problem(source.name, what, lost=False))
    reading = _reading(source, "gpu_memory", tally, problems, (), (), None)
    edges = (min(stamps, key=lambda at: at.earliest), max(stamps, key=lambda at: at.latest)) if stamps else (None, None)
    info = msgspec.structs.replace(reading.info, first=edges[0], last=edges[1], clock=edges[0].how if edges[0] else "none")
    return msgspec.structs.replace(reading, info=info, memory=log.samples, is_ours=bool(log.samples) or source.kind is not None, assumptions=())


def _reading(
    source: Source,
    kind: Kind,
    tally: Tally,
    problems: list[Problem],
    events: tuple[Event, ...],
    probes: tuple[Probe, ...],
    parser: EngineParser | None,
) -> Reading:
    info = SourceInfo(
        name=source.name,
        kind=kind,
        files=source.files,
        bytes=tally.bytes,
        lines=tally.lines,
        clock=tally.first.how if tally.first else "none",
        identity=identity(source.files[0]) if is_lasting(source.files[0]) else "",  # a pipe gives its bytes once
        first=tally.first,
        last=tally.last,
        problems=tuple(problems),
    )
    return Reading(
        info=info,
        events=events,
        probes=probes,
        assumptions=(*tally.clock.assumptions, *_doubts(source.name, tally, events if kind != "probe" else probes)),
        pulse=parser.asides.pulse if parser else None,
        trouble=parser.asides.trouble if parser else None,
        tail=parser.asides.tail if parser else None,
        is_ours=source.kind is not None or kind != "engine" or (tally.first is None and speaks_like_an_engine(source.name, tally.head)),
    )


def _doubts(name: str, tally: Tally, found: Sequence[Event] | Sequence[Probe]) -> list[str]:
    """What must be told of times as a whole: there are none, or the log ends before it begins."""
    name = "standard input" if name == STDIN else name
    if tally.first and tally.last and (back := tally.first.earliest - tally.last.latest) > BACKWARDS:
        return [f"{name} ends {back:.0f} s before it begins: its parts may be in the wrong order, and so may be what is told of them"]
    stamped = tally.first or tally.last or any(each.at for each in found)
    return [] if stamped or not tally.bytes else [f"no stamps in {name}: order only, no times"]


def _unread_probes(source: Source, tally: Tally) -> list[Problem]:
    """A word about probes in an engine's log, as `cat engine.log probe.log` gives: at its beginning or its end."""
    rows = probe_rows(tally.head) or (probe_rows(tally.tail) if tally.tail != tally.head else [])
    what = "lines that look like health probes were not read as such, as {!r}: give the probes in a file of their own"
    return [Problem(source.name, what.format(rows[0][:80]), lost=False)] if rows else []


def _file_time(source: Source) -> float:
    """When the newest file of a source was last written; now, where that cannot be known."""
    try:
        return max(written_at(file) for file in source.files)
    except (OSError, ValueError):
        return time.time()
