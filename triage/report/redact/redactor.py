"""The redactor: rules/redact.toml applied to one text after another, with one pseudonym for each name and a count of what was taken out."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache

import regex

from triage.knowledge.load import load
from triage.knowledge.schema import NameRule, Redaction, TakeRule
from triage.report.redact.literals import value_after
from triage.report.redact.names import Names

LONGEST_QUOTE = 60
MOST_WORDS = 3
SECONDS = 2.0  # for one rule on one text; more only where the text is longer than a megabyte
UNCHECKED = "<taken out: it took too long to check>"
_PROSE = re.compile(r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*\"""")
_PATH = re.compile(r"(?:[A-Za-z]:)?[./\\][\w./\\@:~<>-]{0,300}\.[A-Za-z0-9]{1,5}")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[ -/]*[0-~])?")


class Redactor:
    """Redacts texts that belong together: the same host gets the same pseudonym in all of them. `counts`: how often what was taken out, by kind.

    `rules` are those of rules/redact.toml unless others are given. With `on=False` texts stay as they are and nothing is counted.
    """

    def __init__(self, rules: Redaction | None = None, *, on: bool = True) -> None:
        self.on = on
        self._rules = (rules if rules is not None else load().redaction) if on else Redaction()
        keep = self._rules.keep
        self._names = Names((*keep.hosts, *keep.users, *keep.addresses))
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """How often something was taken out, by kind: key, token, secret, url, prompt, token-ids, user, host, ip, email, mac, quote."""
        return dict(self._counts)

    def text(self, text: str) -> str:
        """`text` without what must not leave the house; control and direction-changing characters go first, for a key may be broken by them.

        Takes time linear in its length. A text on which a rule takes too long is taken out whole.
        """
        if not self.on or not text:
            return text
        shown = _bare(text)
        try:
            for rule in self._rules.takes:
                shown = self._without(rule, shown)
            shown = self._with_pseudonyms(shown)
        except TimeoutError:
            self._counts["unchecked"] += 1
            return UNCHECKED
        return _PROSE.sub(self._short_quote, shown)

    def meet(self, texts: Iterable[str], hosts: Iterable[str] = ()) -> None:
        """Learn the names in texts that are redacted later, and hosts that a record names as such: then the first text knows them all."""
        for host in hosts:
            if self.on and host:
                self._names.of("host", host, everywhere=True)
        for text in texts:
            counts = self._counts.copy()
            self.text(text)
            self._counts = counts

    def _without(self, rule: TakeRule, text: str) -> str:
        if not _may_hold(rule.needs, text):
            return text
        out, done = [], 0
        for found in _compiled(rule.pattern).finditer(text, timeout=_limit(text)):
            if found.start() < done:
                continue
            span = value_after(text, found.end(), bare=rule.bare) if rule.literal else found.span("value" if "value" in found.groupdict() else 0)
            if span is None or text[span[0] : span[1]] in (rule.put, "[…]", "…", "<secret>"):
                continue
            out += [text[done : span[0]], rule.put]
            done = span[1]
            self._counts[rule.kind] += 1
        return "".join((*out, text[done:])) if out else text

    def _with_pseudonyms(self, text: str) -> str:
        for rule in self._rules.names:
            if _may_hold(rule.needs, text):
                text = self._named(rule, text)
        return self._names.replaced(text, self._count)

    def _named(self, rule: NameRule, text: str) -> str:
        out, done = [], 0
        for found in _compiled(rule.pattern).finditer(text, timeout=_limit(text)):
            name = found["value"]
            given = self._names.of(rule.kind, name, everywhere=rule.everywhere)
            if given != name:
                out += [text[done : found.start("value")], given]
                done = found.end("value")
                self._counts[rule.kind] += 1
        return "".join((*out, text[done:])) if out else text

    def _count(self, kind: str) -> None:
        self._counts[kind] += 1

    def _short_quote(self, found: re.Match[str]) -> str:
        """A quote stays when it is short, or a path; a user's words may stand in any other."""
        quote = found[0]
        if (len(quote) <= LONGEST_QUOTE and len(quote.split()) <= MOST_WORDS) or _PATH.fullmatch(quote, 1, len(quote) - 1):
            return quote
        self._counts["quote"] += 1
        return quote[0] + "…" + quote[-1]


def redacted(text: str) -> str:
    """One text by itself, redacted by our own rules: names have pseudonyms that hold in it alone."""
    return Redactor(_own_rules()).text(text)


@cache
def _own_rules() -> Redaction:
    return load().redaction


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


def _limit(text: str) -> float:
    return SECONDS * max(1.0, len(text) / 1e6)


def _may_hold(needs: tuple[str, ...], text: str) -> bool:
    if not needs:
        return True
    lower = text.lower()
    return any(need in lower for need in needs)


def _bare(text: str) -> str:
    """`text` without terminal sequences, controls and invisible characters; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c for c in _ANSI.sub("", text) if c in "\n\t" or not unicodedata.category(c).startswith("C"))
