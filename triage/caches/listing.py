"""The table of `triage caches`, its JSON, and what is said of a tear-down."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from triage.caches.manifest import SCHEMA, Kept, Life
from triage.caches.records import Cache, Hold, KnownBy, Origin
from triage.caches.removal import Outcome
from triage.caches.teardown import Plan
from triage.model import Seconds
from triage.report.fitting import Give, columns, fitted_table, wrapped
from triage.report.words import clean, iso, number, size, stretch

GIVE: Give = (("files", 0), ("read by", 0), ("start", 0), ("where", 12), ("known by", 0), ("where", 0))
LONGEST_PATH = 24
STAY_SHOWN = 12


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown of one cache, found on disk or in an archive."""

    kind: str
    key: str
    where: str
    path: str
    bytes: int
    disk: int
    files: int
    newest: Seconds | None
    origin: Origin
    holds: tuple[Hold, ...] = ()


def row_of(cache: Cache, origin: Origin, holds: Sequence[Hold]) -> Row:
    """The row of a cache on disk."""
    c = cache.contents
    return Row(kind=cache.kind, key=cache.key, where=cache.shown, path=cache.path, bytes=c.bytes, disk=c.disk, files=len(c.files), newest=c.newest,
               origin=origin, holds=tuple(holds))  # fmt: skip


def row_of_kept(kept: Kept) -> Row:
    """The row of a cache in an archive."""
    return Row(kind=kept.kind, key=kept.key, where=kept.path, path=kept.path, bytes=kept.bytes, disk=kept.disk, files=len(kept.files),
               newest=kept.newest, origin=kept.origin)  # fmt: skip


def in_order(rows: Sequence[Row], lives: Sequence[Life]) -> list[Row]:
    """By boot, in the order of their starts; then what no boot is known for. Within a boot the largest first."""
    place = {life.id: number for number, life in enumerate(lives)}
    return sorted(rows, key=lambda row: (min((place.get(boot, len(place)) for boot in row.origin.built), default=len(place)), -row.bytes, row.path))


def table(rows: Sequence[Row], lives: Sequence[Life], *, now: Seconds, style: str = "simple", archived: Seconds | None = None) -> str:
    """One row a cache, by boot, and a line of totals. `archived`: when an archive was made, where the rows are of one."""
    starts = {life.id: life.start for life in lives}
    headings = ("boot", "start", "kind", "size", "files", "age", "in use", "known by", "read by", "where")
    shown, root = in_order(rows, lives), _root(rows)
    cells = [_cells(row, starts, archived or now, root) for row in shown]
    idle = archived is not None or not any(row.holds for row in rows)
    give = (*((("in use", 0),) if idle else ()), *(() if any(row.origin.read for row in rows) else (("read by", 0),)), *GIVE)
    text = fitted_table(headings, cells, style, give, right=("size", "files", "age")) + "\n\n" if rows else ""
    below = [*_below(rows, lives, archived), *([f"where: below {clean(root)}"] if root else [])]
    return text + "\n".join(wrapped(line, columns()) for line in below)


def _root(rows: Sequence[Row]) -> str:
    """The folder that all of several caches lie below."""
    return os.path.commonpath([os.path.dirname(row.path) for row in rows]) if len(rows) > 1 else ""


def _where(row: Row, root: str) -> str:
    """The path of a cache below `root`, its middle left out where it is long."""
    path = clean(os.path.relpath(row.path, root) if root else row.where)
    first = path.split("/", 1)[0]
    return path if len(path) <= LONGEST_PATH else f"{clean(first, 8)}/…/{clean(row.key, 14)}"


def _cells(row: Row, starts: Mapping[str, Seconds | None], now: Seconds, root: str) -> tuple[str, ...]:
    built = row.origin.built
    start = starts.get(built[0]) if len(built) == 1 else None
    when = iso(start)[5:16].replace("T", " ") if start is not None else "-"
    boot = built[0] if len(built) == 1 else f"one of {len(built)}" if built else "-"
    age = stretch(max(0.0, now - row.newest)) if row.newest is not None else "-"
    held = row.holds[0].word if row.holds else "-"
    read = " ".join(row.origin.read[:2]) + (f" +{len(row.origin.read) - 2}" if len(row.origin.read) > 2 else "")
    return (boot, when, row.kind, size(row.bytes), f"{row.files:,}", age, held, row.origin.by or "-", read or "-", _where(row, root))


def _below(rows: Sequence[Row], lives: Sequence[Life], archived: Seconds | None) -> list[str]:
    if not rows:
        return ["no cache was found"]
    total, disk = sum(row.bytes for row in rows), sum(row.disk for row in rows)
    on_disk = "" if archived is not None or abs(disk - total) < 0.1 * total else f" ({size(disk)} on disk)"
    boots = {row.origin.built[0] for row in rows if len(row.origin.built) == 1}
    made = f", archived {iso(archived)[:16].replace('T', ' ')} UTC" if archived is not None else ""
    lines = [f"{number(len(rows), 'cache')}, {size(total)}{on_disk}, built by {number(len(boots), 'boot')}{made}" if boots else
             f"{number(len(rows), 'cache')}, {size(total)}{on_disk}{made}"]  # fmt: skip
    several = sum(len(row.origin.built) > 1 for row in rows)
    unknown = sum(not row.origin.built for row in rows)
    if several:
        lines.append(f"{several} of them may be of several boots: their logs and the times of the files do not tell which")
    if unknown:
        why = "no log names them, and no boot of these logs lived when they were written" if lives else "give the logs of the boots, too"
        lines.append(f"{unknown} of them of no boot that is known: {why}")
    return lines


def document(rows: Sequence[Row], lives: Sequence[Life], problems: Sequence[Any], *, now: Seconds) -> dict[str, Any]:
    """The same for programs, with every path, line and reason."""
    return {
        "schema": SCHEMA,
        "at": iso(now),
        "caches": [_document(row) for row in in_order(rows, lives)],
        "boots": [{**msgspec.to_builtins(life), "start": _iso(life.start), "ready": _iso(life.ready)} for life in lives],
        "bytes": sum(row.bytes for row in rows),
        "disk": sum(row.disk for row in rows),
        "problems": [msgspec.to_builtins(problem) for problem in problems],
    }


def _document(row: Row) -> dict[str, Any]:
    by: KnownBy = row.origin.by
    return {
        "kind": row.kind, "name": row.key, "path": row.path, "bytes": row.bytes, "disk": row.disk, "files": row.files, "newest": _iso(row.newest),
        "built_by": list(row.origin.built), "known_by": by or None, "read_by": list(row.origin.read),
        "lines": [{"place": place, "text": text} for place, text in row.origin.lines],
        "holds": [{"word": hold.word, "why": hold.why} for hold in row.holds],
    }  # fmt: skip


def _iso(at: Seconds | None) -> str | None:
    return iso(at) if at is not None else None


def planned(plan: Plan, archive: str, *, removing: bool, kept: tuple[int, int]) -> str:
    """What a run would do, and that it did nothing. `kept`: files and bytes that would be kept."""
    lines = []
    if plan.archive:
        total = sum(cache.contents.bytes for cache in plan.archive)
        lines.append(f"would archive {number(len(plan.archive), 'cache')} of {size(total)} to {clean(archive)}: the hash of every file, and "
                     f"{number(kept[0], 'file')} ({size(kept[1])}) whole")  # fmt: skip
    if removing and (plan.archive or plan.listed):
        going = sum(cache.contents.disk for cache in plan.archive) or sum(kept.disk for kept in plan.listed)
        count = len(plan.archive) or len(plan.listed)
        then, already = ("", f", which {clean(archive)} holds already") if plan.resumed else (" then", "")
        lines.append(f"would{then} remove {number(count, 'cache')}{already}: {size(going)} on disk")
    lines += staying(plan)
    lines.append("nothing was done: add --yes to do it" if plan.archive or plan.listed else "there is nothing to do")
    return "\n".join(wrapped(line, columns()) for line in lines)


def staying(plan: Plan) -> list[str]:
    """Why some caches are left alone, one line each."""
    lines = [f"stays: {clean(cache.shown)}: {hold.why}" for cache, hold in plan.stay[:STAY_SHOWN]]
    more = len(plan.stay) - STAY_SHOWN
    return [*lines, f"... and {more} more stay: `triage caches PATH --format json` has every reason"] if more > 0 else lines


def done(archive: str, archived: int, held: int, outcomes: Sequence[Outcome], plan: Plan) -> str:
    """What was done. `archived`: caches in the archive that was written, 0 where it stood already; `held`: its size in bytes."""
    lines = [f"archived {number(archived, 'cache')} to {clean(archive)} ({size(held)}), read back and found whole"] if archived else []
    gone = [outcome for outcome in outcomes if outcome.removed]
    if outcomes:
        lines.append(f"removed {number(len(gone), 'cache')}, {size(sum(outcome.freed for outcome in outcomes))} of disk freed")
    lines += [f"stays: {clean(outcome.kept.path)}: {clean(outcome.why)}" for outcome in outcomes if not outcome.removed][:STAY_SHOWN]
    return "\n".join(wrapped(line, columns()) for line in (*lines, *staying(plan)))
