"""Rates, lengths and counts as options take them: 17/17d, 10m, 12."""

from __future__ import annotations

import math
from typing import Any

import click

from triage.ledger.entry import Baseline, EntryError
from triage.ledger.wording import baseline_of, seconds_of

MOST = 1_000_000


class Rate(click.ParamType[Baseline]):
    """So many events in so long a time; at least one event."""

    name = "n/time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Baseline:
        if isinstance(value, Baseline):
            return value
        try:
            rate = baseline_of(str(value))
        except EntryError as error:
            self.fail(str(error), param, ctx)
        if not 0 < rate.events <= MOST:
            self.fail(f"{value!r}: a rate rests on one event at least and a million at most", param, ctx)
        return rate


class Length(click.ParamType[float]):
    """A length of time in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            return seconds_of(str(value))
        except EntryError as error:
            self.fail(str(error), param, ctx)


class Factor(click.FloatRange):
    """How many times as fast: a number that can be one of an engine, up to a million times and down to a millionth."""

    def __init__(self) -> None:
        super().__init__(min=1 / MOST, max=MOST)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is no number", param, ctx)
        return number


class Count(click.IntRange):
    """A whole number, none by default or more, up to a million."""

    def __init__(self, least: int = 0) -> None:
        super().__init__(min=least, max=MOST)
