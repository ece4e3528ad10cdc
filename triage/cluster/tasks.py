"""What runs on a worker: each of these needs nothing but its arguments, so that a task whose worker was lost is simply run again."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import msgspec

import triage
from triage.knowledge.load import Knowledge
from triage.knowledge.table import RuleTable
from triage.model import Dump, Kind, Problem
from triage.parsers.options import Options
from triage.parsers.reading import read_source
from triage.parsers.sending import packed
from triage.parsers.sorting import sort_files
from triage.sources.find import Source, find
from triage.sources.urls import NODE, learn_addresses

_tables: dict[str, RuleTable] = {}  # of this process, by what the rules are made of


class Survey(msgspec.Struct, frozen=True):
    """What lies on one machine: its sources with their kinds, its dump files, and what cannot be read."""

    sources: list[tuple[Source, Kind]]
    dumps: list[str]
    problems: list[Problem]


def versions() -> dict[str, str]:
    """What must be the same on both sides: our version, a digest of our code, and Python's."""
    code = hashlib.sha256()
    home = Path(triage.__file__).parent
    for file in sorted(home.rglob("*.py")):
        code.update(file.relative_to(home).as_posix().encode() + b"\0" + file.read_bytes())
    return {"triage": triage.__version__, "code": code.hexdigest()[:12], "python": platform.python_version()}


def read(source: Source, kind: Kind, known: tuple[str, Knowledge], options: Options, addresses: dict[str, str]) -> bytes:
    """One source read whole, packed. `known` are the rules and the key under which this process keeps their table."""
    learn_addresses(addresses)
    key, rules = known
    if key not in _tables:
        _tables.clear()
        _tables[key] = RuleTable(rules)
    return packed([read_source(source, kind, _tables[key], options)])


def survey(host: str, paths: Sequence[str], kind: Kind | None) -> Survey:
    """What the paths lead to on this machine, under names that say which machine that is."""
    found, problems = find(paths, kind=kind)
    sources, dumps, skipped = sort_files(found, paths, kind)
    return Survey(
        [(_source(host, source), what) for source, what in sources],
        [named(host, file) for file in dumps],
        [Problem(named(host, p.file), p.what, p.lost) for p in (*problems, *skipped)],
    )


def dumps(files: Sequence[str], options: Options, addresses: dict[str, str]) -> tuple[list[Dump], list[Problem]]:
    """The flight-recorder files of one machine, one summary a hang."""
    from triage.pipeline import read_dumps

    learn_addresses(addresses)
    return read_dumps(files, options)


def _source(host: str, found: Source) -> Source:
    return Source(f"{NODE}://{host}/{found.name.lstrip('/')}", tuple(named(host, file) for file in found.files), found.kind)


def named(host: str, file: str) -> str:
    """The name of a file on a machine of the cluster: `node://gpu-7/var/log/vllm.log`."""
    return f"{NODE}://{host}{os.path.abspath(file)}"


def paths_on(host: str, names: Sequence[str]) -> dict[str, str]:
    """The path that each such name stands for on that machine."""
    return {name: name.removeprefix(f"{NODE}://{host}") for name in names}
