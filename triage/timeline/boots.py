"""Cuts the events of one stream into boots: one life of an engine each, by the strongest boundary there is.

Strength order: a structural mark (journald invocation, container file number), then the first banner after an end or after
READY, then a pid that changed under the same process name, then last words that a process has said before, or another one of its
name: a log of errors alone has no banners. A gap in time alone never cuts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from triage.expressions import compiled_later
from triage.model import Boot, Event, Seconds

ENDS = ("stop", "death", "exit")
DIES_FOR: Seconds = 30.0  # the same last words within that time are those of one death; no engine boots faster
SAME_SHARE = 0.9  # two engines that start in one second share their banner, not nine tenths of all they say
LATE_BANNERS = ("torch/boot-uvicorn",)  # one for each server process, beside each other in one log: a new life only after an end
_ASSIGNED = compiled_later(r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=| set by environment to | is set to )('[^']*'|\"[^\"]*\"|\S*)")
_CLOCK = compiled_later(r"\d\d:\d\d:\d\d")
_CONTAINER_FILE = compiled_later(r"(?:^|/)(\d+)\.log(?:\.|$)")


class _Life:
    """The events gathered so far for the boot that is open."""

    def __init__(self, boundary: str) -> None:
        self.boundary = boundary
        self.events: list[Event] = []
        self.kinds: set[str] = set()
        self.pids: dict[str, int] = {}
        self.opening = ""
        self.grown = False
        self.serves = False
        self.last_words: dict[tuple[str, str, int | None], Seconds] = {}
        self.dead: dict[tuple[str, str, int | None], int | None] = {}  # the pid that said them

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.kinds.add(event.kind)
        self.grown |= event.kind == "milestone"
        self.serves = self.serves or event.serves
        if event.at and "last" in event.data:
            self.last_words.setdefault(_speaker(event), event.at.latest)
            self.dead.setdefault(_speaker(event), event.pid)
        if event.kind == "boot":
            self.opening = self.opening or event.rule
            if event.pid is not None:
                self.pids[event.process] = event.pid

    def boundary_before(self, event: Event) -> str:
        """Why `event` belongs to a new boot, or nothing where it does not."""
        last = self.events[-1]
        if _differ(event.data.get("invocation", ""), last.data.get("invocation", "")):
            return "invocation id"
        if event.place.file != last.place.file and _differ(_container_number(event), _container_number(last)):
            return "container file"
        if event.kind == "boot":
            return self._banner_boundary(event)
        return "last words again" if self._died_before(event) else ""

    def _died_before(self, event: Event) -> bool:
        said = self.last_words.get(_speaker(event)) if event.at and "last" in event.data else None
        if said is None or event.at is None:
            return False
        pid = self.dead[_speaker(event)]
        return event.at.earliest > said + DIES_FOR or (None not in (pid, event.pid) and pid != event.pid)

    def _banner_boundary(self, event: Event) -> str:
        if self.kinds.intersection(ENDS) or (event.rule not in LATE_BANNERS and self.serves):
            return "banner"
        if event.pid is not None and self.pids.get(event.process, event.pid) != event.pid:
            return "pid change"
        if event.rule == self.opening and self.grown:
            return "banner again"
        return ""

    def released(self, following: Event) -> list[Event]:
        """Take back the last lines that belong to the life which `following` begins, or whose last words it is."""
        if "last" in following.data and self._died_before(following):
            count = self._rebegun(following)
        else:
            count = self._before_echoes() if self.kinds.intersection(ENDS) else len(self.events)
        taken, self.events = self.events[count:], self.events[:count]
        return taken

    def _before_echoes(self) -> int:
        """How many events come before the config lines at the end: an entrypoint echoes them before the next banner."""
        count = len(self.events)
        while count and self.events[count - 1].kind == "config":
            count -= 1
        return count

    def _rebegun(self, again: Event) -> int:
        """How many events come before the longest silence between the first last words and the second: in it one life ended."""
        last = said = self.last_words[_speaker(again)]
        silences = []
        for index, event in enumerate((*self.events, again)):
            if event.at and (event.at.earliest >= said or event is again):
                silences.append((event.at.earliest - last, index))
                last = event.at.earliest
        return max(silences)[1]


def _speaker(event: Event) -> tuple[str, str, int | None]:
    return event.rule, event.process, event.rank


def _differ(one: str, other: str) -> bool:
    """Whether both are told and are not the same: where one way to a log tells it and another does not, that says nothing."""
    return bool(one and other and one != other)


def _container_number(event: Event) -> str:
    found = _CONTAINER_FILE.search(event.place.file)
    return found[1] if found else ""


def boots(events: Iterable[Event]) -> list[Boot]:
    """The boots of all streams; events come in the order of their places within each stream."""
    ordered = sorted(events, key=lambda e: (e.place.source, e.stream))
    streams = (_once(stream) for _, stream in groupby(ordered, key=lambda e: (e.place.source, e.stream)))
    return _told_apart(_without_copies([boot for stream in streams for boot in _cut(stream)]))


def _once(events: Iterable[Event]) -> list[Event]:
    """A stream's events without those that say the same of the same moment again: logs gathered in overlapping pieces repeat themselves."""
    seen: set[tuple[str, Seconds, str]] = set()
    kept = []
    for event in events:
        key = (event.rule, event.at.earliest, event.text) if event.at and event.kind != "end" else None
        if key is None or key not in seen:
            kept.append(event)
        if key is not None:
            seen.add(key)
    return kept


def _without_copies(boots: Sequence[Boot]) -> list[Boot]:
    """The boots without those that another source tells too: a copy, or a backup of some of the rotations."""
    same: dict[str, list[Boot]] = {}
    for boot in boots:
        same.setdefault(boot.id, []).append(boot)
    copies = {id(boot) for group in same.values() if len(group) > 1 for boot in _copies(group)}
    return [boot for boot in boots if id(boot) not in copies]


def _copies(group: Sequence[Boot]) -> list[Boot]:
    """Of boots that began with the same line, those that say (almost) nothing that a fuller one from another source does not say."""
    fullest = sorted(group, key=lambda b: -len(b.events))
    kept: list[tuple[Boot, set[tuple[str, str, str]]]] = []
    copies = []
    for boot in fullest:
        says = {_said(event) for event in boot.events if event.kind != "end"}
        others = [(other, told) for other, told in kept if other.source != boot.source and not _differ(other.host, boot.host)]
        if any(len(says & told) >= SAME_SHARE * len(says) for _, told in others):
            copies.append(boot)
        else:
            kept.append((boot, says))
    return copies


def _said(event: Event) -> tuple[str, str, str]:
    return event.rule, _own_time(event), event.text


def _cut(events: Sequence[Event]) -> list[Boot]:
    lives: list[_Life] = []
    for event in events:
        boundary = lives[-1].boundary_before(event) if lives else ("banner" if event.kind == "boot" else "log begins")
        if boundary:
            life = _Life(boundary)
            for early in lives[-1].released(event) if lives else ():
                life.add(early)
            lives.append(life)
        lives[-1].add(event)
    if lives and lives[0].kinds == {"end"}:
        del lives[0]  # a log in which nothing was understood, or only its end: no life shows in it
    return [_boot(life, following) for life, following in zip(lives, [*lives, None][1:], strict=True) if life.events]


def _boot(life: _Life, following: _Life | None) -> Boot:
    first = life.events[0]
    end = next((e for e in life.events if e.kind in ENDS), None)
    engine = _engine(life.events)
    return Boot(
        id=_boot_id(min(life.events, key=_says_which)),
        source=first.place.source,
        stream=first.stream,
        engine=engine,
        version=next((e.data["version"] for e in life.events if e.kind == "boot" and "version" in e.data), ""),
        host=next((e.host for e in life.events if e.host), ""),
        start=next((e.at for e in life.events if e.kind == "boot" and e.at), None),
        ready=next((e.at for e in life.events if e.kind == "ready" and e.at), None),
        end=end.at if end else None,
        ended_by=_ended_by(end, following),
        boundary=life.boundary,
        config=_config(life.events),
        events=tuple(life.events),
    )


def _says_which(event: Event) -> int:
    """What a boot is known by, best first: its banner; where that is cut off, the first line that every reading of the log shows."""
    return 0 if event.kind == "boot" else 2 if event.kind in ("progress", "stall", "end") else 1


def _boot_id(event: Event) -> str:
    """Eight hex digits by what the line says, so that every way to the same line (docker, journald, a copy) gives the same.

    The outer stamp counts only where the text has none of its own: two ways stamp a line some milliseconds apart.
    """
    return _digest(event.rule, _own_time(event), event.text[:400])


def _own_time(event: Event) -> str:
    """The second of an event whose text does not tell it."""
    return f"{event.at.earliest:.0f}" if event.at and not _CLOCK.search(event.text) else ""


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


def _told_apart(boots: Iterable[Boot]) -> list[Boot]:
    """The boots, those that began with the very same line (two replicas in one second, a log without stamps) with ids of their own."""
    seen: dict[str, int] = {}
    made = []
    for boot in boots:
        count = seen[boot.id] = seen.get(boot.id, 0) + 1
        made.append(boot if count == 1 else msgspec.structs.replace(boot, id=_digest(boot.id, str(count))))
    return made


def _engine(events: Sequence[Event]) -> str:
    names = [e.rule.split("/")[0] for e in events if e.kind not in ("signature", "end") and not e.rule.startswith("torch/")]
    return names[0] if names else ""


def _ended_by(end: Event | None, following: _Life | None) -> str:
    if end is not None:
        return f"{end.kind}: {end.rule}"
    return f"next boot ({following.boundary})" if following else "log ends"


def _config(events: Sequence[Event]) -> dict[str, str]:
    merged: dict[str, str] = {}
    for event in events:
        if event.kind in ("config", "boot"):
            merged.update({key: value for key, value in event.data.items() if key not in ("invocation", "env")})
            if "env" in event.data:
                merged.update(assignments(event.text))
    return merged


def assignments(text: str) -> dict[str, str]:
    """The environment variables that a line sets, or that it says are set.

    >>> assignments("+ export NCCL_DEBUG=INFO VLLM_USE_V1='1'")
    {'NCCL_DEBUG': 'INFO', 'VLLM_USE_V1': '1'}
    """
    return {name: value.strip("'\"").rstrip(".,") for name, value in _ASSIGNED.findall(text)}
