"""Text on its way into a postmortem: cut to a size, redacted, without control characters; nothing from a log goes round this."""

from __future__ import annotations

import re

from triage.model import Findings
from triage.report import words
from triage.report.redact import Redactor, knowing

LONGEST_LINE = 4096  # characters of a line that are looked at: a line may be a megabyte
SHOWN = 400
_LAST_WORD = re.compile(r"\s\S{0,512}\Z")


class Say:
    """Makes text safe to show: redacted by `redactor`, which may be off, and cleaned in any case."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor

    def __call__(self, text: str, width: int = SHOWN) -> str:
        """`text` in `width` characters at most, safe to show. Cut only after it was redacted: half of a secret is one, too."""
        return words.clean(self.redactor.text(bounded(text.strip())), width)

    def about(self, text: str) -> str:
        """A sentence of ours that quotes the evidence: never cut."""
        return self(text, LONGEST_LINE)

    def setting(self, name: str, value: str | None) -> str:
        """The value of a setting, or that it has none; a value whose name tells of a secret goes whole."""
        if value is None:
            return "not set"
        (told,) = self.redactor.settings({name: bounded(value)}).values() if self.redactor.on else (bounded(value),)
        return words.clean(told, SHOWN)

    def meet(self, findings: Findings) -> None:
        """Learn the names in findings before the first text is said, so that each has its pseudonym from the first word on."""
        knowing(self.redactor, findings)


def bounded(text: str) -> str:
    """The first LONGEST_LINE characters, without the word that the cut goes through."""
    return text if len(text) <= LONGEST_LINE else _LAST_WORD.sub(" ", text[:LONGEST_LINE])
