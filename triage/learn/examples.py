"""Labelled incidents: what each shows, its class, when and on which host it was, and which of them are one episode."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from triage.knowledge.load import Knowledge, builtin_rules
from triage.learn.features import Traits, lead, mask_of, traits
from triage.model import UNCLASSIFIED, Seconds, Verdict
from triage.parsers.tags import tag

EPISODE: Seconds = 3600.0  # incidents of one host that are no further apart are one episode: a crash loop teaches once
BACKGROUND = UNCLASSIFIED  # the label of lines that say nothing of what happened


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """One incident to learn from or to be asked about. `at` in seconds since the epoch, 0 where nothing has a time."""

    id: str
    label: str
    lines: tuple[str, ...]
    facts: tuple[str, ...] = ()
    host: str = ""
    boot: str = ""
    at: Seconds = 0.0
    judged: str = ""  # the class that the rules gave it
    person: bool = False  # a person gave the label


def example(verdict: Verdict, label: str, *, judged: str = "", person: bool = False, host: str = "") -> Example:
    """A verdict as an example of the class `label`."""
    of = verdict.incident
    seen = of.onset or of.dead or (of.outage.began if of.outage else None) or (of.boot.start if of.boot else None)
    shown: Traits = traits(verdict)
    return Example(
        id=of.id, label=label, lines=shown.lines, facts=shown.facts, host=host or of.host or of.source, boot=of.boot.id if of.boot else "",
        at=seen.earliest if seen else 0.0, judged=judged or verdict.fault_class, person=person,
    )  # fmt: skip


def background(known: Knowledge) -> list[Example]:
    """Lines of which the rules know that they name nothing: echoes, healthy lines, and samples of what only looks like trouble."""
    healthy = (builtin_rules() / "healthy.txt").read_text(encoding="utf-8").splitlines()
    echoes = [sample for signature in known.echoes for sample in signature.samples]
    lives = [s for engine in known.engines.values() for line in engine.lines if line.kind in ("death", "exit", "recorder") for s in line.samples]
    trouble = [sample for line in known.trouble.lines for sample in line.samples]
    said = [*echoes, *lives, *trouble, *(line for line in healthy if line and not line.startswith("# "))]
    masks = dict.fromkeys(mask_of(tag(text).message) for text in said)
    return [Example(id=f"background {number}", label=BACKGROUND, lines=(mask,)) for number, mask in enumerate(masks) if mask]


def episodes(examples: Sequence[Example]) -> list[int]:
    """For each example the number of its episode: of one boot, or of one host with less than an hour between one and the next."""
    order = sorted(range(len(examples)), key=lambda i: (examples[i].host, examples[i].at))
    numbers, current = [0] * len(examples), -1
    before: Example | None = None
    for i in order:
        if before is None or not _one_episode(before, examples[i]):
            current += 1
        numbers[i], before = current, examples[i]
    return numbers


def _one_episode(one: Example, other: Example) -> bool:
    return one.host == other.host and (abs(other.at - one.at) <= EPISODE or (one.boot != "" and one.boot == other.boot))


def support(examples: Iterable[Example]) -> dict[str, tuple[int, int]]:
    """Of each class how many incidents there are, and how many episodes they make."""
    listed = list(examples)
    numbers = episodes(listed)
    out: dict[str, tuple[int, int]] = {}
    for name in sorted({e.label for e in listed}):
        own = [number for number, e in zip(numbers, listed, strict=True) if e.label == name]
        out[name] = (len(own), len(set(own)))
    return out


__all__ = ["BACKGROUND", "Example", "background", "episodes", "example", "lead", "support"]
