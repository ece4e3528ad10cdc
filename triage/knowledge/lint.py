"""Checks rules before they are trusted: schema, samples and near misses, captures, names, rivals, healthy lines, hostile lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from triage.knowledge import adversarial, claims, files, names, samples
from triage.knowledge.configured import configuration_flaws, configuration_samples
from triage.knowledge.flaws import Flaw
from triage.knowledge.load import Knowledge, RuleError, builtin_rules, has_rules, is_whole, load
from triage.knowledge.places import places, shown
from triage.knowledge.table import Rule, RuleTable

HEALTHY = "healthy.txt"


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked, in numbers, and what is wrong. Where files cannot be read, `flaws` are theirs and nothing else was asked.

    `overridden`: what the folder has under an id of the rules below it.
    """

    version: str = ""
    classes: int = 0
    rules: int = 0
    samples: int = 0
    near_misses: int = 0
    healthy: int = 0
    overridden: tuple[str, ...] = ()
    flaws: tuple[Flaw, ...] = ()


def check(folder: Path | None = None, extra: Sequence[Path] = (), healthy: Iterable[tuple[str, str]] = ()) -> Checked:
    """Everything that is wrong with a folder of rules; without one, with our own.

    A whole set of rules is checked by itself, a few are checked as an addition to ours: only they are asked, but with ours around them.
    `extra` are further folders on top, also checked; `healthy` are more lines in which nothing is wrong, each with its place.
    Raises RuleError where there is no such folder.
    """
    base = folder if folder is not None and is_whole(folder) else builtin_rules()
    above = [*extra] if folder is None or folder is base else [*extra, folder]
    asked = [*above] if folder is not None and folder is not base else [base, *above]
    broken = [flaw for one in asked for flaw in files.in_files(one, _below(one, (base, *above)))]
    if any(flaw.check in ("schema", "id", "pattern") for flaw in broken) or not all(map(has_rules, asked)):
        return Checked(flaws=tuple(broken))
    table = RuleTable(load(above, base=base))
    where = places([base, *above])
    mine = set(places(asked))
    lines = [line for one in (base, *above) for line in healthy_lines(one)] + [*healthy]
    flaws = [msgspec.structs.replace(flaw, rule=rule, place=where.get(rule, "")) for rule, flaw in _flaws(table, mine, lines)]
    counted = _counted(table, mine, len(lines), (*broken, *sorted(flaws, key=_by_place)))
    return counted if base in asked else msgspec.structs.replace(counted, overridden=tuple(sorted(mine & set(places([base])))))


def healthy_lines(folder: Path) -> Iterator[tuple[str, str]]:
    """The lines of healthy.txt in a folder of rules, each with `file:line`; blank ones and those that begin with `# ` are left out."""
    file = folder / HEALTHY
    if file.is_file():
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if line.strip() and not line.startswith("# "):
                yield f"{shown(file)}:{number}", line


def rule_flaws(rule: Rule, table: RuleTable) -> list[Flaw]:
    """What is wrong with one rule by itself: its samples, near misses and captures, and its exact pattern on hostile lines.

    Raises RuleError where some rule of the table does not compile.
    """
    return [*samples.with_samples(rule, table), *adversarial.match_flaws(rule)]


def _below(folder: Path, folders: Sequence[Path]) -> Sequence[Path]:
    return folders[: folders.index(folder)]


def _flaws(table: RuleTable, mine: set[str], lines: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Flaw]]:
    """Every flaw of the rules with these ids, with the id it belongs to. Where some do not compile, that is all that is said of rules."""
    rules = [rule for rule in table.rules if rule.id in mine]
    broken = [(rule.id, flaw) for rule in rules for flaw in samples.with_scanner(rule)] if _is_broken(table) else []
    yield from broken
    yield from ((name, flaw) for name, flaw in names.unknown_names(table) if name in mine)
    for fault in table.knowledge.classes.values():
        yield from ((fault.id, flaw) for flaw in names.without_words(fault) if fault.id in mine)
    yield from ((name, flaw) for name, flaw in samples.with_probe_texts(table.knowledge.probes) if name in mine)
    yield from ((name, flaw) for name, flaw in samples.with_common_causes(table.knowledge.common_causes) if name in mine)
    yield from ((name, flaw) for name, flaw in samples.with_redaction(table.knowledge.redaction) if name in mine)
    yield from ((name, flaw) for name, flaw in configuration_flaws(table.knowledge) if name in mine)
    yield from ((name, flaw) for name, flaw in samples.with_instruments(table.knowledge.instruments) if name in mine)
    if broken:
        return
    yield from ((rule.id, flaw) for rule in rules for flaw in rule_flaws(rule, table))
    yield from ((rule.id, flaw) for rule, flaw in claims.between_roots(table, rules))
    yield from ((rule.id, flaw) for rule, flaw in claims.healthy_claims(table, rules, lines))
    yield from ((rule.id, flaw) for rule, flaw in adversarial.scan_flaws(table, rules))


def _is_broken(table: RuleTable) -> bool:
    """Whether the scanner cannot be made for all rules together."""
    try:
        table.scanner.scan(b"")
    except RuleError:
        return True
    return False


def _by_place(flaw: Flaw) -> tuple[str, int]:
    file, _, line = flaw.place.rpartition(":")
    return file, int(line) if line.isdigit() else 0


def _counted(table: RuleTable, mine: set[str], healthy: int, flaws: tuple[Flaw, ...]) -> Checked:
    known: Knowledge = table.knowledge
    definitions = [rule.definition for rule in table.rules if rule.id in mine]
    texts = [text for text in known.probes.texts if f"probe text {text.id}" in mine]
    causes = [cause for cause in known.common_causes.causes if f"common cause {cause.id}" in mine]
    redaction = [rule for rule in known.redaction.rules if f"redaction {rule.id}" in mine]
    watchers = [one for one in known.instruments.instruments if f"instrument {one.id}" in mine]
    every = (*definitions, *texts, *causes, *redaction, *watchers)
    configured, shown, near = configuration_samples(known, mine)
    return Checked(
        version=known.version,
        classes=sum(name in mine for name in known.classes),
        rules=len(every) + configured,
        samples=sum(len(one.samples) for one in every) + shown,
        near_misses=sum(len(one.near_misses) for one in every) + near,
        healthy=healthy,
        flaws=flaws,
    )
