"""The nouns of triage: sources, events, boots, outages, dumps, incidents and verdicts, as frozen typed records."""

from __future__ import annotations

from typing import Literal

import msgspec

Seconds = float
How = Literal["outer stamp", "inner stamp", "carried", "file time", "computed"]
Kind = Literal["engine", "probe", "flight_recorder", "kernel", "gpu_memory"]
LOGS: tuple[Kind, ...] = ("engine", "kernel")  # the kinds that show a fault where there is one
Role = Literal["root", "consequence", "context", "teardown"]
Family = Literal["hang", "instant", "memory", "hardware", "boot", "none", "-"]
DumpState = Literal["present", "absent", "not armed", "not collected"]
Phase = Literal["boot", "capture", "serving", "shutdown", "unknown"]

UNCLASSIFIED = "unclassified"


class Instant(msgspec.Struct, frozen=True):
    """A UTC time as an interval in seconds since the epoch, and the method that gave it."""

    earliest: Seconds
    latest: Seconds
    how: How = "outer stamp"

    @classmethod
    def sharp(cls, at: Seconds, how: How = "outer stamp") -> Instant:
        return cls(at, at, how)

    @property
    def middle(self) -> Seconds:
        return (self.earliest + self.latest) / 2

    def shifted(self, by: Seconds) -> Instant:
        """The instant `by` seconds later, marked as computed."""
        return Instant(self.earliest + by, self.latest + by, "computed")


class Span(msgspec.Struct, frozen=True):
    """A length of time in seconds: bounds, and the name of the definition that gave it."""

    low: Seconds
    high: Seconds
    since: str = "onset"

    @property
    def seconds(self) -> Seconds | None:
        """The length as one figure, or None where the bounds are too far apart to name one."""
        sharp = self.high - self.low <= max(2.0, 0.02 * self.high)
        return (self.low + self.high) / 2 if sharp else None


class Place(msgspec.Struct, frozen=True):
    """Where something stands: source name, file in it, byte offset (decompressed) and line in that file (1-based)."""

    source: str
    file: str
    offset: int
    line: int = 0


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing seen in a source. `kind` is what the rule says it is: signature, boot, ready, progress, stop, death ..."""

    kind: str
    rule: str
    place: Place
    text: str
    at: Instant | None = None
    stream: str = ""
    role: Role | None = None
    fault: str = ""
    process: str = ""
    pid: int | None = None
    rank: int | None = None
    level: str = ""
    host: str = ""
    data: dict[str, str] = {}
    frames: tuple[str, ...] = ()  # of the traceback that ends here: "path:line function", innermost last
    order: int = 0  # running number of the line within the source: what stands in one line shares it
    origin: Kind = "engine"
    follows: bool = False  # the exception was raised while an earlier one of the same chain was handled

    @property
    def serves(self) -> bool:
        """Whether the line shows an engine that is up: READY, tokens made, or requests running without any."""
        if self.kind == "progress":
            return "boot-progress" not in self.rule
        return self.kind == "ready" or (self.kind == "stall" and not self.rule.endswith(("stall-shm", "stall-health-503")))

    @property
    def makes_tokens(self) -> bool:
        return self.kind == "progress" and self.serves

    @property
    def line(self) -> tuple[str, int]:
        """The line it stands in, whatever else was found there: not by offset, which the lines of one record share."""
        return self.place.file, self.order


class Problem(msgspec.Struct, frozen=True):
    """Something about the input that limits the answer: which file, what is wrong, and whether bytes went unread."""

    file: str
    what: str
    lost: bool = True


class SourceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of one source: sizes in bytes and lines (decompressed), clock used, and what went wrong."""

    name: str
    kind: Kind
    files: tuple[str, ...] = ()
    bytes: int = 0
    lines: int = 0
    clock: str = "none"
    identity: str = ""
    first: Instant | None = None
    last: Instant | None = None
    problems: tuple[Problem, ...] = ()


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """One life of an engine, from its first banner (or where the log begins) to its end (or where the log ends)."""

    id: str
    source: str
    engine: str
    stream: str = ""
    version: str = ""
    host: str = ""
    start: Instant | None = None
    ready: Instant | None = None
    end: Instant | None = None
    ended_by: str = "log ends"
    boundary: str = "banner"
    config: dict[str, str] = {}
    events: tuple[Event, ...] = ()


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """One health probe: when it was made (start to end), its symbol, and what the client said.

    Symbols: `.` ok, `s` slow but ok, `r` refused/reset/502/503, `t` timeout/504, `e` 5xx from the engine,
    `f` failed and nothing says how, `?` the probe itself could not be made.
    """

    at: Instant
    symbol: str
    target: str = ""
    text: str = ""
    place: Place | None = None


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A run of failing probes between two good ones. `onset` lies between the last good and the first failing probe."""

    target: str
    symbols: str
    began: Instant
    onset: Instant
    ended: Instant | None = None
    source: str = ""
    places: tuple[Place, ...] = ()

    @property
    def first(self) -> str:
        return next((s for s in self.symbols if s not in ".s?"), "?")

    @property
    def failed(self) -> int:
        return sum(s not in ".s?" for s in self.symbols)


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A rank that the dumps point at (-1 where they cannot tell which), how strongly, and why."""

    rank: int
    strength: Literal["proven", "likely", "cannot-tell"]
    reason: str
    evidence: tuple[str, ...] = ()


class Stand(msgspec.Struct, frozen=True, kw_only=True):
    """How far ranks came in one process group, by their dumps: the last operation entered and the last finished, in the order of `ranks`.

    `exchanges` has the number of the first send or receive that a rank has not ended, 0 where there is none.
    """

    group: str
    ranks: tuple[int, ...]
    entered: tuple[int, ...]
    done: tuple[int, ...]
    exchanges: tuple[int, ...]


class Dump(msgspec.Struct, frozen=True, kw_only=True):
    """The flight-recorder files of one hang, one per rank, and what they say together. `newest` is when the last operation was enqueued."""

    directory: str
    ranks: tuple[int, ...]
    missing: tuple[int, ...] = ()
    empty: tuple[int, ...] = ()
    unreadable: tuple[Problem, ...] = ()
    onset: Instant | None = None
    timeout: Seconds | None = None
    operation: str = ""
    group: str = ""
    sequence: int | None = None
    waiting: tuple[int, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    version: str = ""
    stands: tuple[Stand, ...] = ()
    newest: Instant | None = None

    @property
    def idle(self) -> bool:
        """Whether it shows nobody who waits and accuses nobody."""
        return not self.waiting and all(suspect.strength == "cannot-tell" for suspect in self.suspects)


class ForkAnswer(msgspec.Struct, frozen=True):
    """What one fork says about an incident, and the fact it says it from. `answer` is a family or `unknown`."""

    fork: str
    answer: str
    because: str


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One death, stall or outage on one engine, joined from all sources; before judging."""

    id: str
    engine: str
    host: str = ""
    stream: str = ""
    source: str = ""
    boot: Boot | None = None
    next_boot: Boot | None = None
    events: tuple[Event, ...] = ()
    outage: Outage | None = None
    dump: Dump | None = None
    idle_dump: Dump | None = None  # of the same life, and nobody waits in it
    dump_state: DumpState = "not collected"
    dump_reason: str = ""
    onset: Instant | None = None
    onset_from: str = ""
    dead: Instant | None = None
    dead_from: str = ""
    recovered: Instant | None = None
    progress_after: bool = False
    time_to_death: Span | None = None
    timeout: Seconds | None = None
    phase: Phase = "unknown"


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the engine an incident struck: the step it was in (tokens, not padded), the frame, the rank, the GPU and the host."""

    step: Literal["", "prefill", "decode"] = ""
    tokens: int | None = None  # of all requests in the step
    chunk: int | None = None  # of the request with the longest prefill in it
    requests: int | None = None
    step_line: Event | None = None
    frame: str = ""  # innermost frame of the engine's own code: "path:line function"
    rank: int | None = None
    gpu: str = ""  # PCI address or ordinal, as the line has it
    host: str = ""


class Hint(msgspec.Struct, frozen=True, kw_only=True):
    """Something that several incidents have in common, which may be their cause: told beside the classes, never instead of them.

    `chance` is the probability of seeing it, or more of it, where nothing joins them; None where no such figure can be had.
    """

    id: str
    text: str
    incidents: tuple[str, ...]
    evidence: tuple[Event, ...] = ()
    chance: float | None = None


class Opinion(msgspec.Struct, frozen=True, kw_only=True):
    """What a model says of an incident: a class, how likely, how like a labelled incident's line it is, and the features that spoke."""

    fault_class: str
    probability: float
    likeness: float
    like: str  # the labelled line, masked, that it is most like
    incident: str  # the labelled incident which that line is from
    spoke: tuple[tuple[str, float], ...]
    model: str  # first digits of the hash of the model


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What an incident was: class, family, the forks taken, the cited root, its consequences, and what speaks against it."""

    incident: Incident
    fault_class: str
    family: Family
    fault: bool
    forks: tuple[ForkAnswer, ...] = ()
    root: Event | None = None
    consequences: tuple[Event, ...] = ()
    runner_up: str = ""
    runner_up_lost: str = ""
    conflicts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    attempts: int = 1  # lives that this cost: the one that failed, and the restarts that failed after it
    by: Literal["rules", "model"] = "rules"
    confidence: Literal["strong", "fair", "weak"] = "fair"
    facts: Facts = Facts()
    opinion: Opinion | None = None  # a model's, where it named the class or would have named another one
    best_lines: tuple[Event, ...] = ()  # without a root: the lines nearest to the end that look like trouble, in order
    last_lines: tuple[Event, ...] = ()  # where a model is asked: the last lines of that life that no rule knows, whatever they say
    quiet_lines: tuple[Event, ...] = ()  # of the same log: lines that look like trouble and from which the engine went on


class Gap(msgspec.Struct, frozen=True):
    """A stretch of time (seconds since the epoch) in which neither log nor probe could have shown a fault."""

    start: Seconds
    end: Seconds
    source: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What part of the window (seconds since the epoch) some source could have shown a fault in, and what part none could."""

    start: Seconds | None = None
    end: Seconds | None = None
    gaps: tuple[Gap, ...] = ()

    @property
    def ratio(self) -> float | None:
        if self.start is None or self.end is None or self.end <= self.start:
            return None
        return 1 - sum(gap.end - gap.start for gap in self.gaps) / (self.end - self.start)


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """All that one run found: what was read, the boots, outages and verdicts, and what limits the answer."""

    rules: str
    sources: tuple[SourceInfo, ...] = ()
    boots: tuple[Boot, ...] = ()
    outages: tuple[Outage, ...] = ()
    probes: int = 0
    verdicts: tuple[Verdict, ...] = ()
    coverage: Coverage = Coverage()
    problems: tuple[Problem, ...] = ()
    assumptions: tuple[str, ...] = ()
    since: str = "onset"
    hints: tuple[Hint, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether some of the input could not be read."""
        return any(problem.lost for problem in self.problems)
