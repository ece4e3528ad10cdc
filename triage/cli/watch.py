"""`triage watch`: follows logs and tells of incidents as they end, and of a hang while it lasts."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from triage.cli.options import PARTLY_READ, knowledge
from triage.cli.recording import WAIT, path_of, store_option
from triage.cli.values import Zone

KINDS = ("engine", "probe", "kernel")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(dir_okay=False))
@click.option("--interval", type=click.FloatRange(min=0.1), default=5.0, show_default=True, metavar="SECONDS", help="How often to look.")
@click.option("--once", is_flag=True, help="Read up to the end of the files and leave.")
@click.option("--source", default="", metavar="NAME", help="What the log is called in the history (default: its path).")
@click.option("--kind", type=click.Choice(KINDS), help="What the input is, where sniffing is wrong.")
@click.option("--tz", type=Zone(), default="UTC", show_default=True, help="Zone of stamps that name none: Europe/Berlin, +02:00.")
@click.option("--rules", multiple=True, type=click.Path(file_okay=False), help="A folder of rules to add; may override.")
@store_option
def watch(paths: tuple[str, ...], interval: float, once: bool, source: str, kind: Any, tz: str, rules: tuple[str, ...], store: str | None) -> None:
    """Follow files that grow and rotate, and tell each incident in three lines when it is seen and when its class changes.

    What happens is recorded in the history. Stopped and started again it goes on where it was.

    \b
    Example:
      triage watch /var/log/vllm.log /var/log/probe.jsonl
    """
    from triage.history.errors import StoreError
    from triage.history.store import open_store
    from triage.parsers.options import Options
    from triage.watching import Watcher

    known = knowledge(rules)
    _warn_of_missing(paths)
    try:
        with open_store(path_of(store)) as history:
            watcher = Watcher(history, known, paths, kind=kind, options=Options(tz=tz), source=source)
            while True:
                more = _step(watcher)
                if once and not more:
                    return
                if not more:
                    time.sleep(interval)
    except StoreError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(PARTLY_READ) from error


def _warn_of_missing(paths: tuple[str, ...]) -> None:
    """A word for each file that cannot be read now: it may be about to be made, or its name may be wrong. Refuses what is no file."""
    from triage.sources.paths import shown
    from triage.sources.urls import is_url

    for path in paths:
        if is_url(path):
            raise click.UsageError(f"{shown(path)}: only files can be followed; read it from time to time with `triage classify ADDRESS --new`")
        if path == "-" or (os.path.exists(path) and not os.path.isfile(path)):
            raise click.UsageError(f"{path}: only files can be followed; what comes through a pipe is for `triage classify - --new`")
        if not os.access(path, os.R_OK):
            why = "cannot be read" if os.path.exists(path) else "there is no such file"
            click.echo(f"triage: {path}: {why}; it is followed as soon as it can be", err=True)


def _step(watcher: Any) -> bool:
    """One look at the files, and what is to be told then; whether there may be more to read at once."""
    from triage.history.query import mark_told, untold
    from triage.history.store import one_at_a_time
    from triage.report.news import news

    with one_at_a_time(watcher.store.path, WAIT):
        more = bool(watcher.step())
        found = untold(watcher.store.db)
        told = [(entry.verdict, entry.told) for entry in found if entry.verdict.fault or entry.told]
        if told:
            click.echo(news(told, where="triage history show"))
        if found:
            with watcher.store.transaction() as db:
                mark_told(db, found)
    return more
