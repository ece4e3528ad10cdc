"""`triage doctor`: whether triage itself is well, and what is missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from triage.cli.options import PARTLY_READ
from triage.cli.recording import path_of, store_option
from triage.cli.writing import emit

if TYPE_CHECKING:
    from triage.doctor.findings import Finding

JOURNAL = "ledger.jsonl"  # beside the history, where TRIAGE_LEDGER names no other file


@click.command()
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")
@store_option
def doctor(form: str, store: str | None) -> None:
    """Say whether triage is well: versions, scanner, places it writes to, optional parts and what each would give, variables, terminal.

    Nothing is changed, and nothing is sent anywhere.

    \b
    Examples:
      triage doctor
      triage doctor --format json | jq '.findings[] | select(.state != "ok")'

    \b
    Exit codes: 0 healthy, 3 something is broken (the arrow says what to do).
    """
    findings = _looked_at(path_of(store))
    for finding in findings:
        if finding.section == "scanner" and finding.state != "ok":
            click.echo(f"triage: scanner: {finding.name}: {finding.what}", err=True)
    emit(_rendered(findings, form), None)
    if any(finding.state == "broken" for finding in findings):
        raise SystemExit(PARTLY_READ)


def _looked_at(store: Path) -> list[Finding]:
    from triage.doctor.libraries import optional_parts, versions
    from triage.doctor.places import places, scanner
    from triage.doctor.surroundings import terminal, variables

    journal = Path(os.environ.get("TRIAGE_LEDGER") or store.parent / JOURNAL)
    return [*versions(), *scanner(), *places(store, journal), *optional_parts(), *variables(_options()), *terminal()]


def _options() -> set[str]:
    """The variables of all options of all commands."""
    from triage.cli.main import COMMANDS, main

    found: set[str] = set()
    waiting = [command for name in COMMANDS if (command := main.get_command(click.Context(main), name))]
    while waiting:
        command = waiting.pop()
        waiting += command.commands.values() if isinstance(command, click.Group) else ()
        for option in command.params:
            given = option.envvar or ()
            found.update((given,) if isinstance(given, str) else given)
    return found


def _rendered(findings: list[Finding], form: str) -> str:
    from triage.doctor.page import document, text

    if form == "text":
        return text(findings)
    import json

    return json.dumps(document(findings), indent=2)
