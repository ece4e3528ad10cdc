"""All rules as one value, and how the rules of one folder are laid over those of another."""

# Annotations are no texts here (`from __future__ import annotations`): msgspec would have to evaluate each of them in every run.

from collections.abc import Collection, Iterable
from typing import Protocol, TypeVar

import msgspec

from triage.knowledge.caches import CacheKinds
from triage.knowledge.configuration import EngineFlags, Gates, Mechanisms
from triage.knowledge.redaction import Kept, Redaction
from triage.knowledge.schema import CommonCauses, EngineLines, FaultClass, Forks, Instruments, Probes, Signature, Troubles, UserText, Xids


class Knowledge(msgspec.Struct, frozen=True, kw_only=True):
    """All that rules/ says. `version` is a digest of the files' contents: twelve hex digits.

    `widened`: the scanner's pattern of each pattern that has none of its own, found out once for all runs.
    `needed`: texts of which one stands in every line where the words of a user begin in such a way (`user_words.needed_texts`).
    """

    version: str
    classes: dict[str, FaultClass]
    echoes: tuple[Signature, ...] = ()
    engines: dict[str, EngineLines] = {}
    forks: Forks = Forks()
    xids: Xids = Xids()
    probes: Probes = Probes()
    user_text: UserText = UserText()
    trouble: Troubles = Troubles()
    common_causes: CommonCauses = CommonCauses()
    redaction: Redaction = Redaction()
    caches: CacheKinds = CacheKinds()
    flags: dict[str, EngineFlags] = {}
    gates: dict[str, Gates] = {}
    mechanisms: dict[str, Mechanisms] = {}
    widened: dict[str, str] = {}
    needed: dict[str, tuple[str, ...]] = {}
    instruments: Instruments = Instruments()

    def class_of(self, signature: str) -> FaultClass | None:
        """The class whose file holds the signature with this id, if any."""
        return next((c for c in self.classes.values() if any(s.id == signature for s in c.signatures)), None)


class _Named(Protocol):
    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=_Named)


def overlaid(old: Knowledge, new: Knowledge) -> Knowledge:
    """Both: what `new` says under an id (or Xid number) of `old` stands instead of it, wherever it stood; the rest is added.

    Of probe texts the new ones are tried first, since the first that matches decides.
    """
    moved = _rule_ids(new)
    fresh = [text for text in new.probes.texts if text.id not in {known.id for known in old.probes.texts}]
    xids = {xid.number: xid for xid in (*old.xids.xids, *new.xids.xids)}
    return Knowledge(
        version=new.version,
        classes=_classes(old, new, moved),
        echoes=_merged(old.echoes, new.echoes, moved),
        engines=_engines(old, new, moved),
        forks=Forks(_merged(old.forks.forks, new.forks.forks)),
        xids=Xids(tuple(xids.values())),
        probes=Probes((*fresh, *_merged(old.probes.texts, [text for text in new.probes.texts if text not in fresh]))),
        user_text=UserText(tuple(dict.fromkeys((*old.user_text.begins, *new.user_text.begins)))),
        trouble=Troubles(_merged(old.trouble.lines, new.trouble.lines, moved)),
        common_causes=CommonCauses(_merged(old.common_causes.causes, new.common_causes.causes)),
        redaction=with_more(old.redaction, new.redaction),
        caches=CacheKinds(_merged(old.caches.kinds, new.caches.kinds)),
        flags=_flags(old, new),
        gates=_gates(old, new),
        mechanisms=_mechanisms(old, new),
        instruments=Instruments(_merged(old.instruments.instruments, new.instruments.instruments)),
    )


def with_more(old: Redaction, new: Redaction) -> Redaction:
    """Both: rules of an id that `old` has stand instead of its own, all that either keeps is kept."""
    both = {key: (*getattr(old.keep, key), *getattr(new.keep, key)) for key in Kept.__struct_fields__}
    keep = Kept(**both)
    return Redaction(_merged(old.takes, new.takes), _merged(old.names, new.names), keep)


def _rule_ids(knowledge: Knowledge) -> set[str]:
    """The ids of all rules that are looked for in lines."""
    signatures = (s for c in knowledge.classes.values() for s in c.signatures)
    lines = (line for engine in knowledge.engines.values() for line in engine.lines)
    return {rule.id for rules in (signatures, knowledge.echoes, lines, knowledge.trouble.lines) for rule in rules}


def _classes(old: Knowledge, new: Knowledge, moved: Collection[str]) -> dict[str, FaultClass]:
    merged = {}
    for name in {**old.classes, **new.classes}:
        before, after = old.classes.get(name), new.classes.get(name)
        signatures = _merged(before.signatures if before else (), after.signatures if after else (), moved)
        merged[name] = msgspec.structs.replace(after or old.classes[name], signatures=signatures)
    return merged


def _engines(old: Knowledge, new: Knowledge, moved: Collection[str]) -> dict[str, EngineLines]:
    merged = {}
    for name in {**old.engines, **new.engines}:
        before, after = old.engines.get(name, EngineLines(engine=name)), new.engines.get(name, EngineLines(engine=name))
        lines = _merged(before.lines, after.lines, moved)
        merged[name] = EngineLines(engine=name, defaults={**before.defaults, **after.defaults}, lines=lines)
    return merged


def _flags(old: Knowledge, new: Knowledge) -> dict[str, EngineFlags]:
    merged = {**old.flags, **new.flags}
    for name in old.flags.keys() & new.flags.keys():
        fresh = {flag.name: flag for flag in (*old.flags[name].flags, *new.flags[name].flags)}
        merged[name] = msgspec.structs.replace(new.flags[name], flags=tuple(fresh.values()))
    return merged


def _gates(old: Knowledge, new: Knowledge) -> dict[str, Gates]:
    none = Gates(engine="")
    names = {**old.gates, **new.gates}
    before, after = ({name: known.get(name, none).gates for name in names} for known in (old.gates, new.gates))
    return {name: Gates(engine=name, gates=_merged(before[name], after[name])) for name in names}


def _mechanisms(old: Knowledge, new: Knowledge) -> dict[str, Mechanisms]:
    none = Mechanisms(engine="")
    names = {**old.mechanisms, **new.mechanisms}
    before, after = ({name: known.get(name, none).mechanisms for name in names} for known in (old.mechanisms, new.mechanisms))
    return {name: Mechanisms(engine=name, mechanisms=_merged(before[name], after[name])) for name in names}


def _merged(old: Iterable[N], new: Iterable[N], moved: Collection[str] = ()) -> tuple[N, ...]:
    """The old ones, those of an id that `new` has too replaced where they stand, without those that moved elsewhere; then the rest of `new`."""
    named = {one.id: one for one in new}
    kept = [named.pop(one.id, one) for one in old if one.id in named or one.id not in moved]
    return (*kept, *named.values())
