"""Whether a missing dump means anything: present, absent although armed, not armed, or not collected; and how that is known."""

from __future__ import annotations

from triage.model import Boot, Dump, DumpState, Family, Incident

SIZE_NAMES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
ON_BY_DEFAULT = (2, 9)
OFF_BEFORE = (2, 8)  # what 2.8 does is not known; before it a dump also has to be asked for:
ON_TIMEOUT = "TORCH_NCCL_DUMP_ON_TIMEOUT"
# Settings with which no watchdog dumps, however large the recorder is.
PREVENTS = {ON_TIMEOUT: "0", "TORCH_NCCL_ENABLE_MONITORING": "0", "TORCH_NCCL_BLOCKING_WAIT": "1"}
# Seconds: torch's watchdog dumps after this, vLLM gives up waiting for its workers before, each unless told otherwise.
WATCHDOG, RPC = 600, 300
RPC_NAME = "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS"
State = tuple[DumpState, str]

OUTSIDE = (
    "no rank waits in anything that torch records; vLLM's own all-reduce (custom, pynccl, FlashInfer, symmetric memory) and, since mid-2026, its "
    "all-gather run outside torch.distributed and leave no entry, so a hang there looks like this"
)
VISIBLE = (
    "to have them recorded: --disable-custom-all-reduce, VLLM_DISABLE_PYNCCL=1, VLLM_ALLREDUCE_USE_SYMM_MEM=0, VLLM_ALLREDUCE_USE_FLASHINFER=0 send "
    "them through torch, which costs speed; or ask NCCL (2.24 and later) while it hangs: nc localhost 28028"
)


def dump_state(incident: Incident, *, place_was_read: bool) -> State:
    """The dump's state and the reason in words. `place_was_read`: whether this run was shown the place where dumps lie."""
    dump = incident.dump
    if dump is not None:
        return "present", f"{len(dump.ranks)} ranks in {dump.directory}"
    if (idle := incident.idle_dump) is not None:
        return "present", f"{len(idle.ranks)} ranks in {idle.directory}, {_nothing(idle)}"
    armed, why = _armed(incident.boot)
    if armed is False:
        return "not armed", why
    if written := _written(incident):
        return "not collected", written
    if not place_was_read:
        return "not collected", "no dump was among what was read, and nothing says where dumps lie"
    if armed and _given_up(incident):
        return "not collected", f"{why}, but vLLM gave up waiting before torch's watchdog dumps ({RPC_NAME} above {WATCHDOG} lets it)"
    if armed:
        return "absent", f"{why}, and other dumps were found"
    return "not collected", why


def unrecorded(incident: Incident, family: Family) -> tuple[str, ...]:
    """Of a hang whose dumps show nobody waiting: that it may be in a collective that torch does not see, and how to see it next time."""
    dump = incident.dump or incident.idle_dump
    return (f"{OUTSIDE}; {VISIBLE}",) if family == "hang" and dump is not None and dump.idle else ()


def _written(incident: Incident) -> str:
    """What the log says of the engine's attempt to write a dump; nothing where it says nothing."""
    for endings, said in (
        (("recorder-open-failed", "recorder-write-failed"), "the engine could not write its dump"),
        (("recorder-written", "recorder-dumping"), "the engine wrote a dump that was not among what was read"),
        (("recorder-preparing",), "the engine began a dump that was not among what was read"),
    ):
        if found := [e for e in incident.events if e.rule.endswith(endings)]:
            path = next((e.data["path"] for e in found if e.data.get("path")), "")
            return f"{said}: {path}" if path else said
    return ""


def _nothing(dump: Dump) -> str:
    return "which recorded nothing" if len(dump.empty) == len(dump.ranks) else "none of which waits in an operation that torch records"


def _given_up(incident: Incident) -> bool:
    """Whether vLLM's executor timed out, and sooner than torch's watchdog would have."""
    told = incident.boot.config.get(RPC_NAME, "") if incident.boot else ""
    sooner = (int(told) if told.isdecimal() else RPC) < WATCHDOG
    return sooner and any(e.rule.endswith("vllm-rpc-timeout") for e in incident.events)


def _armed(boot: Boot | None) -> tuple[bool | None, str]:
    if boot is None:
        return None, "no boot line was seen that tells whether the recorder is armed"
    for name, value in PREVENTS.items():
        if boot.config.get(name) == value:
            return False, f"not armed: {name}={value} at boot"
    version = _torch_version(boot.config.get("torch", ""))
    shown = ".".join(map(str, version or ()))
    for name in SIZE_NAMES:
        size = boot.config.get(name, "")
        if size.isdecimal() and int(size) and version and version < OFF_BEFORE and not boot.config.get(ON_TIMEOUT):
            return False, f"not armed: {name}={size} at boot, but torch {shown} dumps only with {ON_TIMEOUT}=1, which was not seen"
        if size.isdecimal():
            return int(size) > 0, f"armed: {name}={size} at boot" if int(size) else f"not armed: {name}=0 at boot"
    return _by_default(version, shown)


def _by_default(version: tuple[int, int] | None, shown: str) -> tuple[bool | None, str]:
    if version is None:
        return None, "no boot line tells whether the recorder is armed"
    if version >= ON_BY_DEFAULT:
        return True, f"armed: torch {shown} has it on by default"
    if version >= OFF_BEFORE:
        return None, f"no boot line tells whether the recorder is armed, and it is not known whether torch {shown} has it on by default"
    return False, f"not armed: torch {shown} has it off by default and no TORCH_NCCL_TRACE_BUFFER_SIZE was seen"


def _torch_version(text: str) -> tuple[int, int] | None:
    parts = text.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit() else None
