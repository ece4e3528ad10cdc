"""`triage dump`: which rank did it, out of the flight-recorder dumps of a hang."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, tell
from triage.cli.values import RankPattern

if TYPE_CHECKING:
    from triage.parsers.flight_recorder import RankDumps


class FileOrUrl(click.Path):
    """An existing file or folder, or an http(s) address."""

    def __init__(self) -> None:
        super().__init__(exists=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from urllib.parse import urlsplit

        if not str(value).startswith(("http://", "https://")):
            return super().convert(value, param, ctx)
        try:
            known = urlsplit(value).hostname
        except ValueError:
            known = None
        return str(value) if known else self.fail(f"{value!r} is no address: write http://HOST:PORT/handler/fr_trace_json", param, ctx)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=FileOrUrl())
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@click.option("--timeline", type=click.IntRange(1, 1000), metavar="N", help="Also the last N operations before the fault, group by group.")
@click.option("--frames", is_flag=True, help="Also the stacks of ranks that wait or are suspect, the same stack once.")
@click.option("--rank-from", type=RankPattern(), help="Regex with one group that finds the rank in a file's name.")
@click.option("--world-size", type=click.IntRange(1), help="Number of ranks, where the dumps do not tell.")
def dump(paths: tuple[str, ...], form: str, timeline: int | None, frames: bool, rank_from: str | None, world_size: int | None) -> None:
    """Say which rank held up the others, from flight-recorder dumps.

    PATH is a folder of dumps (searched downwards) or the files themselves, pickled or JSON, gzipped or not, of any version; or the
    address of a rank's own server (torch.distributed.debug), one for each rank, asked while the job hangs. No code in a dump is
    ever run. What cannot be read is named, and the other ranks analysed all the same.

    \b
    Examples:
      triage dump ~/.cache/torch
      triage dump --timeline 5 --frames dumps/
      triage dump --format json --world-size 16 dumps/ | jq .suspects
      triage dump http://gpu-{0..7}:8000/handler/fr_trace_json
    """
    from triage.parsers.flight_recorder import read_folder

    hangs = read_folder(paths, rank_from=rank_from, world=world_size)
    tell(problem for hang in hangs for problem in hang.unreadable)
    if not any(hang.recordings for hang in hangs):
        click.echo("triage: no flight-recorder dump in there that can be read", err=True)
        raise SystemExit(NOTHING_READ)
    click.echo(_json(hangs, timeline, frames) if form == "json" else _text(hangs, form, timeline, frames))
    if any(problem.lost for hang in hangs for problem in hang.unreadable):
        raise SystemExit(PARTLY_READ)


def _text(hangs: tuple[RankDumps, ...], form: str, count: int | None, frames: bool) -> str:
    from triage.report import dump as report
    from triage.report import dump_details as details
    from triage.verdict.dumps import analyse

    style = "github" if form == "markdown" else "simple"
    parts = []
    for hang in hangs:
        found = analyse(hang)
        more = [details.timeline_text(details.timeline(hang, found, count), style)] if count else []
        more += [details.stacks_text(details.stacks(found), style)] if frames else []
        parts.append(report.text(hang, found, style=style, more=more))
    return ("\n\n---\n\n" if form == "markdown" else "\n\n\n").join(parts)


def _json(hangs: tuple[RankDumps, ...], count: int | None, frames: bool) -> str:
    """One hang is the document itself; of several, each is an element of `dumps`."""
    from triage.report import dump as report
    from triage.report import dump_details as details
    from triage.report.inert import as_json
    from triage.verdict.dumps import analyse

    documents: list[dict[str, Any]] = []
    for hang in hangs:
        found = analyse(hang)
        documents.append(report.document(hang, found))
        if count:
            documents[-1]["timeline"] = details.timeline(hang, found, count)
        if frames:
            documents[-1]["frames"] = details.stacks(found)
    top = {"schema": report.SCHEMA} | (documents[0] if len(documents) == 1 else {"dumps": documents})
    return as_json(top)
