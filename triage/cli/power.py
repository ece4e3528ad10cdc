"""`triage power`: what a test that passes can tell, before anybody runs it."""

from __future__ import annotations

import click

from triage.cli.quantities import Count, Factor, Length, Rate
from triage.cli.writing import emit
from triage.ledger.entry import Baseline


@click.command()
@click.option("--runs", type=Count(least=1), required=True, help="How many runs, all of which pass.")
@click.option("--each", type=Length(), required=True, help="How long one run takes: 10m.")
@click.option("--rate", type=Rate(), required=True, help="How often the fault comes: 1/d, 17/17d.")
@click.option("--accel", type=Factor(), default=1.0, show_default=True,
              help="How many times as fast the fault is taken to come in a run as in service: an assumption.")  # fmt: skip
@click.option("--accel-basis", default="", metavar="WORD", help="What that rests on: steps, requests, tokens.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")
def power(runs: int, each: float, rate: Baseline, accel: float, accel_basis: str, form: str) -> None:
    """Say what it would tell of a change if all runs of a test passed.

    \b
    Examples:
      triage power --runs 12 --each 10m --rate 1/d
      triage power --runs 12 --each 10m --rate 1/d --accel 20 --accel-basis steps
    """
    from triage.report import odds
    from triage.report.words import clean

    told = odds.power(rate, runs, each, accel)
    emit(odds.as_json(told) if form == "json" else odds.power_text(told, clean(accel_basis, 40)), None)
