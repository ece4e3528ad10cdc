"""The least that a program in Python takes with this scanner: each file is opened, read and scanned, and nothing is done with the hits.

    python -m benchmarks.floor build/bench/crash-loop-60.log
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from triage.knowledge.load import load
from triage.knowledge.table import RuleTable

PART = 1 << 20


def parts(path: Path) -> Iterator[bytes]:
    """The bytes of a file, or of all files in a folder, a megabyte at a time."""
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        with file.open("rb", buffering=0) as raw:
            while part := raw.read(PART):
                yield part


def main() -> None:
    """Scan what is named, and say how many hits there were."""
    scanner = RuleTable(load()).sweep
    hits = sum(len(scanner.scan(part)) for path in sys.argv[1:] for part in parts(Path(path)))
    print(f"{hits:,} hits")


if __name__ == "__main__":
    main()
