"""What a line leaves open for the lines below it: a quote that goes on, a private key, a value that begins one line down."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import regex

from triage.knowledge.redaction import TakeRule
from triage.report.redact.literals import closing_of, is_apostrophe, value_after

LONGEST_LEAD = 200
_RECORD = re.compile(
    r"\S{0,80}?\s{0,4}(?:\(.{0,60}?\)\s{0,4})?"  # who speaks
    r"(?:\[?\d{4}-\d\d-\d\d|\[?(?:INFO|WARN|ERROR|DEBUG|CRIT)|[EWIF]\d{4} |[A-Z][a-z]{2} [ \d]\d )"
)
_OUTER = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:?\d\d)?) "
    r"(?P<who>\S{1,253} [\w.@/-]{1,60}(?:\[\d{1,9}\])?:|(?:stdout|stderr) [FP]) "
)
_STAMP = re.compile(r"\d\d:\d\d:\d\d[.,\d]*")
_PLACE = re.compile(r"[\w./<>-]{1,100}:\d{1,6}\]? ?")
_BEGINS_BELOW = re.compile(r"\s*(?:[|>][+-]?\d?|[\[({\\\"']{0,3})\s*")
_KEY = re.compile(r"(?:.*[\"'\\])?\s*(?:- )?[\w.-]{0,60}[\\\"']{0,8}")  # what stands before a name that a line or a quote begins with
LONGEST_KEY = 80
_ITEM = re.compile(r"-(?:\s|$)")
Finder = Callable[[TakeRule], Iterator[regex.Match[str]]]


class Open(NamedTuple):
    """What goes on below a line: up to `closing`, or with no closing for as long as lines stand deeper than `depth`.

    `lead` is what stands before the words of the line: engines put the same before each line of one message. `who`: the program that
    syslog or a container's runtime names before that, with a stamp of each line's own.
    """

    lead: str
    who: str = ""
    closing: str = ""
    depth: int = 0

    def holds(self, line: str) -> bool:
        """Whether a line belongs to what was left open: it begins no other record, and stands deep enough."""
        who, inner = _parted(line)
        if who != self.who or (_begins(inner) and not (self.lead and inner.startswith(self.lead))):
            return False
        body = inner.removeprefix(self.lead)
        return bool(self.closing) or _depth(body) > self.depth or (_depth(body) == self.depth and _ITEM.match(body.lstrip()) is not None)

    def rest(self, line: str) -> str | None:
        """What stands behind the end of what was left open, in a line that belongs to it; None where it does not end there."""
        if not self.closing:
            return None
        body = _parted(line)[1].removeprefix(self.lead)
        found = (at for at in _places(body, self.closing) if self.closing != "'" or not is_apostrophe(body, at))
        end = next(found, None)
        return None if end is None else body[end + len(self.closing) :]


def left_open(line: str, rules: Iterable[TakeRule], find: Finder) -> Open | None:
    """What a line leaves open by any of the rules; None where all is closed."""
    try:
        return next((still for rule in rules if (rule.lasts or rule.literal) and (still := _open_end(rule, line, find))), None)
    except TimeoutError:  # then the line itself was taken out whole
        return None


def _open_end(rule: TakeRule, line: str, find: Finder) -> Open | None:
    done = 0
    for found in find(rule):
        if found.start() < done:
            continue
        if rule.literal and (rest := _BEGINS_BELOW.fullmatch(line, found.end())):
            who, lead, begin = _headed(line)
            if rest[0].strip() or _KEY.fullmatch(line, max(begin, found.start() - LONGEST_KEY), found.start()):
                return Open(lead, who, depth=_depth(line[begin:]))
            continue
        span = value_after(line, found.end(), bare=False) if rule.literal else found.span("value")
        done = span[1] if span else done
        if span and span[1] == len(line) and (awaited := rule.lasts or closing_of(line, span[0])):
            who, lead, _ = _headed(line)
            return Open(lead, who, awaited)
    return None


def _parted(line: str) -> tuple[str, str]:
    """Who wrote a line as syslog or a container's runtime tells it, nothing where none does, and the line without that."""
    outer = _OUTER.match(line)
    return (outer["who"], line[outer.end() :]) if outer else ("", line)


def _headed(line: str) -> tuple[str, str, int]:
    """Who wrote a line, what the engine put before its words, and where these begin."""
    who, inner = _parted(line)
    lead = _lead(inner)
    return who, lead, len(line) - len(inner) + len(lead)


def _begins(line: str) -> bool:
    """Whether a line begins a record of its own: it has a stamp or a level."""
    return _RECORD.match(line) is not None


def _lead(line: str) -> str:
    """What an engine put before the words of a line: who, level, stamp and place; nothing where it begins no record."""
    if not _begins(line):
        return ""
    stamp = _STAMP.search(line, 0, LONGEST_LEAD)
    end = stamp.end() if stamp else 0
    place = _PLACE.search(line, end, end + LONGEST_LEAD)
    return line[: place.end()] if place else line[:end]


def _places(text: str, what: str) -> Iterator[int]:
    at = text.find(what)
    while at >= 0:
        yield at
        at = text.find(what, at + 1)


def _depth(body: str) -> int:
    return len(body) - len(body.lstrip(" \t"))
