"""Takes a line out of what containers, init systems and launchers put around it: one table of envelopes, which may be nested.

Samples; what stands for the line itself is `TEXT`::

    2026-11-01T09:43:00.123456789Z TEXT                   docker -t, kubectl --timestamps
    2026-11-01T09:43:00.123456789Z stderr F TEXT          CRI
    [pod/vllm-0/engine] TEXT                              kubectl --prefix
    Nov 01 09:43:00 gpu7 vllm[123]: TEXT                  journald short, short-precise; syslog
    2026-11-01T09:43:00+0000 gpu7 vllm[123]: TEXT         journald short-iso; rsyslog
    Sun 2026-11-01 09:43:00 UTC gpu7 vllm[123]: TEXT      journald short-full
    <165>1 2026-11-01T09:43:00Z gpu7 vllm 123 - - TEXT    RFC 5424
    vllm-1  | TEXT                                        compose
    (RayWorkerWrapper pid=1, ip=10.0.0.1) TEXT            Ray's driver
    [default3]:[rank11]: TEXT                             torchrun, torch
    [1,3]<stderr>: TEXT                                   mpirun --tag-output
     3: TEXT                                              srun --label
    [2026-11-01T09:43:00Z] TEXT                           Buildkite
      | TEXT                                              a log viewer's margin, copied with the lines
    INFO 2026-11-01T09:43:00.123456789Z [resource.labels.containerName: vllm] TEXT    Google Cloud
    2026-11-01 09:43:00.123 | TEXT                        a container's log in a table

What an engine writes itself, such as vLLM's `(EngineCore pid=7) ERROR 11-01 09:43:00 [core.py:9]`, is text and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from triage.expressions import compiled_later

from .stamps import Stamp, outer_stamp

LONGEST = 640  # characters that all envelopes of a line may take together
DEEPEST = 6
HEAD_LINES = 200
HEAD_SAMPLE = 40  # of them that are looked at
SHORT_ISO = "journald short-iso"
NEARLY_ALL = 0.9

# journald's JSON has no form that is a line, so it is given one: fields between separators that text does not hold.
JOURNAL_MARK, JOURNAL_COMMA = "\x1e", "\x1f"


class Envelope(msgspec.Struct, frozen=True):
    """What the envelopes of a line said, and how many characters they took. `epoch` is in microseconds."""

    length: int = 0
    stamp: Stamp | None = None
    epoch: int | None = None
    stream: str = ""
    host: str = ""
    unit: str = ""
    pid: int | None = None
    rank: int | None = None
    invocation: str = ""


class _Form(msgspec.Struct, frozen=True):
    """A row of the table. A form that plain text may look like counts only where the head of the file is written in it."""

    name: str
    begins: str  # the characters it can begin with
    pattern: re.Pattern[str]
    common: bool = True
    holds: str = ""  # a text in each such line and few others: it is found in less time than a pattern is compiled, and tried, for nothing


_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_RFC3339 = r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d))"
_SEVERITY = "(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL)"
_SENDER = r"(?P<host>[\w.:-]{1,253})(?<!\w:) (?P<unit>[^\s\[\]:]{1,128})(?:\[(?P<pid>\d{1,10})\])?: ?"
_SYSLOG = r"(?P<stamp>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)"
_FULL = r"(?P<stamp>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:[A-Z]{1,5}|[+-]\d\d(?:\d\d)?))"
_ENGINE_OWN = r"(?:APIServer|ApiServer_\d+|EngineCore(?:_DP\d+)?|Worker(?:_[A-Z]+\d+)*|VllmWorker\w*|DPSupervisor|DPCoordinator) "
_RAY_RANK, _RAY_IP = r"\[rank=(?P<rank>\d{1,5})\]", r", ip=(?P<host>[\w.:-]{1,64})"
_RAY_ACTOR = r"(?=[^)]* ip=|[^)]*\[rank=|\w*Ray|[^)]*\) \(\S+ pid=)[\w.:-]{1,80}"
_RFC5424_SENDER = r"(?P<host>\S{1,255}) (?P<unit>\S{1,48}) (?P<pid>\S{1,128}) \S{1,32} (?:-|(?:\[[^\]]{0,400}\])+) ?"
_JOURNAL = JOURNAL_COMMA.join(rf"(?P<{field}>[^\x1e\x1f]*)" for field in ("epoch", "host", "unit", "pid", "invocation", "stream"))


def _form(name: str, begins: str, pattern: str, common: bool = True, holds: str = "") -> _Form:
    return _Form(name, begins, compiled_later(pattern, re.ASCII), common, holds)


FORMS = (
    _form("journald json", JOURNAL_MARK, f"{JOURNAL_MARK}{_JOURNAL}{JOURNAL_MARK}"),
    _form("cri", _DIGITS, rf"{_RFC3339} (?:stdout|stderr) [FP](?::\S*)? ?", holds=" std"),
    _form(SHORT_ISO, _DIGITS, rf"{_RFC3339} {_SENDER}", common=False),
    _form("docker -t", _DIGITS, rf"{_RFC3339}(?: |$)"),
    _form("srun", _DIGITS + " ", r" {0,5}(?P<rank>\d{1,5}): ?", common=False),
    _form("kubectl", "[", r"\[pod/(?P<stream>[^\]\s]{1,300})\] ?"),
    _form("torchrun", "[", r"\[(?:default|trainer|worker)(?P<rank>\d{1,5})\]:"),
    _form("torch", "[", r"\[rank(?P<rank>\d{1,5})\]: ?"),
    _form("mpirun", "[", r"\[\d+,(?P<rank>\d{1,5})\]<std(?:out|err)>: ?"),
    _form("journald short", _LETTERS, f"{_SYSLOG} {_SENDER}"),
    _form("journald short-full", _LETTERS, f"{_FULL} {_SENDER}"),
    _form("compose", _LETTERS + _DIGITS, r"(?P<stream>[A-Za-z0-9][\w.-]{0,127}) *\|(?: |$)", common=False, holds="|"),
    _form("compose exit", _LETTERS + _DIGITS, r"(?=(?P<stream>[A-Za-z0-9][\w.-]{0,127}) exited with code \d)", common=False, holds=" exited "),
    _form("buildkite", "[", rf"\[{_RFC3339}\](?: |$)"),
    _form("margin", " \xc2", r"(?:\xc2?\xa0| ){1,8}\|(?: |$)", common=False, holds="|"),
    _form("google cloud", _LETTERS, rf"{_SEVERITY} {_RFC3339} (?:\[resource\.labels\.[^\]]{{1,200}}\] ?)*", common=False),
    _form("table", _DIGITS, r"(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?) \|(?: |$)", common=False, holds="|"),
    # Engines write `(Name pid=N)` too. Ray's has an address or a rank, names Ray, or stands before another one.
    _form("ray", "(", rf"\((?!{_ENGINE_OWN}){_RAY_ACTOR}(?:{_RAY_RANK})? pid=(?P<pid>\d{{1,10}})(?:{_RAY_IP})?\) ?"),
    _form("rfc 5424", "<", rf"<\d{{1,3}}>1 (?P<stamp>-|\S{{20,35}}) {_RFC5424_SENDER}"),
    _form("rfc 3164", "<", rf"<\d{{1,3}}>{_SYSLOG} {_SENDER}"),
)


Forms = Mapping[str, tuple[_Form, ...]]  # by the characters that they can begin with


def _by_first(forms: Iterable[_Form]) -> Forms:
    known = tuple(forms)
    return {first: tuple(form for form in known if first in form.begins) for first in {first for form in known for first in form.begins}}


_INNER = _by_first(form for form in FORMS if form.common)

SEVERAL_HOSTS = "several hosts"  # of a layout: one unit writes from several hosts, so a stream is told by its host, too
HOST_SAMPLE = 400

_STAMPED = compiled_later(_RFC3339, re.ASCII)
_DOUBTFUL = _by_first(form for form in FORMS if not form.common and form.name != "compose exit")


@lru_cache(maxsize=2)  # a small file is asked about when it is sniffed and when it is read
def layout_of(head: bytes) -> frozenset[str]:
    """The forms that plain text may look like and that the head of a file is written in: a third of its lines or more.

    A third and not more, since journalctl indents the further lines of a message and gives them no envelope. But what it stamps names its
    sender: where lines do not, `Assertion failed: ...` behind docker's stamp is no host and no unit.
    """
    found = [line for line in head.split(b"\n", HEAD_LINES)[:HEAD_LINES] if line and not line.isspace()]
    lines = [line.decode("latin-1") for line in found[:: len(found) // HEAD_SAMPLE or 1]]
    able = {form.name: form for first in {line[:1] for line in lines} for form in _DOUBTFUL.get(first, ())}
    seen = {name for name, form in able.items() if (name != SHORT_ISO or _name_senders(form, lines)) and _is_usual(form, lines)}
    return frozenset(seen | {"compose exit"} if "compose" in seen else seen)


def _is_usual(form: _Form, lines: Sequence[str]) -> bool:
    """Whether a third of the lines or more are written in a form."""
    able = [line for line in lines if form.holds in line and line[0] in form.begins]
    return 3 * len(able) >= len(lines) and 3 * len(list(filter(form.pattern.match, able))) >= len(lines)


def _name_senders(form: _Form, lines: Sequence[str]) -> bool:
    """Whether nearly all lines that begin with journald's stamp are written in its form; those that come first mostly tell."""
    named = others = 0
    for line in lines:
        if form.pattern.match(line):
            named += 1
        elif _STAMPED.match(line):
            others += 1
            if others > len(lines) - NEARLY_ALL * len(lines):
                return False
    return named >= NEARLY_ALL * (named + others)


@lru_cache(maxsize=2)
def has_several_hosts(head: bytes, layout: frozenset[str]) -> bool:
    """Whether one unit of the same name writes from several hosts into the file with this head."""
    if not any(_sender(line, layout)[1] for line in head.split(b"\n", DEEPEST)[:DEEPEST]):
        return False
    lines = head.split(b"\n")
    hosts: dict[str, str] = {}
    senders = (_sender(line, layout) for line in lines[:: len(lines) // HOST_SAMPLE or 1])
    return any(hosts.setdefault(stream, host) != host for stream, host in senders if host and stream)


def _sender(line: bytes, layout: frozenset[str]) -> tuple[str, str]:
    """The stream and the host of a line."""
    said, _ = inside(line[:LONGEST].decode("latin-1"), layout)
    return _stream(said, SEVERAL_HOSTS in layout), said.get("host", "")


def opened(head: str, layout: frozenset[str]) -> Envelope:
    """What the envelopes at the beginning of a line say. `head` holds one character for a byte (Latin-1)."""
    said, length = _taken_off(head, layout)
    return _envelope(said, length, SEVERAL_HOSTS in layout) if said or length else NONE


@lru_cache(maxsize=64)  # the first lines of a file are asked about for its layout and for its kind
def inside(head: str, layout: frozenset[str]) -> tuple[Mapping[str, str], int]:
    """What the envelopes say, as it is written there, and where the line begins inside of them: for whoever does not ask when it was."""
    return _taken_off(head, layout)


def _taken_off(head: str, layout: frozenset[str]) -> tuple[Mapping[str, str], int]:
    """The fields of all envelopes, and how many characters these take."""
    said: dict[str, str] = {}
    at = 0
    used: list[str] = []
    while len(used) < DEEPEST and (found := _outermost(head, at, _INNER if at else _outer(layout), used)):
        for name, value in found.groupdict().items():  # the outermost speaks for all but the rank: the inner ones know it better
            if value and value != "-" and (name not in said or name == "rank"):
                said[name] = value
        at = found.end()
    return said, at


def _outermost(head: str, at: int, forms: Forms, used: list[str]) -> re.Match[str] | None:
    for form in forms.get(head[at : at + 1], ()):
        if form.name not in used and form.holds in head and (found := form.pattern.match(head, at)):
            used.append(form.name)
            return found
    return None


@lru_cache(maxsize=64)
def _outer(layout: frozenset[str]) -> Forms:
    """The forms by which a line may begin in a file of this layout, by their first characters."""
    return _by_first(form for form in FORMS if form.common or form.name in layout)


def _envelope(said: Mapping[str, str], length: int, by_host: bool) -> Envelope:
    return Envelope(
        length=length,
        stamp=outer_stamp(said.get("stamp", "")),
        epoch=_number(said.get("epoch")),
        stream=_stream(said, by_host),
        host=said.get("host", ""),
        unit=said.get("unit", ""),
        pid=_number(said.get("pid")),
        rank=_number(said.get("rank")),
        invocation=said.get("invocation", ""),
    )


def _stream(said: Mapping[str, str], by_host: bool) -> str:
    stream, host = said.get("stream") or said.get("unit", ""), said.get("host", "")
    return f"{host}/{stream}" if by_host and host and stream else stream


def _number(digits: str | None) -> int | None:
    return int(digits) if digits and digits.isascii() and digits.isdigit() and len(digits) < 20 else None


NONE = Envelope()
