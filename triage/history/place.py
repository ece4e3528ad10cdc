"""Where the store lies, and where it must not: WAL needs memory that all its users share, which a network file system has not."""

from __future__ import annotations

import os
from pathlib import Path

from triage.history.errors import StoreError

NETWORK = frozenset((
    "nfs", "nfs4", "cifs", "smb", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "orangefs", "ocfs2", "gfs2",
    "9p", "davfs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "fuse.davfs2", "fuse.juicefs",
))  # fmt: skip
MOUNTS = Path("/proc/self/mountinfo")


def default_store() -> Path:
    """`$XDG_STATE_HOME/triage/history.db`, else `~/.local/state/triage/history.db`; for root `/var/lib/triage/history.db`."""
    base = os.environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "triage" / "history.db"
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/triage/history.db")
    return Path(os.path.expanduser("~")) / ".local" / "state" / "triage" / "history.db"


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Raises StoreError where `path` lies on a network file system. `mounts` is the text of /proc/self/mountinfo."""
    kind = _file_system(os.path.realpath(path), _mounts() if mounts is None else mounts)
    if kind in NETWORK:
        raise StoreError(
            f"the history {path}: it lies on a network file system ({kind}), where SQLite loses data: give a local place with --store or TRIAGE_STORE"
        )


def _mounts() -> str:
    try:
        return MOUNTS.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _file_system(path: str, mounts: str) -> str:
    """The type of the file system that holds `path`: that of the longest mount point above it, the last one where there are several."""
    best, kind = "", ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = fields[4].replace("\\040", " ")
        if len(point) >= len(best) and (path == point or path.startswith(point.rstrip("/") + "/")):
            best, kind = point, after.split()[0]
    return kind
