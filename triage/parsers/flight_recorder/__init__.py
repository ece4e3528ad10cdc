"""Flight-recorder dumps: which files are some (`looks_like_dump`), and what the ranks of a hang recorded (`read_folder`, `read_files`)."""

from __future__ import annotations

from triage.parsers.flight_recorder.folder import read_files, read_folder
from triage.parsers.flight_recorder.names import looks_like_dump
from triage.parsers.flight_recorder.records import RankDumps, Recording

__all__ = ["RankDumps", "Recording", "looks_like_dump", "read_files", "read_folder"]
