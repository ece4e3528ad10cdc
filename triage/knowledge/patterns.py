"""Turns a rule's pattern into the wider one that the one-pass scanner runs.

The scanner reports every end offset at which a pattern matches, sees lines with their envelopes on, and knows no group names
and no lookaround. So names go, anchors go (an envelope may stand before the line), and open tails are trimmed: `foo.*` on a line
of 200 bytes would be reported 200 times. What is left matches wherever the rule matches, and maybe elsewhere; the rule decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType

import msgspec

from triage.expressions import compiled_later
from triage.knowledge.load import Knowledge, load
from triage.knowledge.schema import Line, Signature

_ATOM = r"(?:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\.)"
_TOKEN = compiled_later(rf"{_ATOM}|.", re.DOTALL)
_OPEN_TAIL = compiled_later(rf"(?P<keep>.*?)(?P<atom>{_ATOM})(?P<many>[*+]|\{{\d+,\d*\}})[?+]?(?P<close>\)*)$", re.DOTALL)
_OPTIONAL_GROUP = compiled_later(r"\(\?:(?:[^()\\]|\\.)*\)[?*]$")
_GROUP_NAME = compiled_later(r"\(\?P?<[A-Za-z_]\w*>")
_LOOKAROUND = compiled_later(r"(?<!\\)\(\?<?[=!]")
_IGNORE_CASE = "(?i)"


class ScanPattern(msgspec.Struct, frozen=True, array_like=True):
    """What the scanner compiles for one rule: an expression, and how it must be compiled. `once`: one match in a piece is enough."""

    rule: str
    expression: str
    ignore_case: bool
    prefilter: bool
    once: bool = False


def widened(pattern: str) -> str:
    """A pattern without names, anchors and open tails that matches at least wherever `pattern` does."""
    return _without_open_tail(_without_anchors(_GROUP_NAME.sub("(?:", pattern)))


def _without_open_tail(pattern: str) -> str:
    while (shorter := _trimmed(pattern)) != pattern:
        pattern = shorter
    head, alternatives = _last_group(pattern)
    return head + "(?:" + "|".join(map(_without_open_tail, alternatives)) + ")" if len(alternatives) > 1 else pattern


def _last_group(pattern: str) -> tuple[str, list[str]]:
    """What stands before the group that ends a pattern, and that group's alternatives; none where no plain group ends it."""
    tokens, depth, bars = _TOKEN.findall(pattern), 0, []
    for index in range(len(tokens) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[index], 0)
        if depth == 1 and tokens[index] == "|":
            bars.append(index)
        if depth == 0:
            break
    else:
        return pattern, []
    if not tokens or tokens[-1] != ")" or tokens[index + 1 : index + 3] != ["?", ":"]:
        return pattern, []
    edges = [index + 2, *reversed(bars), len(tokens) - 1]
    return "".join(tokens[:index]), ["".join(tokens[a + 1 : b]) for a, b in pairwise(edges)]


def _without_anchors(pattern: str) -> str:
    return "".join(token for token in _TOKEN.findall(pattern) if token not in ("^", "$", r"\A", r"\Z"))


def _trimmed(pattern: str) -> str:
    optional = _OPTIONAL_GROUP.search(pattern)
    if optional and optional.start() > 0:
        return pattern[: optional.start()]
    tail = _OPEN_TAIL.fullmatch(pattern)
    if tail is None or _escaped(tail["keep"]):
        return pattern
    kept = tail["atom"] if tail["many"] == "+" or (tail["many"].startswith("{") and not tail["many"].startswith("{0")) else ""
    return tail["keep"] + kept + tail["close"] if tail["keep"] or kept else pattern


def _escaped(text: str) -> bool:
    """Whether what follows `text` is escaped by the backslashes at its end."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def scan_pattern(rule: Signature | Line, known: Mapping[str, str] = MappingProxyType({})) -> ScanPattern:
    """The scanner's pattern of one rule: the one it gives by hand, or its own pattern widened, which may be `known`."""
    source = rule.scan or known.get(rule.pattern) or widened(rule.pattern)
    expression = source.removeprefix(_IGNORE_CASE)
    return ScanPattern(rule.id, expression, expression != source, _looks_around(expression))


def _looks_around(expression: str) -> bool:
    may = "(?=" in expression or "(?!" in expression or "(?<" in expression  # found in less time, and most patterns have none of them
    return may and bool(_LOOKAROUND.search(expression))


def line_rules(knowledge: Knowledge) -> Iterator[Signature | Line]:
    """Every rule that is looked for in lines of text, in a stable order."""
    for fault in knowledge.classes.values():
        yield from fault.signatures
    yield from knowledge.echoes
    for engine in knowledge.engines.values():
        yield from engine.lines
    yield from knowledge.trouble.lines


def all_widened(knowledge: Knowledge) -> dict[str, str]:
    """The patterns of all rules that give the scanner none of their own, widened."""
    return {rule.pattern: widened(rule.pattern) for rule in line_rules(knowledge) if not rule.scan}


def main() -> None:
    """Print one pattern a line in a form that ripgrep takes with `--no-unicode`, for the benchmarks: other letters as their bytes."""
    for rule in line_rules(load()):
        scan = scan_pattern(rule)
        if scan.prefilter:
            continue  # ripgrep knows no lookaround
        expression = "".join(c if c.isascii() else "".join(f"\\x{byte:02x}" for byte in c.encode()) for c in scan.expression)
        print(f"(?i){expression}" if scan.ignore_case else expression)


if __name__ == "__main__":
    main()
