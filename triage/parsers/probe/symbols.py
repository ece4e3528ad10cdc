"""Turns what a client said into a probe symbol, by the rules of rules/probes.toml and what an exit code or a flag leaves to say."""

from __future__ import annotations

import re

import regex

from triage.expressions import SECONDS_PER_LINE
from triage.knowledge.schema import Probes
from triage.parsers.probe.records import Answer

FAILED = "f"
"""Failed, and nothing says how: a bare 000, FAIL, an exit code without meaning. It opens an outage, and speaks for no family."""

GOOD = (".", "s")
UNDECIDED = (None, FAILED)

_REMEMBERED = 4096
_FAILED_WORDS = re.compile(
    r"(?i)\b(?:fail(?:ed|ure|ing)?|down|unhealthy|dead|not (?:ok|ready|healthy|responding)|nok|ko|error|critical|unreachable|bad|lost)\b"
    r"|^(?:wget|curl)\W.{0,24}\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+[1-9]"
)


class Symbols:
    """The rules, compiled, with a memory of what they said: most probes of a log say one of a few things."""

    def __init__(self, rules: Probes) -> None:
        self._rules = [(regex.compile(text.pattern), text.symbol) for text in rules.texts]
        self._known: dict[tuple[str, bool | None], str | None] = {}

    def of(self, answer: Answer) -> str | None:
        """The symbol of an answer, `f` where it failed without saying how, None where it says nothing about an attempt."""
        key = (answer.evidence, answer.ok)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._decided(*key)
        return self._known[key]

    def _decided(self, evidence: str, ok: bool | None) -> str | None:
        symbol = self._by_rule(evidence)
        if ok is False:
            return FAILED if symbol is None or symbol in GOOD else symbol
        if symbol is not None:
            return symbol
        if ok:
            return "."
        return FAILED if _FAILED_WORDS.search(evidence) else None

    def _by_rule(self, evidence: str) -> str | None:
        for pattern, symbol in self._rules:
            try:
                if pattern.search(evidence, timeout=SECONDS_PER_LINE):
                    return symbol
            except TimeoutError:
                continue
        return None
