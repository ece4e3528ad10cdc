"""Options that several commands share, and what they do with what cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from triage.cli.values import YEARS, Moment, ProbeFormat, RankPattern, Zone

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.model import Findings, Problem
    from triage.pipeline import Evidence

F = TypeVar("F", bound=Callable[..., Any])

KINDS = ("engine", "probe", "flight_recorder", "kernel", "gpu_memory")
PARTLY_READ = 3
NOTHING_READ = 2
WARNINGS_SHOWN = 20

rules_option = click.option("--rules", multiple=True, type=click.Path(file_okay=False), help="A folder of rules to add; may override.")


def input_options(command: F, *, required: bool = True) -> F:
    """PATH… and how they are to be read."""
    for decorate in reversed(
        (
            click.argument("paths", nargs=-1, required=required, metavar="PATH..." if required else "[PATH...]"),
            rules_option,
            click.option("--kind", type=click.Choice(KINDS), help="What the input is, where sniffing is wrong."),
            click.option("--tz", type=Zone(), default="UTC", show_default=True, help="Zone of stamps that name none: Europe/Berlin, +02:00."),
            click.option("--year", type=click.IntRange(*YEARS), help="Year of stamps that name none (default: by the file's time)."),
            click.option("--probe-format", type=ProbeFormat(),
                         help="Regex for your own probe log; groups: time, status, exit, error, target, ok, duration."),
            click.option("--probe-stamp", type=click.Choice(["start", "end"]), default="start", show_default=True, help="What a probe's stamp is."),
            click.option("--rank-from", type=RankPattern(), help="Regex with one group that finds the rank in a dump file's name."),
            click.option("--jobs", "-j", type=click.IntRange(min=0), default=0, metavar="N",
                         help="How many logs are read at once (default: as many as there are processors)."),
            click.option("--progress/--no-progress", default=True, help="Show how far reading is, where stderr is a terminal."),
            click.option("--since", type=Moment(), help="Only what happened at or after this time."),
            click.option("--until", type=Moment(), help="Only what happened at or before this time."),
            click.option("--backend", type=click.Choice(["here", "ray"]), default="here", show_default=True,
                         help="Where logs are read: in this process, or by a Ray cluster, also node://HOST/PATH."),
            click.option("--ray-address", metavar="ADDRESS", help="The cluster: HOST:PORT, ray://HOST:PORT, auto (default: one of this machine)."),
        )
    ):  # fmt: skip
        command = decorate(command)
    return command


def read(paths: tuple[str, ...], *, since_event: str = "onset", lines_of_all: bool = False, **given: Any) -> Findings:
    """Findings for what a command was given; exits with 2 and a clear word where nothing could be read or a rule is wrong."""
    from triage.pipeline import judged

    known = given.pop("known", None) or knowledge(given["rules"])
    evidence = gathered(paths, known, last_lines=lines_of_all, **given)
    findings = judged(evidence, known, since_event=since_event, since=given["since"], until=given["until"], lines_of_all=lines_of_all)
    warn(findings)
    return findings


def knowledge(folders: tuple[str, ...]) -> Knowledge:
    """The rules, with those of the folders given; exits with 2 and a clear word where one is wrong."""
    from pathlib import Path

    from triage.knowledge.load import RuleError, load

    try:
        return load([Path(folder) for folder in folders])
    except RuleError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error


def gathered(paths: tuple[str, ...], known: Knowledge, **given: Any) -> Evidence:
    """What a command was given, read and parsed; exits with 2 and a clear word where nothing could be read."""
    from triage.cli.progress import shown
    from triage.knowledge.load import RuleError
    from triage.parsers.options import Options
    from triage.parsers.sorting import NothingToReadError
    from triage.pipeline import gather

    options = Options(
        tz=given["tz"],
        year=given["year"],
        probe_format=given["probe_format"],
        probe_stamp=given["probe_stamp"],
        rank_from=given["rank_from"],
        last_lines=given.get("last_lines", True),
    )
    try:
        if given.get("backend") == "ray":
            return _through_ray(paths, known, given["ray_address"], given["kind"], options)
        if given.get("ray_address"):
            raise click.UsageError("--ray-address goes with --backend ray")
        with shown(given["progress"]) as progress:
            return gather(paths, known, kind=given["kind"], options=options, jobs=given["jobs"], progress=progress)
    except (RuleError, NothingToReadError) as error:  # a rule of the user's may be one that the scanner cannot be made for
        click.echo(f"triage: {_harmless(str(error))}", err=True)
        raise SystemExit(NOTHING_READ) from error


def _through_ray(paths: tuple[str, ...], known: Knowledge, address: str | None, kind: Any, options: Any) -> Evidence:
    """The same by the workers of a Ray cluster; exits with 2 and a word where there is none to be used."""
    from triage.cluster import Cluster, ClusterError
    from triage.pipeline import gather

    try:
        with Cluster(address, known) as cluster:
            return gather(paths, known, kind=kind, options=options, backend=cluster)
    except ClusterError as error:
        click.echo(f"triage: {error}", err=True)
        raise SystemExit(NOTHING_READ) from error


def warn(read: Findings | Evidence, *, quiet: bool = False) -> None:
    """The problems on stderr; with `quiet` those that cost some of the answer, since cron mails every word."""
    tell([problem for problem in read.problems if problem.lost or not quiet])


def tell(problems: Iterable[Problem]) -> None:
    """One line a problem on stderr, what was lost first; of a great many the first."""
    from triage.report.words import clean

    ordered = sorted(problems, key=lambda problem: not problem.lost)
    for problem in ordered[:WARNINGS_SHOWN]:
        click.echo(f"triage: {clean(problem.file)}: {clean(_harmless(problem.what))}", err=True)
    if len(ordered) > WARNINGS_SHOWN:
        click.echo(f"triage: ... and {len(ordered) - WARNINGS_SHOWN:,} more; --format json has all", err=True)


def _harmless(what: str) -> str:
    """A warning without the secrets of a line that it quotes: cron mails it."""
    from triage.report.redact import without_secrets

    return without_secrets(what) if any(sign in what for sign in "=:'\"") else what


def finish(read: Findings | Evidence) -> None:
    """Leave with the exit code that says how much of the input could be read."""
    if read.partial:
        raise SystemExit(PARTLY_READ)
