"""`triage caches`: the caches of compiled code, by the boot that built them; archived first, and only then removed."""

from __future__ import annotations

import os
import re
import time
from typing import Any

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, knowledge, rules_option, tell
from triage.cli.values import UNITS, YEARS, Zone, check_names
from triage.cli.writing import emit

LOG_NAME = re.compile(r"\.(?:log|out|err|txt)(?:[.\-_][^/]*)?$")


class Length(click.ParamType[float]):
    """A length of time such as `15m`, `6h` or `7d`, in seconds."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        if not (value[:-1].isdecimal() and value[-1:] in UNITS):
            self.fail(f"{value!r} is no length of time: write 15m, 6h or 7d", param, ctx)
        return float(int(value[:-1]) * UNITS[value[-1]])


class OnlyTyped(click.Option):
    """An option that no variable of the environment gives: what removes is said each time."""

    def resolve_envvar_value(self, _ctx: click.Context) -> None:
        return None


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option("--archive", metavar="FILE.tar.zst", help="Keep the evidence of each build in FILE: list, hashes, log lines, texts.")
@click.option("--remove", is_flag=True, help="Remove what the archive holds, once it was read back whole.")
@click.option("--yes", cls=OnlyTyped, is_flag=True, help="Do it. Without this, say what would be done.")
@click.option("--whole", is_flag=True, help="Archive all files, binaries too.")
@click.option("--only", multiple=True, metavar="KIND", help="Only caches of this kind; may be given several times.")
@click.option("--older-than", type=Length(), metavar="LENGTH", help="Only caches to which nothing was written for so long: 7d.")
@click.option("--idle", type=Length(), default="15m", show_default=True, metavar="LENGTH", help="A cache written to within this is in use.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print the list.")
@click.option("--tz", type=Zone(), default="UTC", show_default=True, help="Zone of stamps in logs that name none.")
@click.option("--year", type=click.IntRange(*YEARS), help="Year of stamps in logs that name none (default: by the file's time).")
@rules_option
def caches(paths: tuple[str, ...], archive: str | None, remove: bool, yes: bool, whole: bool, only: tuple[str, ...], older_than: float | None,
           idle: float, form: str, **given: Any) -> None:  # fmt: skip
    """List what engines and compilers keep between boots (vLLM, FlashInfer, Triton, DeepGEMM, Inductor), by the boot that built it.

    PATH is a folder of caches, a log of the boots, or an archive that this command wrote; without any, the places where caches lie by default.
    Logs in a folder (*.log, *.out, *.err, *.txt) are read as well. Nothing is written or removed without --yes.

    \b
    Examples:
      triage caches ~/.cache ~/.triton vllm.log
      triage caches night/ --archive night.tar.zst                        # what would be kept
      triage caches night/ --archive night.tar.zst --remove --yes         # run it again if it was interrupted
      triage caches night.tar.zst                                         # what an archive holds

    \b
    Exit codes: 0 ran, 2 nothing found or wrong usage, 3 some of it could not be read, archived or removed.
    """
    _check(paths, archive, remove=remove, yes=yes, whole=whole)
    if archive is not None and form != "table":
        raise click.UsageError(f"--format {form} is for the list: leave it out, or --archive")
    known = knowledge(given["rules"])
    check_names(only, [kind.id for kind in known.caches.kinds], "--only")
    if paths and all(_is_archive(path) for path in paths):
        emit(_listed(paths, form, only), None)
        return
    from triage.caches.manifest import ArchiveError

    seen = _Seen(paths, known, only, older_than, idle, given)
    if archive is None:
        emit(seen.rendered(form), None)
    else:
        try:
            seen.tear_down(archive, remove=remove, yes=yes, whole=whole)
        except ArchiveError as error:
            raise _refused(str(error)) from error
    if any(problem.lost for problem in seen.problems):
        raise SystemExit(PARTLY_READ)


def _check(paths: tuple[str, ...], archive: str | None, *, remove: bool, yes: bool, whole: bool) -> None:
    if remove and archive is None:
        raise click.UsageError("--remove needs --archive FILE.tar.zst: nothing is removed before its evidence is kept")
    if remove and not paths:
        raise click.UsageError("--remove needs a PATH: what is to go is named")
    if archive is not None and not archive.endswith(".tar.zst"):
        raise click.UsageError(f"--archive {archive}: its name must end in .tar.zst, which it is")
    if archive is None and (yes or whole):
        raise click.UsageError("--yes and --whole belong to --archive")
    missing = [path for path in paths if path != "-" and not os.path.lexists(path)]
    if missing:
        raise _refused(f"{missing[0]}: no such file or folder")


def _is_archive(path: str) -> bool:
    return path.endswith((".tar.zst", "manifest.json")) and os.path.isfile(path)


def _refused(why: str) -> SystemExit:
    from triage.report.words import clean

    click.echo(f"triage: {clean(why)}", err=True)
    return SystemExit(NOTHING_READ)


def _listed(paths: tuple[str, ...], form: str, only: tuple[str, ...]) -> str:
    """What archives hold."""
    from pathlib import Path

    from triage.caches.archive import verified
    from triage.caches.listing import row_of_kept
    from triage.caches.manifest import ArchiveError, from_json

    try:
        held = [from_json(Path(path).read_bytes(), path) if path.endswith(".json") else verified(path) for path in paths]
    except ArchiveError as error:
        raise _refused(str(error)) from error
    rows = [row_of_kept(kept) for manifest in held for kept in manifest.caches if not only or kept.kind in only]
    boots = {boot.id: boot for manifest in held for boot in manifest.boots}
    return _in_form(rows, list(boots.values()), (), form, max(manifest.made for manifest in held), archived=True)


def _in_form(rows: Any, lives: Any, problems: Any, form: str, now: float, *, archived: bool = False) -> str:
    from triage.caches import listing

    if form == "json":
        import orjson

        return orjson.dumps(listing.document(rows, lives, problems, now=now), option=orjson.OPT_INDENT_2).decode()
    style = "github" if form == "markdown" else "simple"
    return listing.table(rows, lives, now=now, style=style, archived=now if archived else None)


class _Seen:
    """What was found below the paths: the caches, where they come from, and what holds them."""

    def __init__(
        self, paths: tuple[str, ...], known: Any, only: tuple[str, ...], older_than: float | None, idle: float, given: dict[str, Any]
    ) -> None:
        from triage.caches.discover import default_places, discover
        from triage.caches.holds import holds
        from triage.caches.origins import origins

        self.now, self.idle, self.kinds = time.time(), idle, known.caches.kinds
        self.roots = [path for path in paths if os.path.isdir(path)] if paths else default_places(self.kinds)
        found = discover(self.roots, self.kinds)
        self.caches = [cache for cache in found.caches if (not only or cache.kind in only) and self._is_old(cache, older_than)]
        logs = [path for path in paths if path not in self.roots and not _is_archive(path)]
        self.boots, told = self._boots(logs, found.others, known, given)
        self.problems = [*found.problems, *told]
        tell(self.problems)
        self.origins = origins(found.caches, self.boots, self.kinds)
        self.holds = holds(self.caches, now=self.now, idle=idle)
        if not self.caches and not self.roots:
            raise _refused("no cache where caches lie by default: name a folder" if not paths else "no folder was named: a cache is one")

    def _is_old(self, cache: Any, older_than: float | None) -> bool:
        newest = cache.contents.newest
        return older_than is None or newest is None or newest < self.now - older_than

    def _boots(self, logs: list[str], others: tuple[str, ...], known: Any, given: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """The boots of the logs that were named or lie beside the caches, by their start; and what could not be read of those named."""
        from triage.knowledge.load import RuleError
        from triage.parsers.options import Options
        from triage.parsers.sorting import NothingToReadError, sort_files
        from triage.pipeline import gather
        from triage.sources.find import find
        from triage.timeline.boots import boots

        near = sort_files(find([file for file in others if LOG_NAME.search(file)])[0], (), None)[0]
        paths = (*logs, *(file for source, kind in near if kind == "engine" for file in source.files))
        if not paths:
            return [], []
        try:
            read = gather(paths, known, options=Options(tz=given["tz"], year=given["year"]))
        except (RuleError, NothingToReadError) as error:
            raise _refused(str(error)) from error
        lives = boots(e for reading in read.readings for e in reading.with_pulse_around([]) if e.origin != "kernel")
        return sorted(lives, key=lambda boot: boot.start.earliest if boot.start else 0.0), list(read.problems)

    def rendered(self, form: str) -> str:
        from triage.caches.listing import row_of
        from triage.caches.manifest import lives
        from triage.caches.records import Origin

        rows = [row_of(cache, self.origins.get(cache.path, Origin()), self.holds[cache.path]) for cache in self.caches]
        return _in_form(rows, lives(self.boots, self.origins), self.problems, form, self.now)

    def tear_down(self, archive: str, *, remove: bool, yes: bool, whole: bool) -> None:
        """Archives and removes, or says what that would do; exits with 3 where something was left."""
        from triage import __version__
        from triage.caches import listing, teardown
        from triage.caches.archive import Order

        plan = teardown.plan(self.caches, self.holds, self.roots, archive, removing=remove)
        order = Order(plan.archive, self.origins, self.boots, self.kinds, whole=whole)
        if not yes or not (plan.archive or plan.listed):
            emit(listing.planned(plan, archive, removing=remove, kept=order.kept()), None)
            if yes and plan.stay:
                raise SystemExit(PARTLY_READ)
            return
        listed = plan.listed if plan.resumed else teardown.archived(archive, order, now=self.now, version=__version__).caches
        outcomes = teardown.removed(archive, listed, self._look) if remove else []
        emit(listing.done(archive, len(plan.archive), os.path.getsize(archive), outcomes, plan), None)
        if plan.stay or any(not outcome.removed for outcome in outcomes):
            raise SystemExit(PARTLY_READ)

    def _look(self, caches: Any) -> Any:
        """What holds each of some caches at this moment."""
        from triage.caches.holds import holds

        return holds(caches, now=time.time(), idle=self.idle)
