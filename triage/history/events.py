"""Merges the events of one window of a log into the store: each line once, in the order of the log, under one source whatever its ways."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from triage.history.matching import ENOUGH, Match, Stored, matches
from triage.history.rows import COLUMNS, INSERT, row_of
from triage.history.thinning import thin
from triage.model import Event, Instant, Seconds

AT = COLUMNS.index("sorted_at")


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """What one run read of one log: its name (absolute, or as given with --source), how people call it, its files' first bytes."""

    name: str
    shown: str
    kind: str
    events: tuple[Event, ...]
    heads: tuple[bytes, ...] = ()  # the first 4096 decompressed bytes of each file, all of a shorter one


class Merged(msgspec.Struct, frozen=True):
    """What came of it: the sources that the window's streams belong to, how many events were new, and the earliest time that changed."""

    sources: tuple[int, ...] = ()
    added: int = 0
    earliest: Seconds | None = None


class EventMerger:
    """Merges windows into one store. `harmless`: how many lines of each rule that tells of no fault are kept of one life, by the rule's id."""

    def __init__(self, db: sqlite3.Connection, harmless: Mapping[str, int]) -> None:
        self.db = db
        self.harmless = harmless

    def merge(self, window: Window) -> Merged:
        """Merge one window, stream by stream."""
        def key(event: Event) -> tuple[str, bool]:
            return event.stream, event.origin == "kernel"

        parts = [self._merge_stream(window, list(events)) for _, events in groupby(sorted(window.events, key=key), key=key)]
        times = [part.earliest for part in parts if part.earliest is not None]
        return Merged(tuple(s for part in parts for s in part.sources), sum(part.added for part in parts), min(times, default=None))

    def _merge_stream(self, window: Window, events: list[Event]) -> Merged:
        end = next((e for e in events if e.kind == "end"), None)
        lines = [e for e in events if e.kind != "end"]
        kernel = events[0].origin == "kernel"
        found = matches(self.db, lines, self._is_kept, kernel=kernel)
        source, is_new = self._source(window, events, found, kernel)
        match = self._united(source, lines, found, kernel)
        pairs = {**match.pairs, **self._without_time(source, window, lines)}
        segment, shifts = self._aligned(source, lines, pairs)
        changed = self._sharpened(lines, pairs)
        keeps_all = is_new or all(e.at is None for e in lines)  # else a line above the first stamp was seen with its time by an earlier window
        fresh = [i for i, e in enumerate(lines) if i not in pairs and (keeps_all or e.at)]
        times = _times(lines)
        added = self._added(source, [row_of(lines[i], source, segment, lines[i].order + shifts[i], times[i]) for i in fresh])
        moved = self._move_end(source, end, segment, shifts[-1] if shifts else None, times)
        return Merged((source,), len(added), min([*added, *changed, *moved], default=None))

    def _source(self, window: Window, events: Sequence[Event], found: dict[int, Match], kernel: bool) -> tuple[int, bool]:
        """The source that a stream belongs to: by its lines, else by its files, else by its name; a new one where none of these knows it."""
        stream, host = events[0].stream, next((e.host for e in events if e.host), "")
        fits = [(match.telling, source) for source, match in found.items() if match.is_same_log and not self._is_elsewhere(source, host)]
        if fits:
            return max(fits, key=lambda fit: (fit[0], -fit[1]))[1], False
        for name in [window.name, *self._known_files(window)]:
            for number, known in self.db.execute(
                "SELECT id, stream FROM sources WHERE name = ? AND (kind = 'kernel') = ? ORDER BY stream <> ?, id", (name, kernel, stream)
            ).fetchall():
                match = found.get(number)
                if known != stream and not ("" in (known, stream) and match and len(match.pairs) >= ENOUGH * len(events)):
                    continue  # one way to a log names its unit, another does not: in quiet times its periodic lines tell that it is the same
                if not (match and match.is_other_log) and not self._is_elsewhere(number, host):
                    return number, False
        kind = "kernel" if kernel else window.kind
        made = self.db.execute(
            "INSERT INTO sources (name, shown, stream, host, kind) VALUES (?, ?, ?, ?, ?)", (window.name, window.shown, stream, host, kind)
        )
        return made.lastrowid or 0, True

    def _is_elsewhere(self, source: int, host: str) -> bool:
        known = self.db.execute("SELECT host FROM sources WHERE id = ?", (source,)).fetchone()
        if known and not known[0] and host:
            self.db.execute("UPDATE sources SET host = ? WHERE id = ?", (host, source))
        return bool(known and known[0] and host and known[0] != host)

    def _known_files(self, window: Window) -> list[str]:
        """The names under which the files were read before. A short file is known again by what it began with when it was shorter."""
        lengths = [row[0] for row in self.db.execute("SELECT DISTINCT length FROM files")]
        names = {}
        for head in window.heads:
            for length in lengths:
                row = self.db.execute("SELECT name FROM files WHERE identity = ? AND length = ?", (_digest(head[:length]), length)).fetchone()
                if row and len(head) >= length:
                    names[row[0]] = True
            if head:
                row = (_digest(head), len(head), window.name)
                self.db.execute("INSERT OR IGNORE INTO files VALUES (?, ?, ?)", row)
        return list(names)

    def _united(self, source: int, lines: Sequence[Event], found: dict[int, Match], kernel: bool) -> Match:
        """The match with the source, after every other source that turns out to be the same log has become part of it."""
        others = [s for s, match in found.items() if s != source and match.is_same_log and not self._is_elsewhere(source, self._host(s))]
        for other in others:
            self._unite(source, other)
        if others:
            found = matches(self.db, lines, self._is_kept, kernel=kernel)
        return found.get(source) or Match({}, 0, 0)

    def _host(self, source: int) -> str:
        return str(self.db.execute("SELECT host FROM sources WHERE id = ?", (source,)).fetchone()[0])

    def _unite(self, source: int, other: int) -> None:
        """Move the events of `other` that `source` has not to it: they are two ways to one log."""
        first = self._next_segment(source)
        twins = "EXISTS (SELECT 1 FROM events o WHERE o.source = ? AND o.rule = e.rule AND o.text = e.text AND abs(o.sorted_at - e.sorted_at) <= 2)"
        self.db.execute(f"DELETE FROM events AS e WHERE e.source = ? AND {twins}", (other, source))
        self.db.execute("UPDATE events SET source = ?, segment = segment + ? WHERE source = ?", (source, first, other))
        self.db.execute("DELETE FROM boots WHERE source = ?", (other,))
        self.db.execute("DELETE FROM sources WHERE id = ?", (other,))

    def _next_segment(self, source: int) -> int:
        return int(self.db.execute("SELECT coalesce(max(segment), 0) + 1 FROM events WHERE source = ?", (source,)).fetchone()[0])

    def _without_time(self, source: int, window: Window, lines: Sequence[Event]) -> dict[int, Stored]:
        """Pairs for lines without any stamp: the same words at the same offset of the file, or, on stdin, the same words."""
        indexes = [i for i, e in enumerate(lines) if e.at is None]
        if not indexes:
            return {}
        known: dict[tuple[Any, ...], list[Stored]] = defaultdict(list)
        by_offset = bool(window.heads)
        for rule, text, offset, *rest in self.db.execute(
            "SELECT rule, text, offset, id, source, segment, position, at_low, at_high, length(frames), how FROM events"
            " WHERE source = ? AND at_low IS NULL", (source,),
        ):  # fmt: skip
            known[(rule, text, offset) if by_offset else (rule, text)].append(Stored(*rest))
        pairs = {}
        for i in indexes:
            event = lines[i]
            stored = known.get((event.rule, event.text, event.place.offset) if by_offset else (event.rule, event.text))
            if stored:
                pairs[i] = stored[0]
        return pairs

    def _aligned(self, source: int, lines: Sequence[Event], pairs: dict[int, Stored]) -> tuple[int, list[int]]:
        """The segment of the log that the window belongs to, and for each line what turns its order into a position there.

        Windows that share lines are one segment; where a window bridges several of them, they become one.
        """
        if not pairs:
            return self._next_segment(source), [0] * len(lines)
        first = min(pairs)
        segment, shift = pairs[first].segment, pairs[first].position - lines[first].order
        moved = {segment: 0}
        for i, stored in sorted(pairs.items()):
            if stored.segment not in moved:
                moved[stored.segment] = shift - (stored.position - lines[i].order)
                self.db.execute(
                    "UPDATE events SET segment = ?, position = position + ? WHERE source = ? AND segment = ?",
                    (segment, moved[stored.segment], source, stored.segment),
                )
        shifts = []
        for i, event in enumerate(lines):
            if i in pairs:
                shift = pairs[i].position + moved[pairs[i].segment] - event.order
            shifts.append(shift)
        return segment, shifts

    def _sharpened(self, lines: Sequence[Event], pairs: dict[int, Stored]) -> list[Seconds]:
        """Keep what the new window shows better of a stored line: more of its traceback, or a stamp of its own. The times that changed."""
        changed = []
        for i, stored in pairs.items():
            event = lines[i]
            frames = msgspec.json.encode(event.frames).decode()
            if len(frames) > stored.frames:
                self.db.execute("UPDATE events SET frames = ?, follows = ? WHERE id = ?", (frames, event.follows, stored.id))
                changed.append(stored.low or 0.0)
            if event.at and _is_sharper(event.at, stored):
                values = (event.at.earliest, event.at.latest, event.at.how, event.at.earliest, stored.id)
                self.db.execute("UPDATE events SET at_low = ?, at_high = ?, how = ?, sorted_at = ? WHERE id = ?", values)
                changed.append(min(event.at.earliest, stored.low or event.at.earliest))
        return changed

    def _is_kept(self, event: Event) -> bool:
        return event.rule not in self.harmless

    def _added(self, source: int, rows: Sequence[tuple[Any, ...]]) -> list[Seconds]:
        """Insert rows, and take out what is too much of one rule; the times of those that stay."""
        if not rows:
            return []
        last = self.db.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        self.db.executemany(INSERT, rows)
        times = [row[AT] for row in rows]
        thin(self.db, source, min(times), max(times), self.harmless)
        return [at for (at,) in self.db.execute("SELECT sorted_at FROM events WHERE source = ? AND id > ?", (source, last))]

    def _move_end(self, source: int, end: Event | None, segment: int, shift: int | None, times: Sequence[Seconds]) -> list[Seconds]:
        """Remember where the log ends now, where the window shows how far that is from its last event; the time from which that counts."""
        if end is None or shift is None:
            return []
        known = self.db.execute("SELECT end_segment, end_position, end_at FROM sources WHERE id = ?", (source,)).fetchone()
        position, last = end.order + shift, max(times)
        if known[0] is not None and (known[2], known[1]) >= (last, position) and known[0] == segment:
            return []
        if known[2] is not None and known[2] > last:
            return []
        self.db.execute(
            "UPDATE sources SET end_at = ?, end_file = ?, end_offset = ?, end_segment = ?, end_position = ? WHERE id = ?",
            (last, end.place.file, end.place.offset, segment, position, source),
        )
        return [last]


def _is_sharper(at: Instant, stored: Stored) -> bool:
    """Whether an instant tells more than the stored one: a stamp of the line's own, or one with fractions of a second."""
    if "carried" in (at.how, stored.how) or stored.low is None or stored.high is None:
        return stored.how == "carried" != at.how
    return at.latest - at.earliest < stored.high - stored.low


def _digest(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]


def _times(lines: Sequence[Event]) -> list[Seconds]:
    """For each line its own time, else that of the nearest line above that has one, else of the nearest below."""
    first = next((e.at.earliest for e in lines if e.at), 0.0)
    times = []
    for event in lines:
        first = event.at.earliest if event.at else first
        times.append(first)
    return times
