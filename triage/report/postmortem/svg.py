"""Draws inline SVG that needs no script: places across in per cent, so that a plot fits any width while its text and marks keep their size."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

import msgspec

from triage.report.postmortem.parts import Card

COLOURS = 8
MANY = 250  # incidents in a lane from which marks are drawn thin and let others shine through
INSET = 2.0  # per cent kept free on either side: half a mark, half a label


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """A plot with what stands for it where it cannot be seen: a sentence that says what it shows, and its figures as a table.

    `key` says what its signs mean, `hint` what can be done with it on a screen.
    """

    name: str
    title: str
    says: str
    svg: str
    key: str = ""
    hint: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def tag(name: str, *inside: str, text: str = "", **attributes: object) -> str:
    """One element. `inside` are elements, `text` is text; a trailing `_` in an attribute's name is left out, `_` within it is `-`."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items() if value is not None)
    content = escape(text, quote=False) + "".join(inside)
    return f"<{name}{given}>{content}</{name}>" if content else f"<{name}{given}/>"


def across(share: float) -> str:
    """A share of the width (0 to 1) as a place in per cent."""
    return f"{INSET + (100 - 2 * INSET) * share:.2f}%"


def wide(share: float) -> str:
    return f"{max(0.0, (100 - 2 * INSET) * share):.2f}%"


def drawing(name: str, title: str, height: int, inside: Iterable[str]) -> str:
    """A whole drawing as wide as its place. It is a group of links to a screen reader, named by the plot's title."""
    return tag("svg", *inside, class_="plot", id=f"{name}-plot", width="100%", height=height, role="group", aria_label=title)


def label(x: str, y: float, text: str, kind: str = "", anchor: str | None = None) -> str:
    return tag("text", text=text, x=x, y=f"{y:g}", class_=kind or None, text_anchor=anchor, aria_hidden="true")


def line(x1: str, y1: float, x2: str, y2: float, kind: str) -> str:
    return tag("line", x1=x1, y1=f"{y1:g}", x2=x2, y2=f"{y2:g}", class_=kind)


def box(x: str, y: float, width: str, height: float, kind: str, title: str = "") -> str:
    return tag("rect", *([tag("title", text=title)] if title else []), x=x, y=f"{y:g}", width=width, height=f"{height:g}", class_=kind)


def mark(card: Card, *shape: str, first: bool = False) -> str:
    """A mark that leads to an incident's card. One of a plot can be reached by Tab; arrow keys go on from there.

    A brief card's mark is named by the page's script when it is reached: thousands of names would be a megabyte.
    """
    named = card.summary if card.full or first else None
    kind = f"m c{card.lane % COLOURS} k{card.lane}"
    return tag("a", *shape, href=f"#i-{card.id}", class_=kind, tabindex=0 if first else -1, aria_label=named)


def anchored(end: float) -> str:
    """How a label stands at a share of the width so that it stays inside."""
    return "start" if end < 0.04 else "end" if end > 0.96 else "middle"


