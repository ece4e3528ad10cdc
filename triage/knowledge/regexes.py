"""Asks of a rule file whether each regular expression in it is one, before anything runs with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import regex

from triage.knowledge.caches import CacheKinds
from triage.knowledge.redaction import Redaction
from triage.knowledge.schema import CommonCauses, Instruments, Probes, Signature, UserText


def bad_regexes(told: Any) -> Iterator[tuple[str, str]]:
    """Rule id and what is wrong, for each expression in a decoded rule file that the module `regex` refuses."""
    for rule, key, pattern in _expressions(told):
        try:
            regex.compile(pattern)
        except regex.error as error:
            yield rule, f"`{key}` is no regex: {error}"


def _expressions(told: Any) -> Iterator[tuple[str, str, str]]:
    """Rule id, key and expression, for files of any shape."""
    if isinstance(told, UserText):
        yield from (("user_text", "begins", begin) for begin in told.begins)
    elif isinstance(told, CommonCauses):
        for cause in told.causes:
            yield from ((cause.id, key, getattr(cause, key)) for key in ("refusals", "masks"))
    elif isinstance(told, Redaction):
        yield from ((rule.id, "pattern", rule.pattern) for rule in told.rules)
        yield from ((rule.id, "unless_above", rule.unless_above) for rule in told.takes)
        yield from (("redact.toml", "keep.quotes", quote) for quote in told.keep.quotes)
    elif isinstance(told, CacheKinds):
        for kind in told.kinds:
            yield from ((kind.id, key, getattr(kind, key)) for key in ("path", "holds", "only"))
    elif isinstance(told, Instruments):
        for one in told.instruments:
            yield from ((f"instrument {one.id}", word, pattern) for word, pattern in one.signs.items())
    elif isinstance(told, Probes):
        yield from ((text.id, "pattern", text.pattern) for text in told.texts)
    for rule in getattr(told, "signatures", getattr(told, "lines", ())):
        yield rule.id, "pattern", rule.pattern
        if isinstance(rule, Signature):
            yield from ((rule.id, f"when.{key}", getattr(rule.when, key)) for key in ("frame", "no_frame"))
