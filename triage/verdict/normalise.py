"""Masks what differs between two lines that say the same (times, numbers, paths, ids, quoted words), and turns a mask into a pattern.

>>> masked("ValueError: pool 'kv-3' ran dry after 12.5 GiB at /data/run_81/pool.bin (request cmpl-9f3a11c2)")
"ValueError: pool '<str>' ran dry after <size> at <path> (request <id>)"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from triage.expressions import compiled_later

MASK_VERSION = 1  # grows with every change that gives a line another mask: masks of two versions are not compared
LONGEST = 480
LONGEST_PATTERN_MASK = 220
LEAST_LETTERS = 10
LEAST_WORDS = 2

_NAME = r"(?:[A-Z]\w*[a-z]\w*|[A-Za-z]+_\w+)"  # what code calls itself: NoneType, block_ids; such words stay, quoted or not

# Each placeholder, what it stands for in a line, and a pattern for it; in the order in which they are put in.
_MASKS: tuple[tuple[str, str], ...] = (
    ("<url>", r"\b[a-z][a-z0-9+.-]{1,12}://[^\s'\"<>,;)]+"),
    ("<time>", r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?)?"),
    ("<time>", r"\b\d\d/\d\d/\d{4}[- ]\d\d:\d\d:\d\d|\b(?:\d\d-\d\d |[EWIF]?\d{3,4} )?\d\d:\d\d:\d\d(?:[.,]\d+)?\b"),
    ("<id>", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
    ("<hex>", r"\b0[xX][0-9a-fA-F]+\b|\b[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?\b"),
    ("<ip>", r"\b\d{1,3}(?:\.\d{1,3}){3}(?:[:<]\d{1,5}>?)?"),
    ("<id>", r"\b(?:chatcmpl|cmpl|embd|req|resp|call)-[\w-]*\d[\w-]*"),
    ("<path>", r"(?<![\w<.])~?(?:/[\w.@+~=%:-]*[\w@+~=%-]){2,}/?"),
    ("<hex>", r"\b(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{8,}\b"),
    ("<id>", r"\b(?=(?:[A-Za-z_]*\d){3})(?=\d*[A-Za-z_])\w{12,}\b"),
    ("<size>", r"(?<![\w.,<])\d[\d.,]*+ ?(?:[KMGTP]i?B|[kMGT]B|[Bb]ytes)\b"),
    ("<num>", r"(?<![A-Za-z_<\d.,])\d[\d.,]*+(?=(?:ms|us|s|min|h|x|it)\b)"),
    ("<num>", r"(?<![A-Za-z_<\d])[-+]?\d[\d_]*+(?:[.,]\d++)*+(?:[eE][-+]?\d++)?+%?(?![A-Za-z_\d])"),
    ("<num>", r"(?:(?i:(?<=rank)|(?<=gpu)|(?<=cuda:)|(?<=worker)|(?<=node))|(?<=[^A-Za-z][TDPE]P)|(?<=^[TDPE]P))\d+"),
)
_QUOTED = compiled_later(rf"(?<!\w)'(?!{_NAME}')[^']{{0,400}}'(?!\w)|\"(?!{_NAME}\")[^\"]{{0,400}}\"|`(?!{_NAME}[`'])[^`']{{0,400}}[`']")
_MANY = compiled_later(r"<num>(?:[,x ]{1,2}<num>)+")
_PLACEHOLDER = compiled_later(r"<(?:url|time|id|hex|ip|path|size|nums?|str)>")
_STANDS_FOR = {
    "<url>": r"\S{1,400}",
    "<time>": r"[\d:.,/TZEWIF\s+-]{4,40}",
    "<id>": r"[\w.-]{1,200}",
    "<hex>": r"[\da-fA-FxX:.]{1,40}",
    "<ip>": r"[\d.:<>]{3,30}",
    "<path>": r"[\w.@+~=%:/-]{1,400}",
    "<size>": r"\d[\d.,]{0,20}\s?\w{1,5}",
    "<num>": r"[-+]?\d[\d_.,eE%+-]{0,40}",
    "<nums>": r"[-+\d_.,eE%x\s]{1,400}",
    "<str>": r"[^'\"`]{0,400}",
}


def masked(text: str) -> str:
    """`text` with a placeholder for each volatile part, blanks made one, at most 480 characters."""
    shown = _QUOTED.sub(lambda found: found[0][0] + "<str>" + found[0][-1], text[: 4 * LONGEST])
    for placeholder, pattern in _compiled():
        shown = pattern.sub(placeholder, shown)
    return " ".join(_MANY.sub("<nums>", shown).split())[:LONGEST]


@cache
def _compiled() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((placeholder, re.compile(pattern)) for placeholder, pattern in _MASKS)


def words(mask: str) -> frozenset[str]:
    """The words of a mask, small letters, without placeholders: what is compared where masks differ."""
    return frozenset(re.findall(r"[a-z][a-z_]{2,}", _PLACEHOLDER.sub(" ", mask).lower()))


def pattern_for(text: str) -> str:
    """A regular expression for lines that say what `text` says; nothing where too little of it is fixed text.

    It begins and ends with fixed text, which is what the one-pass scanner needs to be fast.
    """
    core = _core(masked(text))
    fixed = _PLACEHOLDER.sub(" ", core)
    if sum(c.isalpha() for c in fixed) < LEAST_LETTERS or len(re.findall(r"[A-Za-z_]{3,}", fixed)) < LEAST_WORDS:
        return ""
    pattern = "".join(_parts(core))
    spaced = pattern.replace(" ", " +")
    return next((p for p in (pattern, spaced) if re.search(p, text)), "") or _longest_fixed(core, text)


def _core(mask: str) -> str:
    """The mask without placeholders and punctuation at either end, cut at a blank where it is long."""
    if len(mask) > LONGEST_PATTERN_MASK:
        mask = mask[:LONGEST_PATTERN_MASK].rpartition(" ")[0]
    previous = None
    while mask != previous:
        previous = mask
        mask = re.sub(rf"^(?:{_PLACEHOLDER.pattern}|[^A-Za-z<])+", "", mask)
        mask = re.sub(rf"(?:{_PLACEHOLDER.pattern}|[^A-Za-z>])+$", "", mask)
    return mask


def _parts(core: str) -> Iterator[str]:
    end = 0
    for found in _PLACEHOLDER.finditer(core):
        yield _escaped(core[end : found.start()])
        yield _STANDS_FOR[found[0]]
        end = found.end()
    yield _escaped(core[end:])


def _escaped(text: str) -> str:
    """`text` for a pattern, with no more backslashes than it takes."""
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text)


def _longest_fixed(core: str, text: str) -> str:
    """The longest stretch of fixed text that is found in `text`, as a pattern."""
    stretches = sorted(_PLACEHOLDER.split(core), key=len, reverse=True)
    for stretch in stretches:
        pattern = _escaped(stretch.strip())
        if sum(c.isalpha() for c in stretch) >= LEAST_LETTERS and re.search(pattern, text):
            return pattern
    return ""
