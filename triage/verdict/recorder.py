"""Whether a missing dump means anything: present, absent although armed, not armed, or not collected; and how that is known."""

from __future__ import annotations

from triage.model import Boot, DumpState, Incident

SIZE_NAMES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
ON_BY_DEFAULT = (2, 9)
State = tuple[DumpState, str]


def dump_state(incident: Incident, *, place_was_read: bool) -> State:
    """The dump's state and the reason in words. `place_was_read`: whether this run was shown the place where dumps lie."""
    dump = incident.dump
    if dump is not None:
        return "present", f"{len(dump.ranks)} ranks in {dump.directory}"
    armed, why = _armed(incident.boot)
    if armed is False:
        return "not armed", why
    if any(e.rule.endswith(("recorder-open-failed", "recorder-write-failed")) for e in incident.events):
        return "not collected", "the engine could not write its dump"
    if not place_was_read:
        return "not collected", "no dump was among what was read, and nothing says where dumps lie"
    if armed:
        return "absent", f"{why}, and other dumps were found"
    return "not collected", why


def _armed(boot: Boot | None) -> tuple[bool | None, str]:
    if boot is None:
        return None, "no boot line was seen that tells whether the recorder is armed"
    for name in SIZE_NAMES:
        size = boot.config.get(name, "")
        if size.isdigit():
            return int(size) > 0, f"armed: {name}={size} at boot" if int(size) else f"not armed: {name}=0 at boot"
    version = _torch_version(boot.config.get("torch", ""))
    if version is None:
        return None, "no boot line tells whether the recorder is armed"
    shown = ".".join(map(str, version))
    if version >= ON_BY_DEFAULT:
        return True, f"armed: torch {shown} has it on by default"
    return False, f"not armed: torch {shown} has it off by default and no TORCH_NCCL_TRACE_BUFFER_SIZE was seen"


def _torch_version(text: str) -> tuple[int, int] | None:
    parts = text.split(".")
    return (int(parts[0]), int(parts[1])) if len(parts) >= 2 and parts[0].isdigit() and parts[1].isdigit() else None
