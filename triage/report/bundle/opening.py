"""Opens a bundle into a new folder, whole or not at all: nothing that stands there already is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from triage.report.bundle.archive import BundleError


def write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files below `folder`, which must not exist or be empty. Raises BundleError where it is not, OSError where it cannot be made."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise BundleError(f"{folder} exists: name a new folder with -C")
    beside = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    beside.mkdir(parents=True)
    try:
        for name, content in files.items():
            path = beside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if folder.exists():
            folder.rmdir()
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
