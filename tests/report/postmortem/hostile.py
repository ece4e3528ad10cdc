"""Text that tries to act: mark-up, spreadsheets' formulas, terminals' sequences, marks that turn text round, and very long lines."""

from __future__ import annotations

import unicodedata

from hypothesis import strategies as st

PIECES = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
    "</style>", "</details>", "<!--", "-->", "<![CDATA[", "]]>", "&lt;b&gt;", "&#60;", '"onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)", "javascript:alert(1)", "{{ 7*7 }}", "{% raw %}", "${7*7}",
    "`", "```", "````\n# heading", "| cell | cell |", "\\|", "# heading", "- item", "1. item", "***", "___", "> quote",
    "[link](https://evil.example/x)", "![image](https://evil.example/x.png)", "https://evil.example/x", "www.evil.example",
    "@somebody", "#123", "GH-1", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "＝1+1", "\t=1+1", "\r=1+1",
    "\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example\x07x\x1b]8;;\x07", "\x1b]0;title\x07", "\x9b31m", "\x07", "\x08\x08", "\x00",
    "\u202eevil\u202c", "\u2066x\u2069", "\u200bx", "\ufeff", "\u2028", "\ud800", "a\nb", "a\r\nb", "x",
)  # fmt: skip
_several = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6)
texts = st.one_of(_several.map(" ".join), _several.map("".join), st.text(max_size=80)).filter(lambda text: bool(text.strip()))
pieces = st.sampled_from(PIECES)


def long(piece: str) -> str:
    """A line of a megabyte."""
    return piece * (1_000_000 // len(piece))


def acts(text: str, *, escaped: bool = False) -> set[str]:
    """The characters of a text that a terminal or a reader would not see as themselves; a line's end is allowed.

    With `escaped` also those without any meaning, which JSON may hold as they are.
    """
    if escaped:
        return {c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    return {c for c in text if c != "\n" and unicodedata.category(c).startswith("C")}
