"""`triage report`: the postmortem, as a page or as Markdown, and the same findings for CI."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from triage.cli.ledger_place import all_of, journal_path, ledger_option
from triage.cli.options import PARTLY_READ, finish, input_options, knowledge, read
from triage.cli.recording import opened, store_option
from triage.cli.values import OutputFile, check_names
from triage.cli.writing import emit, refuse_input

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.model import Findings
    from triage.report.postmortem.given import Mitigation, Trial
    from triage.report.postmortem.say import Say

FORMATS = ("html", "markdown", "sarif", "junit")


@click.command()
@partial(input_options, required=False)
@click.option("--format", "form", type=click.Choice(FORMATS), default="html", show_default=True, help="A page, Markdown, or a file for CI.")
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout.")
@click.option("--class", "only", multiple=True, metavar="CLASS", help="Only incidents of this class; may be given several times.")
@click.option("--title", default="", help="What the postmortem is called.")
@click.option("--no-redact", is_flag=True, help="Leave keys, tokens, prompts, users, hosts and addresses as they are.")
@click.option("--trial", "folders", multiple=True, metavar="DIR", type=click.Path(), help="A trial to show with its margins; may be repeated.")
@ledger_option
@store_option
def report(paths: tuple[str, ...], form: str, output: str | None, only: tuple[str, ...], title: str, no_redact: bool, folders: tuple[str, ...],
           journal: str | None, store: str | None, **given: Any) -> None:  # fmt: skip
    """Write the postmortem: impact, classes, timeline, plots, a card for each incident, and what cannot be said.

    With PATH from logs, as `triage classify` reads them; without from the history. The page is one file that needs no network.
    What people must write (trigger, lessons, where we got lucky, actions) is left blank under its heading.

    \b
    Examples:
      triage report logs/ -o postmortem.html
      triage report --since 14d --format markdown -o postmortem.md
      triage report night/runs/ --trial night/ -o night.html
      triage report logs/ --format junit -o triage.xml        # in CI, after a soak test

    \b
    Exit codes: 0 ran, 2 nothing readable or wrong usage, 3 part of the input could not be read.
    """
    from triage.report.postmortem.asked import left_out, of_classes, of_part
    from triage.report.postmortem.say import Say
    from triage.report.redact import Redactor

    if paths and store and not _from_environment("store"):
        raise click.UsageError("give PATH to report what logs say, or --store to report what the history has; not both")
    if folders and form in ("sarif", "junit"):
        raise click.UsageError(f"a trial stands in a page or in Markdown: --trial and --format {form} do not go together")
    known = knowledge(given["rules"])
    check_names(only, known.classes, "--class")
    refuse_input(output, paths)
    findings, named = _from_logs(paths, known, given) if paths else _from_history(store, given)
    say = Say(Redactor(known.redaction, on=not no_redact))
    measures = _mitigations(findings, journal, store, given)
    tried, lost = _trials(folders, known, given, output)
    limits = (*left_out(findings, only), *of_part(bool(measures), given["since"], given["until"]), *named.get("limits", ()))
    named |= {"title": title, "only": only, "limits": limits}
    emit(_rendered(of_classes(findings, only), known, say, form, named, measures, tried), output)
    finish(findings)
    if lost:
        raise SystemExit(PARTLY_READ)


def _from_environment(name: str) -> bool:
    """Whether an option was not typed but stands in the environment: then it only says where the history is."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.ENVIRONMENT


def _from_logs(paths: tuple[str, ...], known: Knowledge, given: dict[str, Any]) -> tuple[Findings, dict[str, Any]]:
    from triage.report.numbers import numbered

    return numbered(read(paths, known=known, **given)), {}


def _from_history(store: str | None, given: dict[str, Any]) -> tuple[Findings, dict[str, Any]]:
    from triage.history import query
    from triage.report.history import findings_of, heading
    from triage.report.postmortem.asked import of_history

    with opened(store) as kept:
        every = query.entries(kept.db, since=given["since"], until=given["until"], dismissed=True)
        counted = [entry for entry in every if not entry.dismissed]
        found = findings_of(
            counted,
            boots=tuple(query.boots(kept.db, since=given["since"], until=given["until"])),
            outages=tuple(query.outages(kept.db, since=given["since"], until=given["until"])),
            sources=tuple(query.sources(kept.db)),
            coverage=query.covered(kept.db, since=given["since"], until=given["until"]),
        )
    relabelled = sum(entry.judged != entry.fault_class for entry in counted)
    return found, {"heading": heading(found), "limits": tuple(of_history(len(every) - len(counted), relabelled))}


def _mitigations(findings: Findings, journal: str | None, store: str | None, given: dict[str, Any]) -> tuple[Mitigation, ...]:
    """The mitigations of the journal held against these findings; none where there is no journal."""
    from triage.ledger.evidence import evidence_of
    from triage.ledger.standing import standings
    from triage.report.postmortem.records import mitigations

    path = journal_path(journal, store)
    if not path.exists() and journal is None:
        return ()
    return mitigations(standings(all_of(path), evidence_of(findings, since=given["since"], until=given["until"])), asked=given["since"])


def _trials(folders: tuple[str, ...], known: Knowledge, given: dict[str, Any], output: str | None) -> tuple[list[Trial] | None, bool]:
    """The trials that were named, None where none was; and whether part of them could not be read."""
    from pathlib import Path

    from triage.cli.trial_folder import read_folder
    from triage.report.trial_record import records

    if not folders:
        return None, False
    found = [(Path(folder).resolve().name, read_folder(folder, known, given["tz"], given["year"], output)) for folder in folders]
    lost = any(problem.lost for _, trial in found for problem in trial.problems)
    return [one for name, trial in found for one in records(trial, name)], lost


def _rendered(findings: Findings, known: Knowledge, say: Say, form: str, named: dict[str, Any], measures: Sequence[Mitigation],
              tried: Sequence[Trial] | None) -> str:  # fmt: skip
    from triage import __version__

    if form in ("sarif", "junit"):
        from triage.report import ci

        return ci.written(findings, form, known, say, version=__version__, only=named["only"], unread_known="heading" not in named)
    return _postmortem(findings, known, say, form, named, measures, tried)


def _postmortem(findings: Findings, known: Knowledge, say: Say, form: str, named: dict[str, Any], measures: Sequence[Mitigation],
                tried: Sequence[Trial] | None) -> str:  # fmt: skip
    from triage import __version__
    from triage.report.postmortem.gather import gather

    parts = gather(findings, known, say, mitigations=measures, trials=tried, **named)
    if form == "markdown":
        from triage.report.postmortem.markdown import as_markdown

        return as_markdown(parts, say, mitigations=measures, trials=tried, redacting=say.redactor.on)
    from triage.report.postmortem.html import as_html

    try:
        return as_html(parts, say, mitigations=measures, trials=tried, redacting=say.redactor.on, version=__version__)
    except ModuleNotFoundError as error:
        raise click.UsageError(f"the page needs {error.name}: pip install 'crash-triage[pages]' (--format markdown needs nothing)") from error
