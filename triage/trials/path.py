"""Whether the path that a run was made for ran, and whether what was expected held: conditions on lines and figures of its logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from triage.trials.lines import Seen, Sought
from triage.trials.manifest import Item, Sign


class Shown(msgspec.Struct, frozen=True):
    """A condition, whether the logs show it, and the figure that they show (None: no line, and the condition is not a count)."""

    sign: Sign
    holds: bool
    figure: float | None

    @property
    def words(self) -> str:
        """What was seen and what was asked for: `loads: sum 0, at least 1`."""
        seen = "no line" if self.figure is None else f"{'' if self.sign.measure == 'count' else self.sign.measure + ' '}{self.figure:,.10g}"
        bounds = [f"at least {self.sign.at_least:,.10g}"] if self.sign.at_least is not None else []
        bounds += [f"at most {self.sign.at_most:,.10g}"] if self.sign.at_most is not None else []
        return f"{self.sign.name}: {seen}, asked {' and '.join(bounds)}"


def sought(items: Iterable[Item]) -> list[Sought]:
    """The lines that items ask about."""
    return [Sought(name_of(item, sign), sign.pattern) for item in items for sign in (*item.witnesses, *item.expects)]


def name_of(item: Item, sign: Sign) -> str:
    return f"sign {item.id}/{sign.name}/{sign.pattern}"


def shown(item: Item, signs: Iterable[Sign], seen: Mapping[str, Seen]) -> tuple[Shown, ...]:
    """Each condition against what was seen. A figure that no line shows holds no bound; a count of none is a count."""
    return tuple(_shown(sign, seen[name_of(item, sign)]) for sign in signs)


def _shown(sign: Sign, seen: Seen) -> Shown:
    figure = _figure(sign, seen)
    if figure is None:
        return Shown(sign, False, None)
    holds = (sign.at_least is None or figure >= sign.at_least) and (sign.at_most is None or figure <= sign.at_most)
    return Shown(sign, holds, figure)


def _figure(sign: Sign, seen: Seen) -> float | None:
    if sign.measure == "count":
        return float(seen.count)
    if sign.measure == "sum":
        return seen.total  # of no line it is 0: a counter that never moved is not printed
    return seen.largest if sign.measure == "largest" else seen.smallest
