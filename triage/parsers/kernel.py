"""Reads kernel logs (dmesg, `dmesg -T`, syslog, `journalctl -k`): GPU faults by their Xid, oom-kills, crashes, ends of units.

One line becomes structured data by a function that knows nothing else; what a line means stands in rules/xid.toml and the rule tables::

    [ 7616.513186] NVRM: Xid (PCI:0000:41:00): 79, pid=10635, name=python3, GPU has fallen off the bus.
    [Thu Nov 12 03:10:00 2026] Memory cgroup out of memory: Killed process 815 (VLLM::EngineCor) total-vm:98765432kB, anon-rss:63123456kB
    Nov 12 03:10:00 gpu1 kernel: python3[4417]: segfault at 18 ip 00007f2a41200018 sp 00007ffd1a2b3c40 error 4 in libc.so.6[7f2a3f000000+195000]

>>> xid("NVRM: Xid (PCI:0000:41:00): 79, pid=10635, name=python3, GPU has fallen off the bus.")
(79, '0000:41:00', 10635, 'GPU has fallen off the bus.')
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from triage.expressions import compiled_later
from triage.knowledge.schema import Xid
from triage.model import Event

LINES = 200

_XID = compiled_later(
    r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]{4,20})(?: GPU-I:\d+)?\): (?P<number>\d{1,4})(?:, pid=(?:(?P<pid>\d{1,10})|'?<unknown>'?))?"
    r"(?:, name=(?P<name>[^,]{1,64}))?(?:, (?P<detail>.*))?"
)
_NOT_FATAL = compiled_later(r"(?i)\bnon-?fatal\b")
_CAUSED_BY = compiled_later(r"\bcaused by previous Xid (\d{1,4})\b")
_RSS = compiled_later(r"anon-rss:(\d{1,15})kB")
_KILLED = compiled_later(
    r"(?:\b(?P<memcg>Memory cgroup )?[Oo]ut of memory[^:]{0,40}: )?\bKill(?:ed)? process (?P<pid>\d{1,10}) \((?P<task>.{1,64}?)\)(?=[ ,]|$)"
)
_RECORD = compiled_later(r"\boom-kill:constraint=(?P<constraint>\w+),.*?,task=(?P<task>.{1,64}?),pid=(?P<pid>\d{1,10})\b")
_VICTIM = compiled_later(r"System OOM encountered, victim process: (?P<task>.{1,64}?), pid: (?P<pid>\d{1,10})")
_SEGFAULT = compiled_later(
    r"(?:traps: )?(?P<task>[^\s\[\]:][^\[\]]{0,63}?)\[(?P<pid>\d{1,10})\]:? (?P<what>segfault|general protection(?: fault)?|trap [a-z ]+?)"
    r"(?: at (?P<address>[0-9a-f]+))? ip[ :](?P<ip>[0-9a-f]+) sp[ :][0-9a-f]+ error[ :]\w+(?: in (?P<module>[^\[\s]+)\[)?"
)
_UNIT_EXIT = compiled_later(
    r"(?<![\w@:.\\-])(?P<unit>[\w@:.\\-]{1,200}\.(?:service|scope)): Main process exited, "
    r"code=(?P<code>\w+), status=(?P<status>\d{1,5})(?:/(?P<name>\w+))?"
)
_ENGINE_TASK = compiled_later(r"(?i)python|vllm|llm|sglang|ray|trt|tensorrt|pt_|torch|worker|engine|server|mpi|uvicorn|triton")
_NAME_BEFORE = compiled_later(r"^.*(?:\] |: )")

# How kernel lines begin: with an uptime, with syslog's tag in any language, as `dmesg -x`, /dev/kmsg and Talos write them, or with the
# date of `dmesg -T`.
_STAMPED = compiled_later(
    r"^(?:<\d+>)?\[ *\+?\d{1,10}\.\d{6}\](?:\[[ \w]+\])? "
    r"|^(?:(?:[^\s\d]{2,9} [ \d]\d|\d{1,2}\w{1,2} {1,2}\d{1,2}|\d{4}-\d\d-\d\d)[T ]\d\d:\d\d:\d\d\S* )?(?:\S+ )?kernel(?:\[\d+\])?: "
    r"|^(?:\S{1,80}: )?kern {0,3}: ?(?:emerg|alert|crit|err|error|warn|warning|notice|info|debug) {0,3}: |^\d{1,3},\d+,\d+,[-c+][^;]{0,40};"
    r"|^\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] "
    r"(?!(?i:ok|up|fail|down|http|health|status|curl|timeout)\b)(?=\D)"
)
# How they go on, for logs whose envelope has been taken off.
_BARE = compiled_later(
    r"^(?:NVRM: |nvidia(?:-\w+)?(?: [\da-f:.]+)?: |amdgpu [\da-f:.]+: |mlx5_core |Memory cgroup out of memory|Out of memory: |oom-kill:"
    r"|oom_reaper: |\S+ invoked oom-killer: |\S+\[\d+\]: segfault at |traps: |INFO: task |BUG: |watchdog: BUG|Call Trace:|CPU: \d+ |RIP: "
    r"|Code: [\da-f]{2} |R[A-D]X: |Modules linked in: |Hardware name: |Mem-Info:|Tasks state |Linux version |Command line: |BIOS-\w+: "
    r"|ACPI: |audit: |mce: |EDAC |pcieport |pci \d{4}:|usb \d|nvme\d?|sd \d|ata\d|scsi |EXT4-fs|XFS \(|IPv6: |systemd\[\d+\]: |rcu: |x86/"
    r"|smpboot: |clocksource: |perf: |docker0: |veth\w+: )"
)



class OomKill(msgspec.Struct, frozen=True):
    """A process that was killed for memory. `limit` is `cgroup` or `host` where the line tells; `rss` in KiB."""

    pid: int
    task: str
    limit: str = ""
    rss: int | None = None


class Segfault(msgspec.Struct, frozen=True):
    """A process that the kernel saw crash: by what, at which address (hexadecimal), in which file."""

    pid: int
    task: str
    what: str
    address: str = ""
    module: str = ""


class UnitExit(msgspec.Struct, frozen=True):
    """How a unit's main process ended: `killed` with a signal's number and name, or `exited` with a status."""

    unit: str
    code: str
    status: int
    name: str = ""


def xid(text: str) -> tuple[int, str, int | None, str] | None:
    """Number, PCI address, pid where the driver knew it, and the rest of an Xid line; None for any other line (SXid too)."""
    found = _XID.search(text)
    if found is None:
        return None
    return int(found["number"]), found["pci"], int(found["pid"]) if found["pid"] else None, (found["detail"] or "").strip()


def oom_kill(text: str) -> OomKill | None:
    """The victim of an oom-kill, from the kernel's line, its record, or kubelet's event; None for any other line."""
    record = _RECORD.search(text)
    if record:
        return OomKill(int(record["pid"]), record["task"], "cgroup" if "MEMCG" in record["constraint"] else "host")
    victim = _VICTIM.search(text)
    if victim:
        return OomKill(int(victim["pid"]), victim["task"], "host")
    killed = _KILLED.search(text)
    if killed is None:
        return None
    rss = _RSS.search(text)
    limit = "cgroup" if killed["memcg"] else "host" if "ut of memory" in text else ""
    return OomKill(int(killed["pid"]), killed["task"], limit, int(rss[1]) if rss else None)


def segfault(text: str) -> Segfault | None:
    """The process of a `segfault`, `general protection fault` or `trap` line; None for any other line."""
    found = _SEGFAULT.search(text)
    if found is None:
        return None
    task = _NAME_BEFORE.sub("", found["task"]) if ": " in found["task"] else found["task"]
    return Segfault(int(found["pid"]), task, found["what"], found["address"] or "", found["module"] or "")


def unit_exit(text: str) -> UnitExit | None:
    """What systemd says of the end of a unit's main process; None for any other line."""
    found = _UNIT_EXIT.search(text)
    return UnitExit(found["unit"], found["code"], int(found["status"]), found["name"] or "") if found else None


def enriched(event: Event, xids: dict[int, Xid]) -> Event:
    """The event with what its line says beside: pid, process, figures; an Xid's role and class are those of the catalogue."""
    number = xid(event.text)
    if number is not None:
        return _with_xid(event, number, xids)
    facts = oom_kill(event.text) or segfault(event.text) or unit_exit(event.text)
    if facts is None:
        return event
    data = {name: str(value) for name, value in msgspec.structs.asdict(facts).items() if value not in ("", None)}
    pid, task = (None, "") if isinstance(facts, UnitExit) else (facts.pid, facts.task)
    stranger = isinstance(facts, OomKill) and not _ENGINE_TASK.search(facts.task)  # another program's end is not this engine's
    role = "context" if stranger else event.role
    return msgspec.structs.replace(event, role=role, pid=pid or event.pid, process=task or event.process, data={**event.data, **data})


def looks_like_kernel_log(lines: Sequence[str]) -> bool:
    """Whether most of at most 200 lines are the kernel's (stamped with an uptime, tagged `kernel:`, or in its words)."""
    texts = [line for line in lines[:LINES] if line.strip()]
    return 2 * sum(map(is_kernel_line, texts)) > len(texts)


def is_kernel_line(line: str) -> bool:
    """Whether one line is the kernel's."""
    text = line.lstrip()[:400]
    return bool((_may_be_stamped(text) and _STAMPED.match(text)) or _BARE.match(text))


def _may_be_stamped(text: str) -> bool:
    """Whether a line has what a stamped one begins with or names; most engines' first lines have none of it."""
    return text.startswith(("<", "[")) or "kern" in text or "," in text[:4]


def _with_xid(event: Event, facts: tuple[int, str, int | None, str], xids: dict[int, Xid]) -> Event:
    number, pci, pid, detail = facts
    told = _CAUSED_BY.search(detail) if event.role == "root" else None
    entry = xids.get(int(told[1]) if told else number)
    found = _XID.search(event.text)
    name = (found["name"] or "").strip("<>'\"") if found else ""
    given = {"xid": str(number), "pci": pci, "name": entry.name if entry else "", "detail": detail[:400], "task": "" if name == "unknown" else name}
    role = entry.role if entry else "context"
    if role == "root" and _NOT_FATAL.search(detail):
        role = "context"
    return msgspec.structs.replace(
        event,
        role=role,
        fault=entry.fault_class if entry else "",
        pid=pid if pid is not None else event.pid,
        process=given["task"] or event.process,
        data={**event.data, **{key: value for key, value in given.items() if value}},
    )
