"""`triage exposure`: what a quiet time says."""

from __future__ import annotations

import click

from triage.cli.quantities import Count, Length, Rate
from triage.cli.writing import emit
from triage.ledger.entry import Baseline


@click.command()
@click.option("--rate", type=Rate(), required=True, help="The rate before, with what it rests on: 17/17d. 1/d is one event in one day.")
@click.option("--quiet", type=Length(), required=True, help="How long it has been since, in the time in which the fault could come: 6d, 36h.")
@click.option("--seen", type=Count(), default=0, show_default=True, help="How often it came since.")
@click.option("--verbose", is_flag=True, help="Also the E-test, and the time needed by other methods.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")
def exposure(rate: Baseline, quiet: float, seen: int, verbose: bool, form: str) -> None:
    """Say what a quiet time tells of a change, given how often the fault came before.

    \b
    Examples:
      triage exposure --rate 17/17d --quiet 6d
      triage exposure --rate 4/17d --quiet 6d               # the hangs alone
      triage exposure --rate 17/17d --quiet 6d --seen 1
    """
    from triage.report import odds

    told = odds.exposure(rate, seen, quiet)
    emit(odds.as_json(told) if form == "json" else odds.exposure_text(told, verbose=verbose), None)
