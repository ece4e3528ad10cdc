"""What was found of one part of an installation, and in which order it is told."""

from __future__ import annotations

from typing import Literal

import msgspec

State = Literal["ok", "note", "absent", "broken"]
SECTIONS = ("versions", "scanner", "places", "optional parts", "variables", "terminal")


class Finding(msgspec.Struct, frozen=True):
    """One thing looked at: `what` was found, and what to `do` where it is not as it should be.

    `note`: works, and could be better. `absent`: an optional part that is not installed. `broken`: something will fail.
    """

    section: str
    name: str
    state: State
    what: str
    do: str = ""
