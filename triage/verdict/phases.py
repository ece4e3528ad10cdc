"""How far a boot had come when an event happened: its phase, and which milestones lay behind it."""

from __future__ import annotations

from triage.model import Boot, Event, Phase

MILESTONES = ("load", "weights", "compile", "kv-cache", "capture", "init-done", "ready")
OPTIONAL = ("compile", "capture")
BANNERLESS = ("log begins", "last words again")  # boundaries of boots whose beginning nobody saw


def milestone(event: Event) -> str:
    """The milestone that `event` marks (`load`, `weights`, ... `ready`), or nothing."""
    if event.kind == "ready":
        return "ready"
    if event.kind != "milestone":
        return ""
    return next((m for m in MILESTONES if event.rule.endswith(f"-{m}")), "")


class Course:
    """The turns of one boot, gathered once: how far it had come is asked for every event that may be a root."""

    def __init__(self, boot: Boot) -> None:
        self._boot = boot
        self._stop = next((e for e in boot.events if e.kind == "stop"), None)
        self._serves = next((e for e in boot.events if e.serves), None)
        self._banner = next((e for e in boot.events if e.kind == "boot"), None)
        self._milestones = [(m, e) for e in boot.events if (m := milestone(e))]

    def reached(self, event: Event) -> frozenset[str]:
        """The milestones that the boot had reached before `event` (by order in the stream, not by clock).

        A boot that came to a later one passed those before it, but for steps that can be switched off: not every platform prints them all.
        """
        seen = {m for m, e in self._milestones if _before(e, event)}
        furthest = max(map(MILESTONES.index, seen), default=0)
        return frozenset(seen.union(MILESTONES[:furthest]).difference(set(OPTIONAL) - seen))

    def phase(self, event: Event) -> Phase:
        """The phase of the boot at `event`; `unknown` where no line of an engine's life was seen."""
        if not self._boot.engine:
            return "unknown"
        if _before(self._stop, event):
            return "shutdown"
        if _before(self._serves, event):
            return "serving"
        marks = [m for m, e in self._milestones if _before(e, event)]
        if marks and marks[-1] == "capture":
            return "capture"
        return "boot" if self._boot.boundary not in BANNERLESS or marks or _before(self._banner, event) else "unknown"


def _before(earlier: Event | None, event: Event) -> bool:
    if earlier is None:
        return False
    if earlier.place.source == event.place.source:
        return earlier.order < event.order
    return bool(earlier.at and event.at and earlier.at.latest <= event.at.earliest)
