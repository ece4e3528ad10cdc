"""How input is to be read where it does not say so itself."""

from __future__ import annotations

from typing import Literal

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Zone and year of stamps without one, the user's own probe format and what its stamps mean, and where a rank stands in a name.

    `last_lines`: the last lines before each turn in an engine's life are kept, whatever they say, for a model that may be asked.
    """

    tz: str = "UTC"
    year: int | None = None
    probe_format: str | None = None
    probe_stamp: Literal["start", "end"] = "start"
    rank_from: str | None = None
    last_lines: bool = True
