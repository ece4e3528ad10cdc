"""What `--record`, `--new` and `--quiet` do: one run at a time reads, records, tells what is new, and notes that it was told."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ

if TYPE_CHECKING:
    from triage.history.metrics import Metric
    from triage.history.query import Entry
    from triage.history.store import Store
    from triage.model import Findings
    from triage.pipeline import Evidence

F = TypeVar("F", bound=Callable[..., Any])
WAIT = 60.0


def store_option(command: F) -> F:
    """--store, also as TRIAGE_STORE."""
    return click.option("--store", metavar="FILE", envvar="TRIAGE_STORE", help="The history (default: $XDG_STATE_HOME/triage/history.db).")(command)


def record_options(command: F) -> F:
    """How a run is remembered."""
    for decorate in reversed(
        (
            click.option("--record", is_flag=True, help="Remember what was found in the history."),
            click.option("--new", is_flag=True, help="Show only what no run has told yet (records, too)."),
            click.option("--quiet", "-q", is_flag=True, help="Three lines an incident, and nothing at all where there is none."),
            store_option,
            click.option("--source", default="", metavar="NAME", help="What the log is called in the history, such as vllm@gpu7: needed for pipes."),
            click.option("--wait", type=click.FloatRange(min=0), default=WAIT, show_default=True, metavar="SECONDS",
                         help="How long to wait for another run that records; then leave it to that one and exit with 0."),
            click.option("--prom", metavar="FILE", help="After recording, write metrics for Prometheus' textfile collector."),
        )
    ):  # fmt: skip
        command = decorate(command)
    return command


def path_of(store: str | None) -> Path:
    from triage.history.place import default_store

    return Path(store) if store else default_store()


@contextlib.contextmanager
def opened(store: str | None, *, write: bool = False) -> Iterator[Store]:
    """The store for a command that asks it; exits with 3 and a word where it cannot be used, or fails while it is."""
    from triage.history.errors import StoreError
    from triage.history.store import open_store

    try:
        with open_store(path_of(store), write=write) as kept:
            yield kept
    except StoreError as error:
        raise _given_up(error) from error


def recorded(
    evidence: Callable[[], Evidence],
    known: Any,
    show: Callable[[Sequence[Entry], Findings | None], Sequence[Entry]],
    *,
    store: str | None,
    wait: float,
    source: str,
    new: bool,
    prom: str | None = None,
    since_event: str = "onset",
    held: Callable[[Store], Sequence[Metric]] | None = None,
    lines_of_all: bool = False,
) -> None:
    """Read, record and show under the store's lock; `show` gets what no run has told yet, and with `new` off the findings of this run.

    What `show` gives back counts as told. `held` is asked before that what else the history now says, and for metrics of that.

    Exits with 0 and a word where another run keeps the lock, with 3 where the store cannot be used.
    """
    from triage.history.errors import BusyError, StoreError
    from triage.history.query import mark_told, untold
    from triage.history.store import one_at_a_time, open_store
    from triage.pipeline import judged
    from triage.recording import record

    path = path_of(store)
    gathered: Evidence | None = None
    try:
        with one_at_a_time(path, wait), open_store(path) as history:
            gathered = evidence()
            record(history, gathered, known, source=source, since_event=since_event)
            further = held(history) if held is not None else ()
            news = untold(history.db)
            told = show(news, None if new else judged(gathered, known, since_event=since_event, lines_of_all=lines_of_all))
            if new:
                with history.transaction() as db:
                    mark_told(db, told)
            _write_metrics(history, prom, further)
    except BusyError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(0) from error
    except StoreError as error:
        if not new:
            show([], judged(gathered or evidence(), known, since_event=since_event, lines_of_all=lines_of_all))
        raise _given_up(error) from error


def _write_metrics(history: Store, prom: str | None, further: Sequence[Metric]) -> None:
    if prom is None:
        return
    from triage.history.metrics import metrics
    from triage.report.prometheus import write

    try:
        write(Path(prom), [*metrics(history.db, time.time()), *further])
    except OSError as error:
        click.echo(f"triage: {prom}: metrics not written: {error.strerror or error}", err=True)
        raise SystemExit(PARTLY_READ) from error


def _given_up(error: Exception) -> SystemExit:
    click.echo(f"triage: {error}", err=True)
    return SystemExit(PARTLY_READ)


def one_of(history: Store, name: str) -> Entry:
    """The one incident with an id; exits with 2 where there is none or several."""
    from triage.history.query import entry_of

    found = entry_of(history.db, name)
    if len(found) != 1:
        told = ", ".join(entry.id for entry in found[:10])
        click.echo(f"triage: no incident {name!r} in the history" if not found else f"triage: {name!r} may be {told}", err=True)
        raise SystemExit(NOTHING_READ)
    return found[0]
