"""Finds every rule that may match in a piece of bytes, in one pass; the compiled database is kept between runs."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Collection, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from triage.knowledge.cache import cache_folder, write_atomically
from triage.knowledge.load import RuleError
from triage.knowledge.patterns import ScanPattern

try:
    import hyperscan

    INSTALLED = True
except ImportError:  # no wheel for this system: triage.knowledge.fallback finds the same, in more time
    INSTALLED = False

if TYPE_CHECKING:
    from triage.knowledge.fallback import Fallback

Hits = list[tuple[int, int]]
CHOICE = "TRIAGE_SCANNER"


class Scanner:
    """Scans pieces of bytes for all patterns at once (Hyperscan block mode: linear time whatever the input; or the fallback).

    What several rules look for in the same way is looked for once. `once`: the indices of patterns of which only one match is reported
    in each piece. `only`: the indices of those that are looked for at all, where it is not all of them. `keep`: whether the compiled
    database is kept for the next run. `engine`: what scans, where it was compiled already. Raises RuleError where a pattern cannot be
    compiled; the message names the rule.
    """

    def __init__(
        self,
        patterns: Sequence[ScanPattern],
        *,
        once: Collection[int] = (),
        only: Collection[int] | None = None,
        keep: bool = True,
        engine: _Hyperscan | Fallback | None = None,
    ) -> None:
        self.patterns = tuple(replace(p, once=True) if index in once else p for index, p in enumerate(patterns))
        self._only = only
        self._alike = _alike(self.patterns, only)
        self._engine = engine or _engine(tuple(self.patterns[first] for first, *_ in self._alike), keep=keep)

    def twin(self) -> Scanner:
        """Another scanner for the same patterns, which may run in another thread at the same time."""
        return Scanner(self.patterns, only=self._only, engine=self._engine.twin())

    def scan(self, data: bytes) -> Hits:
        """`(end offset, pattern index)` of every possible match, ordered by offset."""
        hits = [(end, index) for end, number in self._engine.scan(data) for index in self._alike[number]]
        hits.sort()
        return hits

    def run(self, data: bytes) -> None:
        """Scans `data` and tells nobody: what the scan alone costs can be measured so."""
        self._engine.run(data)


def _alike(patterns: Iterable[ScanPattern], only: Collection[int] | None) -> tuple[tuple[int, ...], ...]:
    """The indices of the patterns that are looked for, those together that look for the same."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, pattern in enumerate(patterns):
        if only is None or index in only:
            alike.setdefault((pattern.expression, pattern.ignore_case, pattern.prefilter, pattern.once), []).append(index)
    return tuple(map(tuple, alike.values()))


class _Hyperscan:
    def __init__(self, database: hyperscan.Database) -> None:
        self._database = database
        self._scratch = hyperscan.Scratch(database)

    def twin(self) -> _Hyperscan:
        return _Hyperscan(self._database)

    def scan(self, data: bytes) -> Hits:
        hits: Hits = []
        add = hits.append

        def found(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add((end, index))

        self._database.scan(data, match_event_handler=found, scratch=self._scratch)
        return hits

    def run(self, data: bytes) -> None:
        self._database.scan(data, match_event_handler=None, scratch=self._scratch)  # type: ignore[arg-type]  # its stubs do not know None


def which_scanner() -> tuple[str, str]:
    """Which scanner runs, `hyperscan` or `fallback`, and why. Raises RuleError where there is none, or TRIAGE_SCANNER names none."""
    wanted = os.environ.get(CHOICE, "")
    if wanted not in ("", "hyperscan", "fallback"):
        raise RuleError(f"{CHOICE}={wanted}: there is no such scanner: hyperscan or fallback")
    if INSTALLED and wanted != "fallback":
        return "hyperscan", f"{CHOICE} says so" if wanted else "it is installed, and the fastest"
    if not INSTALLED and wanted == "hyperscan":
        raise RuleError(f"{CHOICE}=hyperscan: it is not installed: pip install hyperscan, or unset {CHOICE}")
    if find_spec("ahocorasick_rs") is None:
        what = "neither hyperscan nor ahocorasick_rs is" if not INSTALLED else "ahocorasick_rs is not"
        raise RuleError(f"no scanner: {what} installed: pip install ahocorasick_rs")
    return "fallback", f"{CHOICE} says so" if wanted else "hyperscan is not installed: there is no wheel of it for this system, or it was left out"


def _engine(patterns: tuple[ScanPattern, ...], *, keep: bool) -> _Hyperscan | Fallback:
    if which_scanner()[0] == "hyperscan":
        return _Hyperscan(_database(patterns) if keep else _compiled(patterns))
    from triage.knowledge.fallback import Fallback

    return Fallback(patterns)


def is_database(kept: bytes) -> bool:
    """Whether bytes are a compiled database that Hyperscan here can use; where there is none, nobody asks for it."""
    if not INSTALLED:
        return True
    try:
        hyperscan.Scratch(hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK))
    except (hyperscan.error, ValueError, RuntimeError):
        return False
    return True


def _database(patterns: tuple[ScanPattern, ...]) -> hyperscan.Database:
    kept = cache_folder() / f"scan-{_key(patterns)}.hsdb"
    try:
        return hyperscan.loadb(kept.read_bytes(), hyperscan.HS_MODE_BLOCK)
    except (OSError, hyperscan.error, ValueError, RuntimeError):
        database = _compiled(patterns)
        write_atomically(kept, hyperscan.dumpb(database))
        return database


def _key(patterns: tuple[ScanPattern, ...]) -> str:
    version = getattr(hyperscan, "__version__", "")  # its type stubs do not know it
    digest = hashlib.sha256(f"{version}\0{platform.machine()}\0{_processor()}\0".encode())
    digest.update(msgspec.msgpack.encode(patterns))
    return digest.hexdigest()[:24]


def _processor() -> str:
    """What this CPU can do: a database compiled for one may not run on another."""
    try:
        with open("/proc/cpuinfo", "rb") as file:
            return next((line for line in file if line.startswith((b"flags", b"Features"))), b"").decode("ascii", "replace")
    except OSError:
        return platform.processor()


def _flags(pattern: ScanPattern) -> int:
    flags = hyperscan.HS_FLAG_MULTILINE  # a `scan` pattern given by hand may end in `$`: the end of a line
    if pattern.ignore_case:
        flags |= hyperscan.HS_FLAG_CASELESS
    if pattern.prefilter:
        flags |= hyperscan.HS_FLAG_PREFILTER
    if pattern.once:
        flags |= hyperscan.HS_FLAG_SINGLEMATCH
    return int(flags)


def _compiled(patterns: tuple[ScanPattern, ...]) -> hyperscan.Database:
    try:
        return _together(patterns)
    except hyperscan.error as error:
        raise _blamed(patterns, error) from error


def _together(patterns: tuple[ScanPattern, ...]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[p.expression.encode() for p in patterns],
        ids=list(range(len(patterns))),
        elements=len(patterns),
        flags=[_flags(p) for p in patterns],
    )
    return database


def _blamed(patterns: tuple[ScanPattern, ...], error: Exception) -> RuleError:
    """Names the pattern that cannot be compiled, found by halving: each one alone would take many times as long."""
    if len(patterns) == 1:
        only = patterns[0]
        return RuleError(f"rule {only.rule}: the scanner cannot compile {only.expression!r} ({error}); give it a plainer `scan` pattern")
    middle = len(patterns) // 2
    for half in (patterns[:middle], patterns[middle:]):
        try:
            _together(half)
        except hyperscan.error as own:
            return _blamed(half, own)
    return RuleError(f"the scanner cannot compile the rules together: {error}")
