"""`triage outages`: runs of failing probes."""

from __future__ import annotations

from typing import Any

import click

from triage.cli.options import finish, input_options, read
from triage.cli.writing import emit


@click.command()
@input_options
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
def outages(paths: tuple[str, ...], form: str, **given: Any) -> None:
    """List every outage: a run of failing probes between two good ones, and the incident it belongs to.

    \b
    Example:
      triage outages probe.log vllm.log
    """
    findings = read(paths, **given)
    emit(_rendered(findings, form), None)
    finish(findings)


def _rendered(findings: Any, form: str) -> str:
    if form == "json":
        from triage.report.document import outage
        from triage.report.inert import as_json

        return as_json([outage(o) for o in findings.outages])
    from triage.report.lists import outages_table

    return outages_table(findings, style="github" if form == "markdown" else "simple")
