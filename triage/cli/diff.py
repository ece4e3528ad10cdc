"""`triage diff`: whose verdict changed between two sets of rules."""

from __future__ import annotations

from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, finish, gathered, input_options, warn
from triage.cli.writing import emit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triage.knowledge.load import Knowledge
    from triage.model import Findings

CHANGED = 1
FOLDER = click.Path(file_okay=False)


@click.command()
@input_options
@click.option("--old", type=FOLDER, metavar="DIR", help="The rules before (default: ours).")
@click.option("--new", type=FOLDER, metavar="DIR", help="The rules after (default: ours).")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when a verdict changed.")
def diff(paths: tuple[str, ...], old: str | None, new: str | None, form: str, exit_code: bool, **given: Any) -> None:
    """Judge the same logs by two sets of rules and say whose verdict changed: its class, or the line that is cited as the root.

    A whole set of rules (one with forks.toml and faults/) stands instead of ours; any other folder is added to ours. --rules adds to both.

    \b
    Examples:
      triage diff --new my-rules/ logs/
      triage diff --old rules-1.0/ --new rules-1.1/ logs/
      triage diff --old rules-1.0/ --exit-code --format json logs/ | jq '.changed[].id'

    \b
    Exit codes: 0 ran, 1 with --exit-code where a verdict changed, 2 nothing readable or wrong usage, 3 part of the input could not be read.
    """
    import tempfile

    from triage.report.changes import diff_json, diff_text
    from triage.verdict.changes import changed, compared

    if old is None and new is None:
        raise click.UsageError("name at least one set of rules: --old DIR, --new DIR")
    known = _rules(old, given["rules"]), _rules(new, given["rules"])
    with tempfile.TemporaryDirectory(prefix="triage-") as folder:
        kept = _kept(paths, folder)
        before, after = (_findings(kept, folder, one, given) for one in known)
    warn(after)
    changes, versions = compared(before, after), (before.rules, after.rules)
    emit(diff_json(changes, versions) if form == "json" else diff_text(changes, versions, style="github" if form == "markdown" else "simple"), None)
    if exit_code and changed(changes):
        raise SystemExit(CHANGED)
    finish(after)


def _rules(folder: str | None, extra: tuple[str, ...]) -> Knowledge:
    from pathlib import Path

    from triage.knowledge.load import RuleError, load, load_folder

    above = [Path(one) for one in extra]
    try:
        return load_folder(Path(folder), above) if folder else load(above)
    except RuleError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error


def _findings(paths: tuple[str, ...], folder: str, known: Knowledge, given: dict[str, Any]) -> Findings:
    from triage.pipeline import judged
    from triage.report.numbers import numbered
    from triage.verdict.window import within

    with _stdin_of(folder):
        return numbered(within(judged(gathered(paths, known, **given), known), given["since"], given["until"]))


def _kept(paths: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """The paths, with a copy in `folder` for each pipe, which can be read but once. The copy of stdin is what stdin then reads."""
    import sys

    from triage.sources.paths import STDIN, is_pipe, path_of

    if STDIN in paths:
        _save(sys.stdin.buffer, f"{folder}/stdin")
    pipes = [path for path in paths if path != STDIN and is_pipe(path)]
    copies = {path: f"{folder}/pipe-{number}" for number, path in enumerate(pipes, 1)}
    for path, copy in copies.items():
        with open(path_of(path), "rb") as pipe:
            _save(pipe, copy)
    return tuple(copies.get(path, path) for path in paths)


def _save(whole: IO[bytes], copy: str) -> None:
    import shutil

    with open(copy, "wb") as file:
        shutil.copyfileobj(whole, file)


@contextmanager
def _stdin_of(folder: str) -> Iterator[None]:
    """Stdin is the copy of it in `folder`, from its start, where there is one."""
    import sys
    from pathlib import Path

    copy, before = Path(folder) / "stdin", sys.stdin
    if not copy.exists():
        yield
        return
    try:
        with copy.open(encoding="utf-8", errors="replace") as sys.stdin:
            yield
    finally:
        sys.stdin = before
