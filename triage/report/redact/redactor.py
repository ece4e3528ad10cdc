"""The redactor: rules/redact.toml applied to one text after another, with one pseudonym for each name and a count of what was taken out."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import regex

from triage.knowledge.load import load
from triage.knowledge.redaction import NameRule, Redaction, TakeRule
from triage.report.redact.below import Finder, left_open
from triage.report.redact.literals import value_after
from triage.report.redact.names import Names, is_telling

LONGEST_QUOTE = 60
MOST_WORDS = 3
LONGEST_LEAD = 80  # letters before a quote that tell whose words it has
MOST_ROUNDS = 4  # what stood glued to something that was taken out is seen in the next round
MOST_SEEN, SEEN_COSTS = 8_000_000, 200  # characters that are remembered, and what each text costs beside its own
SECONDS = 2.0  # for one rule on one text; more only where the text is longer than a megabyte
UNCHECKED = "<taken out: it took too long to check>"
_PROSE = re.compile(r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*\"""")
_PATH = re.compile(r"(?:[A-Za-z]:)?[./\\][\w./\\@:~<>-]{0,300}\.[A-Za-z0-9]{1,5}")
_ESCAPE = re.compile(r"((?<!\\)\\+[nrt])")
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[ -/]*[0-~])?")


class Redactor:
    """Redacts texts that belong together: the same host gets the same pseudonym in all of them. `counts`: how often what was taken out, by kind.

    `rules` are those of rules/redact.toml unless others are given. With `on=False` texts stay as they are and nothing is counted; with
    `prose=False` quoted sentences stay that no rule takes out.
    """

    def __init__(self, rules: Redaction | None = None, *, on: bool = True, prose: bool = True) -> None:
        self.on = on
        self._prose = prose
        self._rules = (rules if rules is not None else load().redaction) if on else Redaction()
        keep = self._rules.keep
        self._names = Names((*keep.hosts, *keep.users, *keep.addresses))
        self._kept_quotes = _compiled(f"(?:{'|'.join(keep.quotes)})$") if keep.quotes else None
        self._counts: Counter[str] = Counter()
        self._seen: dict[tuple[str, str, bool], tuple[str, Counter[str]]] = {}
        self._seen_with = self._seen_size = 0  # so many names, so many characters

    @property
    def counts(self) -> dict[str, int]:
        """How often something was taken out, by kind: key, token, secret, url, prompt, token-ids, user, host, ip, email, mac, quote."""
        return dict(self._counts)

    def text(self, text: str) -> str:
        """`text` without what must not leave the house; control and direction-changing characters go first, for a key may be broken by them.

        Takes time linear in its length. A text on which a rule takes too long is taken out whole.
        """
        return "\n".join(self.lines(text.split("\n"))) if "\n" in text else self._line(text, "")

    def _line(self, text: str, above: str, *, prose: bool = True) -> str:
        """A text redacted; what documents say again and again only once, until another name is known."""
        asked = (text, above, prose)
        if self._seen_with != self._names.met or self._seen_size > MOST_SEEN:
            self._seen.clear()
            self._seen_size = 0
        if asked not in self._seen:
            before = self._counts.copy()
            shown = self._once(text, above, prose=prose)
            self._seen_with = self._names.met
            self._seen[asked] = (shown, self._counts - before)
            self._seen_size += len(text) + len(above) + SEEN_COSTS
            return shown
        shown, taken = self._seen[asked]
        self._counts.update(taken)
        return shown

    def _once(self, text: str, above: str, *, prose: bool) -> str:
        """A text, and once more as the lines that it has where it quotes some: what begins behind a written-out `\\n` begins a word, too."""
        shown = self._text(text, above, prose=prose)
        parts = _ESCAPE.split(shown) if "\\" in shown else [shown]
        if len(parts) < 2:
            return shown
        parts[::2] = self._lines(parts[::2], prose=False)
        return "".join(parts)

    def _text(self, text: str, above: str, *, prose: bool) -> str:
        if not self.on or not text:
            return text
        shown = _bare(text)
        lower = shown.lower()
        try:
            for _ in range(MOST_ROUNDS):
                before = shown
                for take in self._rules.takes:
                    if _may_hold(take.needs, lower):
                        shown = self._without(take, shown, above)
                if shown == before:
                    break
            for name in self._rules.names:
                if _may_hold(name.needs, lower):
                    shown = self._named(name, shown)
            shown = self._names.replaced(shown, self._count)
            shown = _PROSE.sub(self._short_quote, shown) if prose and self._prose else shown
        except TimeoutError:
            self._counts["unchecked"] += 1
            return UNCHECKED
        return shown

    def lines(self, lines: Sequence[str], *, unseen: Collection[int] = ()) -> list[str]:
        """Lines that stand below each other in one log; what began in one and ends in a later one (a prompt, a private key) is taken out of all.

        Of those whose places are `unseen` it is only asked what they leave open: they come back empty, and nothing in them is counted.
        """
        return self._lines(lines, unseen, prose=True) if self.on else list(lines)

    def _lines(self, lines: Sequence[str], unseen: Collection[int] = (), *, prose: bool) -> list[str]:
        out: list[str] = []
        above, still = "", None
        for at, line in enumerate(lines):
            if still is not None and still.holds(line):
                out.append("" if at in unseen else self._continued())
                rest = still.rest(line)
                still = still if rest is None else left_open(rest, self._rules.takes, _finder(rest))
            else:
                out.append("" if at in unseen else self._line(line, above, prose=prose))
                still = left_open(line, self._rules.takes, _finder(line))
            above = line
        return out

    def _continued(self) -> str:
        self._counts["continued"] += 1
        return "…"

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Names and values of a configuration or an environment; a value whose name tells of a secret or of a user's words goes whole."""
        return {self.text(name): self._setting(name, value) for name, value in given.items()}

    def document(self, value: Any) -> Any:
        """A JSON value of ours with each text in it redacted, keys and numbers as they are; the value of a key `host` is a host."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.host(one) if key == "host" and isinstance(one, str) else self.document(one) for key, one in value.items()}
        return [self.document(one) for one in value] if isinstance(value, list | tuple) else value

    def host(self, name: str) -> str:
        """The pseudonym of a host that a record names as such."""
        return self._names.of("host", name, everywhere=True) if self.on and name else name

    def meet(self, texts: Iterable[str]) -> None:
        """Learn the names in texts that are redacted later: then the first of them knows the names of the last. Nothing is counted."""
        counts = self._counts.copy()
        for text in dict.fromkeys(texts if self.on else ()):
            shown = _bare(text)
            lower = shown.lower()
            with contextlib.suppress(TimeoutError):
                for rule in self._rules.names:
                    if _may_hold(rule.needs, lower):
                        self._named(rule, shown)
        self._counts = counts

    def _setting(self, name: str, value: str) -> str:
        probe = f'{name}="x"'
        for rule in self._rules.takes:
            if rule.literal and value and any(m.end() in (len(name) + 1, len(name) + 2) for m in _compiled(rule.pattern).finditer(probe)):
                self._counts[rule.kind] += 1
                return rule.put
        told = self.text(f"{name}={value}")  # the name tells of some values what they are: host=gpu7, cuda_graph_bs=[1, 2, ...]
        return told.removeprefix(f"{name}=") if told.startswith(f"{name}=") else self.text(value)

    def _without(self, rule: TakeRule, text: str, above: str) -> str:
        out, done = [], 0
        for found in _compiled(rule.pattern).finditer(text, timeout=_limit(text)):
            if found.start() < done or (rule.unless_above and _compiled(rule.unless_above).search(_line_above(found, above), timeout=SECONDS)):
                continue
            span = value_after(text, found.end(), bare=rule.bare) if rule.literal else found.span("value" if "value" in found.groupdict() else 0)
            if span is None or text[span[0] : span[1]] in (rule.put, "[…]", "…", "<secret>"):
                continue
            out += [text[done : span[0]], rule.put]
            done = span[1]
            self._counts[rule.kind] += 1
        return "".join((*out, text[done:])) if out else text

    def _named(self, rule: NameRule, text: str) -> str:
        out, done = [], 0
        for found in _compiled(rule.pattern).finditer(text, timeout=_limit(text)):
            name = found["value"]
            given = self._names.of(rule.kind, name, everywhere=rule.everywhere and (rule.kind != "host" or is_telling(name)))
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
        if len(quote) <= LONGEST_QUOTE and len(quote.split()) <= MOST_WORDS:
            return quote
        before = found.string[max(0, found.start() - LONGEST_LEAD) : found.start()]
        if _PATH.fullmatch(quote, 1, len(quote) - 1) or (self._kept_quotes is not None and self._kept_quotes.search(before, timeout=SECONDS)):
            return quote
        self._counts["quote"] += 1
        return quote[0] + "…" + quote[-1]


def redacted(text: str) -> str:
    """One text by itself, redacted by our own rules: names have pseudonyms that hold in it alone."""
    return Redactor(_own_rules()).text(text)


def without_secrets(text: str) -> str:
    """One text of ours without keys, tokens and prompts; names of files, hosts and people stay, for whoever reads it works with them."""
    return Redactor(Redaction(_own_rules().takes), prose=False).text(text)


@cache
def _own_rules() -> Redaction:
    return load().redaction


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern)


def _finder(text: str) -> Finder:
    """What finds a rule's matches in a text."""
    lower = text.lower()
    return lambda rule: _compiled(rule.pattern).finditer(text, timeout=_limit(text)) if _may_hold(rule.needs, lower) else iter(())


def _line_above(found: regex.Match[str], above: str) -> str:
    """The line above the one that a match ends in: of the same text, or the one that came before it."""
    before = found.string[: found.end()].rstrip("\n").split("\n")
    return before[-2] if len(before) > 1 else above


def _limit(text: str) -> float:
    return SECONDS * max(1.0, len(text) / 1e6)


def _may_hold(needs: tuple[str, ...], lower: str) -> bool:
    for need in needs:  # a loop by hand: asked thirty times of every line
        if need in lower:
            return True
    return not needs


def _bare(text: str) -> str:
    """`text` without terminal sequences, controls and invisible characters; lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c for c in _ANSI.sub("", text) if c in "\n\t" or not unicodedata.category(c).startswith("C"))
