"""`triage explain`: why one incident got its class."""

from __future__ import annotations

from typing import Any

import click

from triage.cli.options import NOTHING_READ, finish, input_options, read


@click.command()
@click.argument("incident")
@input_options
@click.option("--why-not", metavar="CLASS", help="Say instead which condition this class lacked.")
def explain(incident: str, paths: tuple[str, ...], why_not: str | None, **given: Any) -> None:
    """Show why an incident got its class: forks, root, consequences, what lost, and which evidence is missing.

    INCIDENT is the id that `triage classify` prints, or its first digits; `all` explains every one.

    \b
    Examples:
      triage explain 3fa2b1c0 logs/
      triage explain all logs/
      triage explain 3fa2b1c0 --why-not collective-hang logs/
    """
    from pathlib import Path

    from triage.knowledge.load import load
    from triage.report.explain import explain as explained
    from triage.report.numbers import numbered

    findings = numbered(read(paths, **given))
    chosen = [v for v in findings.verdicts if incident == "all" or (incident and v.incident.id.startswith(incident))]
    if not chosen:
        known = ", ".join(v.incident.id for v in findings.verdicts) or "none"
        click.echo(f"triage: no incident {incident!r} in what was read; incidents here: {known}", err=True)
        raise SystemExit(NOTHING_READ)
    knowledge = load([Path(folder) for folder in given["rules"]])
    if why_not is not None and why_not not in knowledge.classes:
        raise click.BadParameter(f"no class {why_not!r}; the classes: {', '.join(sorted(knowledge.classes))}", param_hint="--why-not")
    if why_not is not None:
        from triage.report.explain import explain_why_not

        click.echo("\n\n".join(explain_why_not(v, why_not, knowledge) for v in chosen))
        finish(findings)
        return
    click.echo("\n\n".join(explained(v, knowledge, joined=findings.hints) for v in chosen))
    finish(findings)
