"""Holds a rule against its own samples and near misses, both by its exact pattern and by what the one-pass scanner looks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.flaws import Flaw, quoted
from triage.knowledge.load import RuleError
from triage.knowledge.redaction import Redaction
from triage.knowledge.scanner import Scanner
from triage.knowledge.schema import CommonCauses, Instrument, Instruments, Probes, ProbeText
from triage.knowledge.table import Rule, RuleTable

ENVELOPE = "2026-11-01T09:43:00.123456789Z stderr F {}\n"


def with_scanner(rule: Rule) -> Iterator[Flaw]:
    """Whether the scanner can be made to look for this rule."""
    try:
        Scanner([rule.scan_pattern], keep=False)
    except RuleError as error:
        yield Flaw(check="pattern", what=str(error).removeprefix(f"rule {rule.id}: "))


def with_samples(rule: Rule, table: RuleTable) -> Iterator[Flaw]:
    """What is wrong with a rule by its own samples and near misses. Raises RuleError where some rule does not compile."""
    definition = rule.definition
    if not definition.samples:
        yield Flaw(check="sample", what="has no sample: a line that it must match")
    if not definition.near_misses:
        yield Flaw(check="near miss", what="has no near miss: a line that looks like it and must not match")
    try:
        yield from _samples(rule, table)
        yield from _near_misses(rule)
        yield from _captures(rule)
    except TimeoutError:
        yield Flaw(check="slow", what=f"takes more than {SECONDS_PER_LINE} s for one of its own samples")


def _samples(rule: Rule, table: RuleTable) -> Iterator[Flaw]:
    for number, sample in enumerate(rule.definition.samples, 1):
        if rule.match(sample) is None:
            yield Flaw(check="sample", what=f"sample {number} is not matched: {quoted(sample)}")
        elif table.evidence(rule, sample) is None:
            yield Flaw(check="sample", what=f"sample {number} is matched only in the words of a user (user_text.toml): {quoted(sample)}")
        if not any(table[index] is rule for _, index in table.scanner.scan(ENVELOPE.format(sample).encode())):
            what = f"the scanner does not find sample {number} with {rule.scan_pattern.expression!r}: {quoted(sample)}; widen `scan`"
            yield Flaw(check="scan", what=what)


def _near_misses(rule: Rule) -> Iterator[Flaw]:
    for number, near in enumerate(rule.definition.near_misses, 1):
        if rule.match(near) is not None:
            yield Flaw(check="near miss", what=f"near miss {number} is matched: {quoted(near)}")


def _captures(rule: Rule) -> Iterator[Flaw]:
    found = [match.groupdict() for sample in rule.definition.samples if (match := rule.match(sample))]
    for name in rule.pattern.groupindex:
        if found and not any(groups[name] is not None for groups in found):
            yield Flaw(check="capture", what=f"no sample fills the named group `{name}`: show a line that does, or drop the name")


def with_probe_texts(probes: Probes) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with probe texts: of each sample the first rule that matches must give the symbol that its own rule says."""
    patterns = {text.id: regex.compile(text.pattern) for text in probes.texts}
    for text in probes.texts:
        for what in _probe_text(text, probes, patterns):
            yield f"probe text {text.id}", what


def _probe_text(text: ProbeText, probes: Probes, patterns: dict[str, regex.Pattern[str]]) -> Iterator[Flaw]:
    yield from _behaviour(patterns[text.id], text.samples, text.near_misses)
    for number, sample in enumerate(text.samples, 1):
        first = next((other for other in probes.texts if patterns[other.id].search(sample, timeout=1.0)), None)
        if first is not None and first.symbol != text.symbol:
            yield Flaw(check="claim", what=f"{first.id} stands before it and says {first.symbol!r} of sample {number}: {quoted(sample)}")


def with_common_causes(causes: CommonCauses) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with common causes by their samples: a root's text that refuses, and ones that only look like it."""
    for cause in causes.causes:
        for flaw in _behaviour(regex.compile(cause.refusals), cause.samples, cause.near_misses):
            yield f"common cause {cause.id}", flaw


def with_redaction(redaction: Redaction) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with the rules of redact.toml by their samples; a rule of names also needs the group that gets the pseudonym."""
    for rule in redaction.rules:
        pattern = regex.compile(rule.pattern)
        for flaw in _behaviour(pattern, rule.samples, rule.near_misses):
            yield f"redaction {rule.id}", flaw
        for number, sample in enumerate(rule.samples, 1):
            if rule.needs and not any(need in sample.lower() for need in rule.needs):
                yield f"redaction {rule.id}", Flaw(check="sample", what=f"sample {number} has nothing of `needs` (small letters): {quoted(sample)}")
    for name in redaction.names:
        if "value" not in regex.compile(name.pattern).groupindex:
            yield f"redaction {name.id}", Flaw(check="capture", what="has no group `value`, which gets the pseudonym: write (?P<value>...)")


def with_instruments(instruments: Instruments) -> Iterator[tuple[str, Flaw]]:
    """What is wrong with instruments: a sign without a sample, a sample that its sign does not match, a near miss that it does."""
    for one in instruments.instruments:
        for flaw in _instrument(one):
            yield f"instrument {one.id}", flaw


def _instrument(one: Instrument) -> Iterator[Flaw]:
    if not one.signs:
        yield Flaw(check="sample", what="has no sign by which a run shows it: environment, arguments, lines or files")
    for text in (*one.samples, *one.near_misses):
        if text.partition(" ")[0] not in one.signs:
            yield Flaw(check="sample", what=f"begins with none of {', '.join(one.signs)}, the signs that it has: {quoted(text)}")
    for word, pattern in one.signs.items():
        mine = [[text.partition(" ")[2] for text in texts if text.partition(" ")[0] == word] for texts in (one.samples, one.near_misses)]
        flaws = _behaviour(regex.compile(pattern), *mine)
        yield from (Flaw(check=flaw.check, what=f"{word}: {flaw.what}") for flaw in flaws)


def _behaviour(pattern: regex.Pattern[str], samples: Sequence[str], near_misses: Sequence[str]) -> Iterator[Flaw]:
    if not samples:
        yield Flaw(check="sample", what="has no sample")
    if not near_misses:
        yield Flaw(check="near miss", what="has no near miss")
    for number, sample in enumerate(samples, 1):
        if pattern.search(sample, timeout=1.0) is None:
            yield Flaw(check="sample", what=f"sample {number} is not matched: {quoted(sample)}")
    for number, near in enumerate(near_misses, 1):
        if pattern.search(near, timeout=1.0) is not None:
            yield Flaw(check="near miss", what=f"near miss {number} is matched: {quoted(near)}")
