"""Takes out of a line what must not leave the house: keys and tokens, prose in quotes, lists of token ids.

>>> redacted("loading with api_key=sk-abcdef0123456789abcdef, stop='tell me a story about bears'")
"loading with api_key=<secret>, stop='…'"
"""

from __future__ import annotations

import re

_SECRETS = (
    re.compile(r"""(?i)(\b(?:[a-z]+_)?(?:api[_-]?key|token|secret|password|passwd|authorization)\b["']?\s*[:=]\s*["']?(?:bearer\s+)?)(?![\d.]+\b)[^\s"',;)}]+"""),
    re.compile(r"(?i)(\bbearer\s+)[\w.~+/=-]{8,}"),
    re.compile(r"(://)[^\s/@:]{1,64}:[^\s/@]{1,256}(?=@)"),
)
_KEYS = re.compile(r"\b(?:sk|hf|gh[pousr]|xox[abp]|AKIA|nvapi)[-_]?[A-Za-z0-9_-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*")
_PROSE = re.compile(r"""(?<!\w)'[^']*'(?!\w)|"[^"]*\"""")
_IDS = re.compile(r"\[\s*-?\d+(?:\s*,\s*-?\d+){7,}\s*,?(?:\s*\.{3}|…)?\s*\]?")
LONGEST_QUOTE = 60
MOST_WORDS = 3


def redacted(text: str) -> str:
    """`text` without secrets, without quoted text of more than three words, and without lists of eight numbers or more."""
    for pattern in _SECRETS:
        text = pattern.sub(r"\1<secret>", text)
    return _IDS.sub("[…]", _PROSE.sub(_short_quote, _KEYS.sub("<secret>", text)))


def _short_quote(found: re.Match[str]) -> str:
    quote = found[0]
    return quote[0] + "…" + quote[-1] if len(quote) > LONGEST_QUOTE or len(quote.split()) > MOST_WORDS else quote
