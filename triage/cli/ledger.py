"""`triage ledger`: where each mitigation stands, and whether its journal is what was written."""

from __future__ import annotations

from typing import Any

import click

from triage.cli.ledger_place import DRIFT_OR_VOID, all_of, evidence, evidence_options, journal_path, journalled, ledger_option
from triage.cli.options import finish
from triage.cli.recording import path_of, store_option
from triage.cli.values import OutputFile
from triage.cli.writing import emit, refuse_input

FAILING = ("refuted", "void", "paused", "confounded", "any")


class Standings(click.Group):
    """A group that shows the ledger where no command of it is named: `triage ledger PATH` is `triage ledger show PATH`."""

    standard = "show"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = next((a for a in args if a in self.commands), None)
        if named is not None:  # `triage ledger --ledger FILE verify`; a path of that name is ./verify
            at = args.index(named)
            args = [named, *args[:at], *args[at + 1 :]]
        elif not args or args[0] not in ("-h", "--help"):
            args = [self.standard, *args]
        return super().parse_args(ctx, args)


@click.group(cls=Standings)
def ledger() -> None:
    """Say where each mitigation stands: unverified, supported, refuted by which incident, void, confounded, withdrawn.

    \b
    Examples:
      triage ledger                          # the same as triage ledger show: against the history
      triage ledger logs/                    # against logs; these also tell when there was nothing to do
      triage ledger --format markdown
      triage ledger verify
    """


@ledger.command()
@evidence_options
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout.")
@click.option("--fail-on", multiple=True, type=click.Choice(FAILING), help="Exit with 1 when a mitigation stands there; may be given several times.")
@ledger_option
def show(paths: tuple[str, ...], form: str, output: str | None, fail_on: tuple[str, ...], journal: str | None, store: str | None,
         **given: Any) -> None:  # fmt: skip
    """Show where each mitigation stands, what that rests on, and what does not count; with --until, as it stood then.

    \b
    Exit codes: 0 it ran, 1 --fail-on matched, 2 nothing readable or wrong usage, 3 part of the input could not be read,
    4 a mitigation is void, or the journal is not as it was written.
    """
    from triage.ledger.standing import standings

    path = journal_path(journal, store)
    kept = (str(path), f"{path}.head", str(path_of(store)))
    refuse_input(output, (*paths, *kept))
    known = all_of(path, until=given["until"])
    seen, findings = evidence(paths, store, given)
    refuse_input(output, (file for source in findings.sources for file in source.files) if findings is not None else ())
    found = standings(known, seen)
    emit(_rendered(found, seen, path, form), output)
    if any(f == s.status or (f == "any" and s.status in FAILING) for s in found for f in fail_on):
        raise SystemExit(1)
    if any(s.status == "void" for s in found):
        raise SystemExit(DRIFT_OR_VOID)
    if findings is not None:
        finish(findings)


def _rendered(found: Any, seen: Any, path: Any, form: str) -> str:
    from triage.ledger.journal import read
    from triage.report.journal import journal_line
    from triage.report.ledger import ledger_table
    from triage.report.ledger_document import as_json

    records = read(path)
    if form == "json":
        return as_json(found, seen, records)
    return ledger_table(found, seen, style="github" if form == "markdown" else "simple", journal=journal_line(str(path), records))


@ledger.command()
@click.option("--head", "heads", multiple=True, metavar="HASH", help="A hash that was noted elsewhere: it must still be there.")
@ledger_option
@store_option
def verify(heads: tuple[str, ...], journal: str | None, store: str | None) -> None:
    """Say whether the journal is as it was written: nothing edited, taken out, moved or dated back.

    Whoever can write the journal can write all of it anew; a hash noted elsewhere (a ticket, a commit, a mail) shows that with --head.

    \b
    Examples:
      triage ledger verify
      triage ledger verify --head 94419a3726fb

    \b
    Exit codes: 0 it is, 2 there is none or it cannot be read, 4 it is not.
    """
    from triage.ledger.journal import RefusedError, examine
    from triage.report.journal import flaw_line, verified_line

    path = journal_path(journal, store)
    with journalled():
        records, flaws = examine(path, heads=heads)
        if not records and not flaws:
            raise RefusedError(f"there is no journal {path}: nothing was written there yet, or it lies elsewhere (--ledger, TRIAGE_LEDGER)")
        intact = verified_line(path, records, noted=bool(heads)) if not flaws else ""
    if not flaws:
        emit(intact, None)
        return
    emit("\n".join(flaw_line(str(path), flaw) for flaw in flaws), None)
    raise SystemExit(DRIFT_OR_VOID)
