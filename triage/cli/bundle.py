"""`triage bundle`: the evidence of incidents in one file, redacted, to be attached to an upstream issue; and such files verified and opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import NOTHING_READ, PARTLY_READ, finish, gathered, input_options, knowledge, warn
from triage.cli.recording import one_of, opened, store_option
from triage.cli.redacting import redact_options, redactor_of, taken_out
from triage.cli.values import OutputFile
from triage.cli.writing import refuse_input

if TYPE_CHECKING:
    from triage.model import Findings, Verdict
    from triage.report.bundle.manifest import Manifest

MAKE = "make"


class Making(click.Group):
    """A group whose first command need not be named: `triage bundle ID PATH` packs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args[:1] and args[0] in (*self.commands, *ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else [MAKE, *args])


@click.group(cls=Making)
def bundle() -> None:
    """Pack the evidence of incidents into one file, redacted, to attach to an upstream issue.

    `triage bundle ID... PATH... -o FILE` packs (see `triage bundle make --help`). Keys, tokens, prompts and token ids are taken
    out; people, hosts and addresses get pseudonyms. The same evidence gives the same file, byte for byte.

    \b
    Examples:
      triage bundle 3fa2b1c0 logs/ -o crash.tar.zst
      triage bundle 3fa2b1c0 77c1 logs/ -o crash.tar.zst --issue-text > issue.md
      triage bundle 3fa2b1c0 --store history.db -o crash.tar.zst
      triage bundle verify crash.tar.zst
      triage bundle open crash.tar.zst -C crash/
    """


@bundle.command(MAKE)
@input_options
@store_option
@redact_options
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Where the bundle goes; required unless --issue-text is given.")
@click.option("--issue-text", is_flag=True, help="Print the draft of an issue (Markdown).")
def make(paths: tuple[str, ...], store: str | None, output: str | None, issue_text: bool, **given: Any) -> None:
    """Pack the evidence of incidents, and draft an issue.

    ID is what `triage classify` prints, or its first digits; `all` is every incident. PATH is what `triage classify` reads. Without a
    PATH the incidents come from the history, which has the lines that are cited and none around them.

    In it: the verdict, the lines around each cited one, the boot's configuration, what the ranks' flight recorders held (as JSON,
    never a pickle), a draft of an issue, and a manifest with the SHA-256 of each file.

    \b
    Examples:
      triage bundle 3fa2b1c0 logs/ -o crash.tar.zst
      triage bundle all logs/ --issue-text
    """
    if output is None and not issue_text:
        raise click.UsageError("say where the bundle goes with -o FILE, or ask for --issue-text")
    ids, logs = _apart(paths)
    known = knowledge(given["rules"])
    redactor = redactor_of(known, given.pop("redact"), given.pop("no_redact"))
    findings, chosen, captured = _of_logs(ids, logs, store, known, output, given) if logs else _of_history(ids, store)
    files, manifest = _packed_files(findings, chosen, known, redactor, captured=captured, fresh=bool(logs), rank_from=given["rank_from"])
    if output is not None:
        _write(output, files)
    if issue_text:
        click.echo(files["issue.md"].decode(), nl=False)
    _summary(output, files, manifest, err=issue_text or output in (None, "-"))
    finish(findings)


next(given for given in make.params if given.name == "paths").metavar = "ID... [PATH...]"


@bundle.command()
@click.argument("file", type=click.Path())
def verify(file: str) -> None:
    """Say whether a bundle is as it was packed.

    It is when it has every file that its manifest lists, and no other, with the same SHA-256. Who packed it that does not say.

    \b
    Exit codes: 0 it is, 2 it is no bundle or cannot be read, 3 something in it is not what was packed.
    """
    from triage.report.bundle.manifest import flaws
    from triage.report.words import clean, number

    files, manifest = _read(file)
    wrong = flaws(files, manifest)
    for flaw in wrong:
        click.echo(f"triage: {clean(file)}: {clean(flaw)}", err=True)
    if wrong:
        raise SystemExit(PARTLY_READ)
    kind = "redacted" if manifest.redacted else "NOT redacted"
    click.echo(f"{clean(file)}: as it was packed: {number(len(files), 'file')}, {number(len(manifest.incidents), 'incident')}, {kind}")


@bundle.command("open")
@click.argument("file", type=click.Path())
@click.option("--directory", "-C", metavar="DIR", type=click.Path(file_okay=False), help="A new folder (default: the bundle's name, here).")
def open_(file: str, directory: str | None) -> None:
    """Unpack a bundle that is as it was packed into a new folder.

    Only plain files are ever made, all of them below that folder; a bundle with anything else in it is refused whole.

    \b
    Examples:
      triage bundle open crash.tar.zst
      triage bundle open crash.tar.zst -C /tmp/crash
    """
    from triage.report.bundle.archive import SUFFIX, BundleError
    from triage.report.bundle.manifest import flaws
    from triage.report.bundle.opening import write_folder
    from triage.report.words import clean, number
    from triage.sources.paths import STDIN

    files, manifest = _read(file)
    if wrong := flaws(files, manifest):
        click.echo(f"triage: {clean(file)}: {clean(wrong[0])}: nothing was written (`triage bundle verify` has all)", err=True)
        raise SystemExit(PARTLY_READ)
    if file == STDIN and not directory:
        raise click.UsageError("say with -C DIR where what comes from stdin goes")
    name = Path(file).name
    folder = Path(directory) if directory else Path(name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else f"{name}.opened")
    try:
        write_folder(files, folder)
    except (BundleError, OSError) as error:
        what = error if isinstance(error, BundleError) else f"{folder}: {error.strerror or error}"
        raise _refused(str(what)) from error
    click.echo(f"{clean(str(folder))}: {number(len(files), 'file')}; begin with README.txt")


def _apart(given: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The ids that come first, and the paths after them. A word that looks like an id and names a file is a path."""
    ids: list[str] = []
    for word in given:
        if not _is_id(word):
            break
        ids.append(word)
    if not ids:
        raise click.UsageError(f"{given[0]!r} is no incident's id: name the incident first (`triage classify PATH` prints ids), or `all`")
    return ids, list(given[len(ids) :])


def _is_id(word: str) -> bool:
    return word == "all" or (2 <= len(word) <= 64 and all(c in "0123456789abcdef" for c in word) and not Path(word).exists())


def _of_logs(
    ids: list[str], logs: list[str], store: str | None, known: Any, output: str | None, given: dict[str, Any]
) -> tuple[Findings, list[Verdict], dict[str, dict[str, str]]]:
    from triage.pipeline import judged
    from triage.report.numbers import numbered

    refuse_input(output, logs)
    findings = judged(gathered(tuple(logs), known, **given), known, since=given["since"], until=given["until"])
    warn(findings)
    refuse_input(output, (file for source in findings.sources for file in source.files))
    return numbered(findings), _chosen(ids, numbered(findings)), _captured(store) if store else {}


def _of_history(ids: list[str], store: str | None) -> tuple[Findings, list[Verdict], dict[str, dict[str, str]]]:
    from triage.history import query
    from triage.report.history import findings_of

    with opened(store) as kept:
        every = query.entries(kept.db)
        found = every if "all" in ids else [one_of(kept, name) for name in ids]
        findings = findings_of(every, boots=tuple(query.boots(kept.db)), outages=tuple(query.outages(kept.db)), sources=tuple(query.sources(kept.db)))
    return findings, [entry.verdict for entry in {entry.id: entry for entry in found}.values()], _captured(store)


def _chosen(ids: list[str], findings: Findings) -> list[Verdict]:
    for name in ids:
        if name != "all" and not any(v.incident.id.startswith(name) for v in findings.verdicts):
            known = ", ".join(v.incident.id for v in findings.verdicts) or "none"
            raise _refused(f"no incident {name!r} in what was read; incidents here: {known}")
    return [v for v in findings.verdicts if any(name == "all" or v.incident.id.startswith(name) for name in ids)]


def _captured(store: str | None) -> dict[str, dict[str, str]]:
    from triage.history.query import captured

    with opened(store) as kept:
        return captured(kept.db)


def _packed_files(findings: Findings, chosen: list[Verdict], known: Any, redactor: Any, **how: Any) -> tuple[dict[str, bytes], Manifest]:
    from triage import __version__
    from triage.report.bundle.contents import contents

    if not chosen:
        raise _refused("there is no incident in it")
    return contents(findings, chosen, known, redactor, version=__version__, **how)


def _write(output: str, files: dict[str, bytes]) -> None:
    from triage.report.bundle.archive import BundleError, packed
    from triage.report.writing import write_whole

    try:
        content = packed(files)
        if output == "-":
            click.echo(content, nl=False)
        else:
            write_whole(output, content)
    except (BundleError, OSError) as error:
        raise _refused(f"{output}: {error if isinstance(error, BundleError) else error.strerror or error}") from error


def _summary(output: str | None, files: dict[str, bytes], manifest: Manifest, *, err: bool) -> None:
    from triage.report.words import clean, number, size

    if output is not None:
        told = f"{number(len(files), 'file')}, {size(sum(map(len, files.values())))} of {number(len(manifest.incidents), 'incident')}"
        click.echo(f"{clean(output)}: {told}", err=err)
    click.echo(taken_out(manifest.taken_out, on=manifest.redacted), err=err)
    for note in manifest.notes:
        click.echo(f"triage: {clean(note)}", err=True)


def _read(file: str) -> tuple[dict[str, bytes], Manifest]:
    from triage.report.bundle.archive import BundleError, read_bundle
    from triage.report.bundle.manifest import manifest_of

    try:
        files = read_bundle(file)
        return files, manifest_of(files)
    except (BundleError, OSError) as error:
        raise _refused(f"{file}: {error if isinstance(error, BundleError) else error.strerror or error}") from error


def _refused(why: str) -> SystemExit:
    from triage.report.words import clean

    click.echo(f"triage: {clean(why)}", err=True)
    return SystemExit(NOTHING_READ)
