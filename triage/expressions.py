"""Regular expressions that are compiled when they are first used: a run needs few of all that there are, and a small log is read in less time."""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast

SECONDS_PER_LINE = 0.25  # that one expression may take on one line: logs hold anything, and rules are written by anybody


class _Later(Generic[AnyStr]):
    """Stands for a compiled expression; what is asked of it once is kept, so that it costs nothing afterwards."""

    def __init__(self, expression: AnyStr, flags: int) -> None:
        self._asked: tuple[AnyStr, int] = (expression, flags)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and the like look for, and no expression has
            raise AttributeError(name)
        value = re.compile(*self._asked) if name == "_compiled" else getattr(self._compiled, name)
        setattr(self, name, value)
        return value


def compiled_later(expression: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The expression, compiled on first use. Only then a wrong one raises re.error: a test compiles them all."""
    return cast("re.Pattern[AnyStr]", _Later(expression, flags))
