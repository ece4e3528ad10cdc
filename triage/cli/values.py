"""The values that options take, each refused with a line that names what was given and what is possible."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import click

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
YEARS = (1990, 2199)  # between them a log of an engine was written


class Moment(click.ParamType[float]):
    """A point in time: ISO 8601 (UTC unless it says otherwise), a date, or a length before now such as `30d`, `6h`, `15m`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from datetime import UTC, datetime

        if isinstance(value, float):
            return value
        try:
            if value[:-1].isdecimal() and value[-1] in UNITS:
                return datetime.fromtimestamp(datetime.now(UTC).timestamp() - int(value[:-1]) * UNITS[value[-1]], UTC).timestamp()
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is no time: write 2026-11-12, 2026-11-12T03:10Z, or a length before now such as 30d or 6h", param, ctx)


class Zone(click.ParamType[str]):
    """A time zone: an IANA name or an offset."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value != "UTC":
            from triage.sources.clock import zone_of

            try:
                zone_of(value)
            except ValueError:
                self.fail(f"{value!r} is no time zone: write UTC, a name such as Europe/Berlin, or an offset such as +02:00", param, ctx)
        return str(value)


class ProbeFormat(click.ParamType[str]):
    """A regex for a probe log, with groups that tell what came of a probe."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from triage.parsers.probe.dates import DateReader
        from triage.parsers.probe.lines import UserFormat

        try:
            UserFormat(value, DateReader("UTC", None))
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)
        return str(value)


class RankPattern(click.ParamType[str]):
    """A regex whose first group is the rank in the name of a dump."""

    name = "regex"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        import re

        try:
            groups = re.compile(value).groups
        except re.error as error:
            self.fail(f"{value!r} is no regular expression: {error}", param, ctx)
        if not groups:
            self.fail(f"{value!r} has no group: put the rank in one, such as rank(\\d+)", param, ctx)
        return str(value)


class OutputFile(click.ParamType[str]):
    """Where an answer is to be written: refused at once where that cannot be done, before anything is read."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = str(value)
        folder = os.path.dirname(os.path.realpath(path))
        if os.path.isdir(path):
            self.fail(f"{path!r} is a folder: name a file in it", param, ctx)
        if path != "-" and not os.path.exists(path) and not os.path.isdir(folder):
            self.fail(f"{path!r} cannot be written: there is no folder {folder}", param, ctx)
        return path


def check_names(given: Iterable[str], possible: Iterable[str], option: str) -> None:
    """Refuse a name that is none of the `possible` ones. Raises BadParameter, which names it and them."""
    known = sorted(possible)
    for name in given:
        if name not in known:
            raise click.BadParameter(f"no {name!r}; possible: {', '.join(known)}", param_hint=option)
