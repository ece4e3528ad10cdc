"""Makes docs/examples/fleet: the exports of eight made-up hosts, of which one has a bad board and one a crash loop.

    python -m docs.fleet_example
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from triage.history.export import as_parquet
from triage.history.fleet import FILES, FORMAT, folder_of

FOLDER = Path(__file__).parent / "examples" / "fleet"
HOSTS = [f"gpu-{number:02}" for number in range(1, 9)]
BEGIN, DAY = 1793491200.0, 86400.0  # 2026-11-01 00:00 UTC
DAYS = 28
BAD_BOARD, LOOPING, LATE = "gpu-05", "gpu-03", "gpu-08"  # Xids; one crash ten times in an hour; put to work in the last week
CHECKED = {"family": "instant", "fault": 1, "dismissed": 0, "engine": "vllm", "version": "0.27.0", "driver": "580.95.05", "rules": "example"}


def incidents(host: str, dice: random.Random) -> list[dict[str, Any]]:
    """What happened on one host: a cuBLAS fault every nine days or so on each, and what is its own."""
    start = BEGIN + (21 * DAY if host == LATE else 0.0)
    at, made = start, []
    while (at := at + dice.expovariate(1 / (9 * DAY))) < BEGIN + DAYS * DAY:
        made.append({"class": "cublas-fault", "seen": at})
    if host == BAD_BOARD:
        made += [{"class": "gpu-hardware", "family": "hardware", "seen": BEGIN + day * DAY} for day in (3.2, 8.9, 9.4, 15.1, 20.6, 26.0)]
    if host in (HOSTS[0], HOSTS[6]):
        made.append({"class": "gpu-hardware", "family": "hardware", "seen": BEGIN + 12.3 * DAY})
    if host == LOOPING:
        made += [{"class": "triton-fault", "seen": BEGIN + 17 * DAY + 300.0 * step, "driver": "580.82.07"} for step in range(10)]
    if host in (HOSTS[1], HOSTS[5], HOSTS[6]):
        made.append({"class": "triton-fault", "seen": BEGIN + dice.uniform(1, 27) * DAY})
    return [CHECKED | {"id": f"{dice.getrandbits(32):08x}", "host": host, "source": "vllm.log", **each} for each in made]


def tables(host: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of one host's files."""
    start = BEGIN + (21 * DAY if host == LATE else 0.0)
    boot = {"id": f"{host}-1", "host": host, "engine": "vllm", "version": "0.27.0", "driver": "580.95.05", "start": start, "ready": start + 90}
    return {
        "about": [{"format": FORMAT, "triage": "0.1.0", "rules": "example", "host": host, "exported": BEGIN + DAYS * DAY}],
        "incidents": incidents(host, random.Random(host)),
        "boots": [boot],
        "coverage": [{"host": host, "kind": "log", "start": start, "end": BEGIN + DAYS * DAY}],
    }


def write(folder: Path, host: str, made: dict[str, list[dict[str, Any]]]) -> None:
    """Write the files of one host as its export does; columns that a row lacks are empty."""
    below = folder / folder_of(host)
    below.mkdir(parents=True, exist_ok=True)
    for name, columns in FILES.items():
        rows = [tuple(row.get(column, "" if kind == "TEXT" else None) for column, kind in columns.items()) for row in made[name]]
        (below / f"{name}.parquet").write_bytes(as_parquet((list(columns), rows), columns))


def main() -> None:
    """Write the files of all hosts."""
    for host in HOSTS:
        write(FOLDER, host, tables(host))


if __name__ == "__main__":
    main()
