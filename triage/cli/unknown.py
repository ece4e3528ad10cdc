"""`triage unknown`: incidents that no rule named, clustered, and a first rule for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, finish, input_options, read
from triage.cli.writing import emit

if TYPE_CHECKING:
    from triage.verdict.unknown import Cluster, Likeness

LIKENESS = ("exact", "words", "text")


@click.command()
@input_options
@click.option("--draft", metavar="DIR", type=click.Path(file_okay=False), help="Write a rule file for each cluster into DIR/faults.")
@click.option("--likeness", type=click.Choice(LIKENESS), default="words", show_default=True,
              help="How lines are compared that are not the same once masked; text needs the extra `learn`.")  # fmt: skip
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
def unknown(paths: tuple[str, ...], draft: str | None, likeness: Likeness, form: str, **given: Any) -> None:
    """Cluster the incidents that no rule named, by the lines nearest to their ends that look like trouble.

    What differs from one time to the next (times, numbers, paths, ids, quoted words) is masked before lines are compared. With --draft
    each cluster gets a rule file: a pattern, the line as its sample without a user's words, and a near miss from the healthy part of
    the same log. Read it, check it with `triage rules check DIR`, and use it with `--rules DIR`.

    \b
    Examples:
      triage unknown logs/
      triage unknown logs/ --draft own-rules/ && triage rules check own-rules/
      triage classify logs/ --rules own-rules/
    """
    from pathlib import Path

    from triage.report import draft as drafting
    from triage.report import unknown as report
    from triage.report.numbers import numbered
    from triage.report.redact import Redactor, knowing

    findings = numbered(read(paths, **given))
    found = _clusters(findings, likeness)
    drafts = drafting.drafts(found, knowing(Redactor(), findings)) if draft is not None else []
    if draft is not None:
        try:
            drafts = drafting.write(drafts, Path(draft))
        except OSError as error:
            click.echo(f"triage: {draft}: {error.strerror or error}: give --draft a folder that can be written to", err=True)
            raise SystemExit(NOTHING_READ) from error
    if form == "json":
        from triage.report.inert import as_json

        emit(as_json(report.document(findings, found, drafts)), None)
    else:
        emit(report.text(findings, found, drafts, markdown=form == "markdown"), None)
    finish(findings)


def _clusters(findings: Any, likeness: Likeness) -> list[Cluster]:
    from triage.verdict.unknown import clusters

    try:
        return clusters(findings.verdicts, likeness)
    except ModuleNotFoundError:
        click.echo("triage: --likeness text needs scikit-learn (pip install 'crash-triage[learn]'): compared by words instead", err=True)
        return clusters(findings.verdicts, "words")
