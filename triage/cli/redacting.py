"""Options of whatever leaves the machine: what is taken out of it, and the words that say how much that was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from triage.cli.options import NOTHING_READ

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.report.redact import Redactor

F = TypeVar("F", bound=Callable[..., Any])


def redact_options(command: F) -> F:
    """--redact FILE and --no-redact."""
    no_redact = click.option("--no-redact", is_flag=True, help="Take nothing out: only for those who may read the logs themselves.")
    more = click.option("--redact", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
                        help="Take out more: rules in the shape of rules/redact.toml; may be given several times.")  # fmt: skip
    return no_redact(more(command))


def redactor_of(known: Knowledge, more: tuple[str, ...], no_redact: bool) -> Redactor:
    """The redactor that the options ask for; exits with 2 and a clear word where a file of rules is wrong."""
    from pathlib import Path

    from triage.knowledge.load import RuleError
    from triage.report.redact import Redactor
    from triage.report.redact.rules import with_files

    try:
        return Redactor(with_files(known.redaction, [Path(file) for file in more]), on=not no_redact)
    except RuleError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error


def taken_out(counts: Mapping[str, int], *, on: bool) -> str:
    """One line: how much was taken out, by kind, most first."""
    if not on:
        return "nothing taken out (--no-redact)"
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return f"taken out: {told or 'nothing: no rule found anything'}"
