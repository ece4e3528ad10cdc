"""Fits tables and text to the terminal: cells are shortened, columns left out in the order a report gives, long lines wrapped under themselves."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from triage.expressions import compiled_later

NARROWEST = 60
WIDEST_TEXT = 120  # sentences that are longer are hard to follow from line to line
UNKNOWN = 80
TERMINAL = "simple"  # the style of tabulate that goes to terminals; Markdown is never cut
_GAP = 2
_HEADING_PADDING = 2  # tabulate makes a column at least this much wider than its heading
_COMMAND = compiled_later(r"`[^`]{1,50}`")
_NO_BREAK = "\0"
_TITLE = compiled_later(r"[^ ].{0,30}?[^ ] {2,}(?=\S)")

Give = Sequence[tuple[str, int]]


def columns() -> int:
    """How wide the terminal is; 80 where that is not known."""
    return max(NARROWEST, shutil.get_terminal_size((UNKNOWN, 24)).columns)


def text_columns() -> int:
    """How wide running text is: as the terminal, as far as that can be read well."""
    return min(columns(), WIDEST_TEXT)


def fitted_table(
    headings: Sequence[str], cells: Sequence[Sequence[object]], style: str, give: Give = (), *, right: Sequence[str] = ()
) -> str:
    """A table no wider than the terminal as far as `give` allows: columns to be cut to so many characters (0: left out), tried in order.

    `right` are the headings of columns of figures.
    """
    from tabulate import tabulate

    table = [[str(cell) for cell in row] for row in cells]
    shown = list(headings)
    if style == TERMINAL:
        for heading, least in give:
            if _width(shown, table) > columns() and heading in shown:
                shown, table = _given(shown, table, heading, least)
    align = ["right" if heading in right else "left" for heading in shown]
    return tabulate(table, shown, tablefmt=style, colalign=align if table else None, disable_numparse=True)


def _given(headings: list[str], table: list[list[str]], heading: str, least: int) -> tuple[list[str], list[list[str]]]:
    """The table with one column left out, or cut as far as needed and to `least` characters at most."""
    at = headings.index(heading)
    if not least:
        return headings[:at] + headings[at + 1 :], [row[:at] + row[at + 1 :] for row in table]
    room = max(least, _of_column(headings, table, at) - (_width(headings, table) - columns()))
    return headings, [[*row[:at], shortened(row[at], room), *row[at + 1 :]] for row in table]


def shortened(text: str, width: int) -> str:
    """`text` in `width` characters. Of a path or the id of a rule the last part says most and is kept longest."""
    if len(text) > width and "/" in text:
        text = text.rsplit("/", 1)[1] or text
    return text if len(text) <= width else text[: width - 1] + "…"


def _width(headings: Sequence[str], table: Sequence[Sequence[str]]) -> int:
    return sum(_of_column(headings, table, at) for at in range(len(headings))) + _GAP * (len(headings) - 1)


def _of_column(headings: Sequence[str], table: Sequence[Sequence[str]], at: int) -> int:
    return max(len(headings[at]) + _HEADING_PADDING, *(len(row[at]) for row in table))


def wrapped(line: str, width: int) -> str:
    """A line of text in lines of `width`, the further ones under where its text begins. Words, paths too, and short `commands` are never broken."""
    if len(line) <= width:
        return line
    indent = len(line) - len(line.lstrip())
    title = _TITLE.match(line[indent:])
    hang = indent + (title.end() if title and title.end() <= width // 2 else 2)
    bound = _COMMAND.sub(lambda found: found[0].replace(" ", _NO_BREAK), line)
    filled = textwrap.fill(bound, width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)
    return filled.replace(_NO_BREAK, " ")
