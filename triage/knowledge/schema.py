"""The shape of every file in rules/: what a rule may say, as typed records that msgspec checks on load."""

# Annotations are no texts here (`from __future__ import annotations`): msgspec would have to evaluate each of them in every run.

from typing import Literal

import msgspec

from triage.model import Family, Kind, Phase, Role

LineKind = Literal[
    "boot",        # an engine begins a life here
    "milestone",   # the boot has come this far (data: milestone = load, weights, kv-cache, capture)
    "ready",       # the engine answers requests from here on
    "progress",    # proves that tokens were made, or that a long boot step still moves
    "stall",       # requests are running and no token came in the interval
    "stop",        # somebody asked the engine to stop
    "death",       # the engine, or a process it cannot live without, is dead
    "exit",        # a process is gone, and this line tells how (code, signal)
    "config",      # tells what the engine really booted with
    "cache",       # tells of a cache of compiled code: built here, or read (data: cache = its path, built, read)
    "recorder",    # tells whether the flight recorder is armed, or where it wrote
    "step",        # tells which step of the engine failed: how many tokens of which requests were scheduled
    "trouble",     # looks like trouble; shown where nothing says why something died, and never a root
]


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must hold around a line before its signature counts. An empty field asks nothing."""

    phases: tuple[Phase, ...] = ()
    before: str = ""   # a milestone the boot must not have reached yet
    after: str = ""    # a milestone the boot must have reached
    frame: str = ""    # regex: some frame of the traceback that ends in this line ("path:line function")
    no_frame: str = ""  # regex: no frame of that traceback


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule that recognises one text in one line. `pattern` is for the `regex` module, on the line without its envelope.

    `scan` is a wider pattern for the one-pass scanner; it is derived from `pattern` when left empty. `generic` signatures
    (any exception, any lost worker) give way to a specific one on the same line or in the same chain of exceptions.
    `symptom` signatures (nothing moves, nobody answers) give way to any exact root up to the death: they do not say why.
    `fatal` signatures are an incident by themselves; others need a death mark, an exit or a failed probe after them.
    """

    id: str
    role: Role
    pattern: str
    summary: str
    sources: tuple[Kind, ...] = ("engine",)
    scan: str = ""
    generic: bool = False
    fatal: bool = False
    symptom: bool = False
    explains: tuple[str, ...] = ()
    when: When = When()
    safety: str = ""
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]


class FaultClass(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"id": "class", "signatures": "signature"}):
    """One class of rules/faults/: what it means, what decides, what to do, and the signatures that recognise it."""

    id: str
    family: Family
    fault: bool = True
    title: str
    meaning: str
    decides: str
    not_to_be_confused_with: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()


class Echoes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"signatures": "signature"}):
    """rules/echoes.toml: consequences, context and teardown noise that belong to no one class."""

    signatures: tuple[Signature, ...] = ()


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of an engine's own life: banner, milestone, progress, stop, death ... Named groups become the event's data.

    `last`: a process writes it once in its life, at the end; heard from it again, another life lies between, whether a banner says so or not.
    """

    id: str
    kind: LineKind
    pattern: str
    summary: str
    scan: str = ""
    last: bool = False
    sources: tuple[Kind, ...] = ("engine",)
    samples: tuple[str, ...]
    near_misses: tuple[str, ...] = ()


class EngineLines(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"lines": "line"}):
    """rules/boot/<engine>.toml. `defaults` are timeouts in seconds that hold where the log does not say otherwise."""

    engine: str
    defaults: dict[str, float] = {}
    lines: tuple[Line, ...] = ()


class Troubles(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"lines": "line"}):
    """rules/trouble.toml: what lines look like that tell of trouble, whoever wrote them; most telling first."""

    lines: tuple[Line, ...] = ()


class ForkCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a fork: the family it speaks for and the bounds on the fact that give it."""

    answer: str
    at_least: float | None = None
    below: float | None = None
    of_timeout: tuple[float, float] | None = None
    equals: tuple[str, ...] = ()
    because: str


class Fork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"cases": "case"}):
    """One of the first questions: the fact it asks about (time_to_death, dump, probe) and its answers in order."""

    id: str
    fact: Literal["time_to_death", "dump", "probe"]
    question: str
    cases: tuple[ForkCase, ...]


class Forks(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"forks": "fork"}):
    """rules/forks.toml."""

    forks: tuple[Fork, ...] = ()


class Xid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"fault_class": "class"}):
    """One Xid number: what it means, and whether it is the fault itself or follows an application's fault."""

    number: int
    name: str
    role: Role
    fault_class: str = ""
    meaning: str = ""


class Xids(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"xids": "xid"}):
    """rules/xid.toml."""

    xids: tuple[Xid, ...] = ()


class ProbeText(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A client's text or code and the probe symbol it stands for."""

    id: str
    symbol: Literal[".", "s", "r", "t", "e", "?"]
    pattern: str
    samples: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()


class Probes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"texts": "text"}):
    """rules/probes.toml: what probing clients write, most telling first."""

    texts: tuple[ProbeText, ...] = ()


class Fragment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of rules/fragments.toml: a part that several patterns share, or that one long pattern is made of, under a name.

    `{{name}}` in a pattern stands for its text, as if it were written there: alternatives need a group around them.
    """

    pattern: str
    meaning: str


class CommonCause(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cause that shows as incidents of several classes. `refusals` and `masks` are regexes for the text of a root.

    A root that a refusal matches is needed; others that a mask matches join it within `together` seconds. Beside a refusal there must
    be a mark: a line of a rule named in `marks` at most `before` seconds earlier (or in the incident itself), or an incident of another
    class that joined. Nothing is said where a line of a rule that begins with one of `never` stands in one of the incidents.
    """

    id: str
    title: str
    refusals: str
    masks: str
    marks: tuple[str, ...]
    never: tuple[str, ...] = ()
    before: float
    together: float
    next: str
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]


class CommonCauses(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"causes": "cause"}):
    """rules/common_causes.toml."""

    causes: tuple[CommonCause, ...] = ()


class Instrument(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that watches a run and may change it. All but `id` to `effect` are regexes; see the head of rules/instruments.toml.

    The first word of a sample says which of them it is for: `environment`, `argument`, `line`, `file` or `record`.
    """

    id: str
    title: str
    weight: Literal["heavy", "light", "passive"]
    effect: str
    environment: str = ""
    arguments: str = ""
    lines: str = ""
    scan: str = ""
    files: str = ""
    records: str = ""
    references: tuple[str, ...] = ()
    samples: tuple[str, ...]
    near_misses: tuple[str, ...]

    @property
    def signs(self) -> dict[str, str]:
        """Its regexes by the word that its samples begin with; those that it has."""
        every = {"environment": self.environment, "argument": self.arguments, "line": self.lines, "file": self.files, "record": self.records}
        return {word: pattern for word, pattern in every.items() if pattern}


class Instruments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"instruments": "instrument"}):
    """rules/instruments.toml."""

    instruments: tuple[Instrument, ...] = ()


class UserText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """rules/user_text.toml: where in a line the words of a user begin. Nothing after that point is evidence."""

    begins: tuple[str, ...] = ()
