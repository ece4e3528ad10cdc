"""More to take out: files of the user's in the shape of rules/redact.toml, checked before anything is redacted with them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from triage.knowledge.load import RuleError, read_rule_file
from triage.knowledge.redaction import Redaction
from triage.knowledge.regexes import bad_regexes
from triage.knowledge.whole import with_more


def with_files(rules: Redaction, files: Iterable[Path]) -> Redaction:
    """The rules and those of the files; a rule with an id of ours stands instead of ours. Raises RuleError naming the file and what is wrong."""
    for file in files:
        told = read_rule_file(file, Redaction)
        for rule, what in bad_regexes(told):
            raise RuleError(f"{file}: rule {rule}: {what}")
        for name in told.names:
            if "(?P<value>" not in name.pattern:
                raise RuleError(f"{file}: rule {name.id}: its pattern has no group `value`, which gets the pseudonym: write (?P<value>...)")
        rules = with_more(rules, told)
    return rules
