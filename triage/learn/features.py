"""What an incident shows, as named figures: the n-grams of its lead lines, the exceptions and frames in them, and facts from around it.

Nothing here looks at the id of a rule or at the class that rules gave: what is learnt must be there without the rule, too.

>>> line_features("CUDA error: launch timed out")[0][:4]
('cuda', 'error', 'launch', 'timed')
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from triage.model import Event, Incident, Seconds, Verdict
from triage.parsers.tags import tag
from triage.verdict.normalise import MASK_VERSION, masked

FEATURES_VERSION = f"2.{MASK_VERSION}"  # the first figure grows with every change that gives an incident other features
LEADS = 6  # lines of one incident that are looked at
LAST = 8  # of its last lines, beside those
CHARACTERS = 5  # letters in a character n-gram
LONGEST = 320  # characters of a line, masked, that are looked at
FRAMES = 3
COMPARED = 64  # words of a line whose order is compared
MOST_CODES = 3
MOST_QUOTED, LONGEST_QUOTED = 2, 40
LONGEST_MASK = LONGEST + MOST_CODES * len(" codeminus0000") + MOST_QUOTED * (LONGEST_QUOTED + 1)  # characters of what `mask_of` gives
DEATHS: tuple[tuple[Seconds, str], ...] = ((10, "10 s"), (60, "1 min"), (200, "200 s"), (350, "350 s"), (700, "700 s"), (2000, "2000 s"))
_TOKEN = re.compile(r"<[a-z]+>|code(?:minus)?\d+|[A-Za-z][A-Za-z_]*[A-Za-z]|[A-Za-z]|\d+")
_IS_CODE = re.compile(r"code(?:minus)?\d+$")
_EXCEPTION = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Interrupt|Fault|Exit)\b")
_SMALL = re.compile(r"(?<![\w.:/-])([1-9]\d\d)(?![\w.:/-])")  # codes of CUDA have three digits
_FAILS = re.compile(r"(?i)error|fail|status|code")
_CODE = re.compile(r"(?i)(?:\b(?:error|errno|xid|code|signal|status|exit)\b[^\w<]{0,3}(?:\(?pci:[\w:.]+\)?: )?)(-?\d{1,4})\b")
# What an error is called, and the function that gave it: of all that is quoted, this tells two faults apart.
_ERRORS_NAME = re.compile(
    rf"(?i:\b(?:error|fail(?:ure|ed)?)\b)[^'\"`]{{0,80}}(?P<quote>['\"`])(?=[^'\"`]{{1,{LONGEST_QUOTED}}}(?P=quote))"
    r"(?P<words>[a-z][a-z-]*(?: [a-z][a-z-]*){1,4})(?P=quote)"
)
_CALLED = re.compile(rf"['\"`]([A-Za-z_]\w{{2,{LONGEST_QUOTED - 1}}})\(")
_LOGFMT = re.compile(r'(?:^|\s)msg="((?:[^"\\]|\\.){1,1000})"')  # the message of a line of fields, as container runtimes write them


class Traits(NamedTuple):
    """The lead lines of an incident, masked, the first the most telling; and its facts in words, as `dump present`."""

    lines: tuple[str, ...]
    facts: tuple[str, ...]


def traits(verdict: Verdict) -> Traits:
    """What an incident shows: its root, where a rule cites one, its best lines, and its last lines from the end on."""
    leads = ([verdict.root] if verdict.root is not None else []) + list(verdict.best_lines)
    masks = dict.fromkeys(mask for event in leads if (mask := lead(event)))
    last = dict.fromkeys(mask for event in reversed(verdict.last_lines) if (mask := lead(event)) and mask not in masks)
    return Traits((*list(masks)[:LEADS], *list(last)[:LAST]), tuple(_facts(verdict)))


def lead(event: Event) -> str:
    """A line as it is compared: without its speaker, volatile parts masked, codes of errors kept (`Errno 104`, `Xid 79`, `signal 9`)."""
    return mask_of(event.data.get("message") or tag(event.text).message)


@lru_cache(maxsize=65536)
def mask_of(text: str) -> str:
    """`text` masked; what its codes were stands at the end, and what an error was called where that was quoted."""
    fields = _LOGFMT.search(text, 0, 2000)
    said = fields[1] if fields else text
    patterns = (_CODE, _SMALL) if _FAILS.search(said, 0, 1000) else (_CODE,)
    found = [each[1] for pattern in patterns for each in pattern.finditer(said[:1000])][:MOST_CODES]
    codes = dict.fromkeys(f"code{code.replace('-', 'minus')}" for code in found)
    return " ".join([masked(said)[:LONGEST], *codes, *_quoted(said[:1000])]).strip()


def _quoted(text: str) -> list[str]:
    """The quoted words of a line that are an error's own: what it is called, and the function that gave it."""
    found = [*(each["words"] for each in _ERRORS_NAME.finditer(text)), *(each[1] for each in _CALLED.finditer(text))]
    return list(dict.fromkeys(found))[:MOST_QUOTED]


def _facts(verdict: Verdict) -> Iterable[str]:
    of = verdict.incident
    if of.dump_state in ("present", "absent"):
        yield f"dump {of.dump_state}"
    if of.outage is not None:
        yield f"first probe {of.outage.first}"
    yield "had come up" if _was_up(of) else "never came up"
    if of.time_to_death is not None:
        middle = (of.time_to_death.low + of.time_to_death.high) / 2
        yield f"died within {next((words for bound, words in DEATHS if middle < bound), 'more than 2000 s')}"
    if of.progress_after:
        yield "made tokens afterwards"
    frames = verdict.root.frames if verdict.root is not None else ()
    yield from (f"in {frame.rpartition(' ')[2][:60]}" for frame in frames[-FRAMES:])


def _was_up(of: Incident) -> bool:
    return of.boot is not None and (of.boot.ready is not None or of.boot.boundary != "banner")


@lru_cache(maxsize=65536)
def line_features(mask: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The word n-grams (one and two words, and exceptions by their full name) and the character n-grams (`~...`) of a masked line."""
    tokens = [token.lower() for token in _TOKEN.findall(mask)]
    pairs = [f"{one} {other}" for one, other in pairwise(tokens)]
    names = [f"exception {name}" for name in _EXCEPTION.findall(mask)]
    words = dict.fromkeys([*tokens, *pairs, *names])
    letters = dict.fromkeys(
        f"~{padded[i : i + CHARACTERS]}" for token in tokens if token[0] != "<" and len(token) > 2 for padded in [f" {token} "]
        for i in range(max(1, len(padded) - CHARACTERS + 1))
    )  # fmt: skip
    return tuple(words), tuple(letters)


def is_code(word: str) -> bool:
    """Whether a word stands for the code of an error: `code104`, `codeminus9`."""
    return _IS_CODE.match(word) is not None


@lru_cache(maxsize=65536)
def shingles(mask: str) -> frozenset[str]:
    """Runs of two and three words of a masked line, its beginning and end among them: what is left of a line whose words were mixed is little."""
    tokens = ["^", *(token.lower() for token in _TOKEN.findall(mask) if not is_code(token)), "$"]
    return frozenset([*map(" ".join, pairwise(tokens)), *map(" ".join, zip(tokens, tokens[1:], tokens[2:], strict=False))])


def in_order(one: str, other: str) -> float:
    """The share of the words that two masked lines have in common which stand in the same order in both, 0 to 1; 1 where none is common.

    Another wording, a cut or a frame leaves most of them in order; a line whose words were mixed does not.
    """
    here, there = one.lower().split()[:COMPARED], other.lower().split()[:COMPARED]
    common = (Counter(here) & Counter(there)).total()
    longest = [0] * (len(there) + 1)  # of the common subsequences, after each word
    for word in here:
        above = longest[:]
        for i, own in enumerate(there, 1):
            longest[i] = above[i - 1] + 1 if word == own else max(longest[i - 1], above[i])
    return longest[-1] / common if common else 1.0


def likeness(common: int, one: int, other: int) -> float:
    """How much of two lines is the same, 0 to 1: the cosine of their runs of words, by how many are common and how many each has."""
    return common / (one * other) ** 0.5 if one and other else 0.0
