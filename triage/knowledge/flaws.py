"""What can be wrong with a rule, as one record: what was asked, which rule, where it stands, and what to do about it."""

from __future__ import annotations

import msgspec

SHOWN = 100


class Flaw(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. `check` names the question that was asked; `place` is `file:line` where the rule begins."""

    check: str
    what: str
    rule: str = ""
    place: str = ""


def quoted(text: str) -> str:
    """A line of text as it can be shown in one: quoted, cut where it is long."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")
