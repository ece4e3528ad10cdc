"""`triage mitigation`: register a change as a hypothesis, and say what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from triage.cli.ledger_place import WRONG, all_of, journal_path, journalled, ledger_option, one_of
from triage.cli.mitigation_check import check
from triage.cli.options import knowledge, rules_option
from triage.cli.recording import store_option
from triage.cli.values import Moment, check_names
from triage.cli.writing import emit


@click.group()
def mitigation() -> None:
    """Register a mitigation before it is judged, and say what becomes of it.

    A mitigation is a hypothesis with a cost. What is registered is frozen in a journal that only grows; whether it is in effect is read from
    what the engines print at boot, and where it stands is said by `triage ledger`.

    \b
    Examples:
      triage mitigation add car-off --class collective-hang --change=--disable-custom-all-reduce --cost 'decode 39.4 -> 29.9 tok/s'
      triage mitigation claim car-off                      # it is applied: hold it against the boots from now on
      triage mitigation withdraw car-off --reason 'refuted, and it costs a quarter of decode'
    """


mitigation.add_command(check)


@mitigation.command()
@click.argument("name", required=False)
@click.option("--from", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Take the entry from a TOML file.")
@click.option("--class", "fault_class", metavar="CLASS", help="The class that it is against.")
@click.option("--claim", default=None, metavar="CLAIM", help="eliminates (default), or reduces:RATIO, such as reduces:0.1 for a tenth or less.")
@click.option("--change", "changes", multiple=True, help="What is set differently: NAME=value, --flag=value; may be given several times.")
@click.option("--mechanism", "mechanisms", multiple=True, metavar="ID", help="How it is thought to work; `triage mitigation check` looks at it.")
@click.option("--cost", metavar="TEXT", help="What it costs: 'decode 39.4 -> 29.9 tok/s'.")
@click.option("--falsifier", metavar="TEXT", help="What would prove it wrong: 'class C', 'text \"...\"', 'any engine death'; then 'after TIME', "
              "'on HOST' (default: class CLASS).")  # fmt: skip
@click.option("--ref", "refs", multiple=True, metavar="URL", help="Where the idea comes from; may be given several times.")
@click.option("--ref-status", "states", multiple=True, metavar="TEXT", help="What that page says of itself: 'open; lists no improvement'.")
@click.option("--host", "hosts", multiple=True, help="Where it is applied (default: everywhere).")
@click.option("--rate", "baseline", metavar="N/TIME", help="The rate before, where the history does not have it: 4/17d.")
@click.option("--gate", "enable", metavar="TEXT", help="A branch of your own: 'enable = batch_tokens <= THRESHOLD'.")
@click.option("--true-frames", metavar="NAMES", help="Functions or file:line on the side where the gate holds, with commas.")
@click.option("--false-frames", metavar="NAMES", help="Those on the other side.")
@click.option("--note", metavar="TEXT", help="Anything else.")
@rules_option
@ledger_option
@store_option
def add(name: str | None, file: Path | None, journal: str | None, store: str | None, rules: tuple[str, ...], **given: Any) -> None:
    """Register a mitigation; what is written down now cannot be changed later.

    Days before it was registered do not count for it, so do this before it is switched on.

    \b
    Examples:
      triage mitigation add no-graphs --class graph-capture --change=--enforce-eager --cost 'decode 39.4 -> 29.9 tok/s' \\
          --falsifier 'any engine death after 2026-11-20T12:00Z on gpu-a' --ref https://example.org/1 --ref-status 'open'
      triage mitigation add --from entries/no-graphs.toml
    """
    from triage.ledger.entry import ADDED
    from triage.ledger.journal import WrittenError, append

    entry = _entry(name, file, given, rules)
    path = journal_path(journal, store)
    with journalled():
        try:
            record = append(path, ADDED, entry.name, entry, once=True)
        except WrittenError as error:
            click.echo(f"triage: {entry.name} is registered already, and what is registered is frozen: give it another name", err=True)
            raise SystemExit(WRONG) from error
    from triage.report.ledger_entry import registered

    emit(registered(entry, record, path), None)


def _entry(name: str | None, file: Path | None, given: dict[str, Any], rules: tuple[str, ...]) -> Any:
    """The entry of a file or of the options; refuses what cannot be taken."""
    from triage.ledger.entry import EntryError
    from triage.ledger.wording import entry_from, entry_of

    told = {key: value for key, value in given.items() if value}
    if file is not None and (name or told):
        raise click.UsageError("--from FILE has everything: leave the name and the other options out")
    if file is None and not (name and given["fault_class"]):
        raise click.UsageError("give NAME, --class and --change, or --from FILE")
    try:
        entry = entry_from(file) if file is not None else entry_of(_keys(name or "", given))
    except EntryError as error:
        raise click.UsageError(str(error)) from error
    classes = knowledge(rules).classes
    check_names([entry.fault_class, *entry.falsifier.classes], classes, "--class")
    if not classes[entry.fault_class].fault:
        raise click.UsageError(f"{entry.fault_class} is no fault: there is nothing to eliminate")
    return entry


def _keys(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The options as the keys that an entry's file has."""
    if len(given["states"]) > len(given["refs"]):
        raise click.UsageError("--ref-status says something of a --ref: give that, too")
    states = (*given["states"], *[""] * len(given["refs"]))
    gate = {"enable": given["enable"] or "", "true_frames": _parts(given["true_frames"]), "false_frames": _parts(given["false_frames"])}
    keys = {"name": name, "class": given["fault_class"], "changes": list(given["changes"]), "gate": gate, "hosts": list(given["hosts"])}
    keys |= {"references": [{"url": url, "status": state} for url, state in zip(given["refs"], states, strict=False)]}
    keys |= {key: given[key] for key in ("claim", "cost", "falsifier", "baseline", "note") if given[key]}
    return keys | {"mechanisms": list(given["mechanisms"])}


def _parts(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


@mitigation.command("list")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@ledger_option
@store_option
def list_(form: str, journal: str | None, store: str | None) -> None:
    """List what was registered, and what was said of it last; `triage ledger` says where each stands."""
    from triage.report import ledger_entry

    known = all_of(journal_path(journal, store))
    if form == "json":
        emit(ledger_entry.as_json(known), None)
    else:
        emit(ledger_entry.listed(known, style="github" if form == "markdown" else "simple"), None)


@mitigation.command()
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")
@ledger_option
@store_option
def show(name: str, form: str, journal: str | None, store: str | None) -> None:
    """Show one mitigation as it was registered, and all that was said of it since."""
    from triage.report import ledger_entry

    found = one_of(journal_path(journal, store), name)
    emit(ledger_entry.as_json([found]) if form == "json" else ledger_entry.shown(found), None)


def _says(verb: str, said: str, told: str, text: str) -> None:
    """A command that writes one word about a mitigation into the journal."""

    @mitigation.command(verb, help=text)
    @click.argument("name")
    @click.option("--since", type=Moment(), help="From when on it holds (default: now): 2026-11-20T10:00Z, or a length before now such as 2h.")
    @click.option("--reason", help="Why; kept in the journal.", required=said in ("confounded", "withdrawn"))
    @ledger_option
    @store_option
    def say(name: str, since: float | None, reason: str | None, journal: str | None, store: str | None) -> None:
        import time

        from triage.history.secrets import looks_secret
        from triage.ledger.journal import append
        from triage.report.words import minute

        path = journal_path(journal, store)
        found = one_of(path, name)
        now = time.time()
        if since is not None and not 0 <= since <= now + 60:
            ahead = "lies ahead: say it when it has happened" if since > now else "is before any engine"
            raise click.UsageError(f"--since {minute(since)} UTC {ahead}")
        if said == "claimed" and found.said("withdrawn") is not None:
            again = f"{found.name} was withdrawn, and its time stands apart: register it under another name to watch it anew"
            raise click.UsageError(again)
        if looks_secret(reason or ""):
            raise click.UsageError("--reason holds what is written like a key or a password, and a journal keeps that for good: leave it out")
        with journalled():
            record = append(path, f"mitigation.{said}", found.name, {"since": now if since is None else since, "reason": reason or ""})
        emit(f"{found.name} {told} since {minute(now if since is None else since)} UTC (record {record.n}, {record.hash[:12]})", None)


_says("claim", "claimed", "is said to be applied", "Say that a mitigation was applied; what the engines print at boot is held against that.")
_says("pause", "paused", "is paused", "Stop the clock of a mitigation: little traffic, an instrument, a test.")
_says("resume", "resumed", "goes on", "Let the clock of a paused mitigation go on.")
_says("confound", "confounded", "is confounded", "Say that something else changed as well (--reason): quiet time from then on counts for nothing.")
_says("withdraw", "withdrawn", "is withdrawn", "Say that a mitigation was taken out: the time after it becomes a control.")
