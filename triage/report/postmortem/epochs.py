"""Configuration epochs: boots of one engine in a row that booted with the same settings, and what changed between one epoch and the next."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from triage.model import Boot, Seconds, Verdict
from triage.report import words
from triage.report.postmortem.parts import Epoch
from triage.report.postmortem.say import Say

CHANGES_SHOWN = 12
_LONG = ("args", "config")  # whole settings in one text: compared piece by piece
_PIECE = re.compile(r"""['"]?([\w.-]+)['"]?\s*[=:]\s*('[^']*'|"[^"]*"|\[[^\]]*\]|\{[^}]*\}|[^,\s})]+)""")


def epochs(boots: Sequence[Boot], verdicts: Sequence[Verdict], until: Seconds, say: Say) -> list[Epoch]:
    """The epochs of every engine in order of time. A boot whose settings the log does not show begins none and is in one of its own kind."""
    made = []
    for engine, lives in sorted(_by_engine(boots).items()):
        runs = list(_runs(lives))
        for number, run in enumerate(runs):
            before = next((earlier[-1] for earlier in reversed(runs[:number]) if earlier[-1].config), None)
            end = _start(runs[number + 1][0]) if number + 1 < len(runs) else until
            made.append(_epoch(engine, run, before, end, verdicts, say))
    made.sort(key=lambda epoch: (epoch.start, epoch.engine))
    return [_named(epoch, number) for number, epoch in enumerate(made, 1)]


def _by_engine(boots: Sequence[Boot]) -> dict[str, list[Boot]]:
    found: dict[str, list[Boot]] = defaultdict(list)
    for boot in boots:
        if boot.start is not None:
            found[" ".join(p for p in (boot.source, boot.stream, boot.host) if p)].append(boot)
    return {engine: sorted(lives, key=_start) for engine, lives in found.items()}


def _start(boot: Boot) -> Seconds:
    return boot.start.earliest if boot.start else 0.0


def _runs(lives: Sequence[Boot]) -> Iterator[list[Boot]]:
    run: list[Boot] = []
    for boot in lives:
        if run and _settings(boot) != _settings(run[-1]):
            yield run
            run = []
        run.append(boot)
    if run:
        yield run


def _settings(boot: Boot) -> dict[str, str]:
    """What the boot was started with, one entry a setting. Empty where its log does not show it."""
    if not boot.config:
        return {}
    found = {key: value for key, value in boot.config.items() if key not in _LONG}
    for name in _LONG:
        found.update({f"{name}.{key}": value for key, value in _PIECE.findall(boot.config.get(name, ""))})
    return found | ({"engine version": boot.version} if boot.version else {})


def _epoch(engine: str, run: Sequence[Boot], before: Boot | None, end: Seconds, verdicts: Sequence[Verdict], say: Say) -> Epoch:
    start, ids = _start(run[0]), {boot.id for boot in run}
    struck = sum(v.fault and v.incident.boot is not None and v.incident.boot.id in ids for v in verdicts)
    changes = _changes(_settings(before), _settings(run[0]), say) if before is not None and run[0].config else ()
    return Epoch(
        name="", engine=say(engine, 80), start=start, end=max(end, start), boots=len(run), incidents=struck,
        observed=bool(run[0].config), when=words.minute(start), changes=_shown(changes),
    )  # fmt: skip


def _changes(old: dict[str, str], new: dict[str, str], say: Say) -> tuple[str, ...]:
    keys = dict.fromkeys((*old, *new))
    told = {key.partition(".")[2] if key.startswith(_LONG) else key: key for key in reversed(list(keys)) if old.get(key) != new.get(key)}
    each = [(short, old.get(key), new.get(key)) for short, key in reversed(list(told.items()))]
    return tuple(f"{say(name, 60)}: {_told(name, before, say)} → {_told(name, after, say)}" for name, before, after in each)


def _told(name: str, value: str | None, say: Say) -> str:
    return words.clean(say.setting(name, value), 120)


def _shown(changes: Sequence[str]) -> tuple[str, ...]:
    more = len(changes) - CHANGES_SHOWN
    return (*changes[:CHANGES_SHOWN], *((f"and {more} more",) if more > 0 else ()))


def _named(epoch: Epoch, number: int) -> Epoch:
    return Epoch(**{field: getattr(epoch, field) for field in epoch.__struct_fields__} | {"name": f"E{number}"})
