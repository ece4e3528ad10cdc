"""`triage trial`: runs made to find something out, and what they may and may not be taken to say."""

from __future__ import annotations

from typing import Any, Literal

import click

from triage.cli.options import knowledge, rules_option
from triage.cli.trial_folder import ended, read_folder, refusing
from triage.cli.trial_reading import FORMATS, INCONCLUSIVE, memory, show, verdict
from triage.cli.values import check_names
from triage.cli.writing import emit


@click.group()
def trial() -> None:
    """Plan runs, add them, and say what they show: never pooled over instruments, never a pass where the path did not run.

    A trial is a folder: trial.toml with the question, the items, the builds and the arms, and a folder for each run.

    \b
    Examples:
      triage trial new move-to-0.31 --build 0.29 --build 0.31 --question 'May we move?'
      triage trial plan move-to-0.31
      triage trial predict move-to-0.31
      triage trial add move-to-0.31 01-forced --item forced --arm '0.31 at 0.95' --log vllm.log --log gpu-memory.csv
      triage trial verdict move-to-0.31
    """


@trial.command(short_help="Write a trial.toml to fill in.")
@click.argument("folder", metavar="TRIAL", type=click.Path())
@click.option("--question", required=True, help="What is to be found out, as a question that a run can answer with no.")
@click.option("--build", "builds", multiple=True, required=True, metavar="NAME", help="A build under trial; may be given several times.")
def new(folder: str, question: str, builds: tuple[str, ...]) -> None:
    """Write a trial.toml to fill in.

    \b
    Example:
      triage trial new move-to-0.31 --build 0.29 --build 0.31 --question 'Does the 64-way burst survive at 0.95?'
    """
    from pathlib import Path

    from triage.trials.drafting import draft

    with refusing():
        file = draft(Path(folder), question, builds)
    emit(f"wrote {file}: say in `path` what makes the path run, then `triage trial plan {folder}`")


@trial.command(short_help="Say what a pass would be worth.")
@click.argument("folder", metavar="TRIAL", type=click.Path())
@click.option("--item", "only", multiple=True, metavar="ITEM", help="Only this item; may be given several times.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the answer.")
def plan(folder: str, only: tuple[str, ...], form: str) -> None:
    """Say what the planned runs can tell, before anything is run; refuse a plan whose pass means nothing.

    \b
    Exit codes: 0 every pass would mean something, 2 no such trial or it is wrong, 5 some plan is refused.
    """
    from pathlib import Path

    from triage.report.trial_plan import planned
    from triage.trials.manifest import read_manifest
    from triage.trials.planning import plans

    with refusing():
        manifest = read_manifest(Path(folder))
    check_names(only, [item.id for item in manifest.items], "--item")
    found = [one for one in plans(manifest) if not only or one.item in only]
    if form == "json":
        from triage.report.trial_document import plans_as_json

        emit(plans_as_json(found))
    else:
        emit(planned(found, style="github" if form == "markdown" else "simple"))
    if any(one.means_nothing for one in found):
        raise SystemExit(INCONCLUSIVE)


@trial.command(short_help="Register predictions before the runs.")
@click.argument("folder", metavar="TRIAL", type=click.Path())
def predict(folder: str) -> None:
    """Register the predictions of trial.toml in the trial's journal, with the time and a hash: before the first run, or they are none.

    A prediction that is registered stays as it is, whatever trial.toml says later.
    """
    from datetime import UTC, datetime
    from pathlib import Path

    from triage.report.words import clean, number
    from triage.trials.manifest import read_manifest, run_folders
    from triage.trials.predictions import register
    from triage.trials.trial import JOURNAL

    with refusing():
        manifest = read_manifest(Path(folder))
        folders = run_folders(Path(folder), manifest)
        written = register(manifest, Path(folder) / JOURNAL)
    for record in written:
        emit(f"{record.hash[:12]}  {datetime.fromtimestamp(record.at, UTC):%Y-%m-%d %H:%M:%S} UTC  {clean(record.subject)}")
    late = {(one.file.item, one.file.arm) for one in folders} & {(str(one.data["item"]), str(one.data["arm"])) for one in written}
    if late:
        click.echo(f"triage: {' and '.join(sorted(clean(arm) for _, arm in late))} ran already: what is written now came after", err=True)
    kept = len(manifest.predictions) - len(written)
    emit(f"{number(len(written), 'prediction')} registered" + (f", {kept} were already" if kept else ""))


@trial.command(short_help="Add a run with its logs.")
@click.argument("folder", metavar="TRIAL", type=click.Path())
@click.argument("name", metavar="RUN")
@click.option("--item", required=True, help="Which item of the trial it is a run of.")
@click.option("--arm", required=True, help="Which arm it was meant to be.")
@click.option("--log", "logs", multiple=True, required=True, metavar="PATH", type=click.Path(exists=True),
              help="A file or folder to keep: logs, probe log, samples of GPU memory; may be given several times.")  # fmt: skip
@click.option("--instrument", "instruments", multiple=True, metavar="NAME", help="What watched it and does not show in its logs.")
@click.option("--env-file", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="/proc/PID/environ of it, or lines NAME=value.")
@click.option("--client", metavar="REQUESTS[xPROMPTS]", help="What the client sent: 64, or 1x64 for one request that carried 64 prompts.")
@click.option("--outcome", type=click.Choice(["pass", "fail"]), help="What the logs cannot say; needs --because.")
@click.option("--because", default="", help="What was seen.")
@rules_option
def add(folder: str, name: str, item: str, arm: str, logs: tuple[str, ...], instruments: tuple[str, ...], env_file: str | None,
        client: str | None, outcome: Literal["pass", "fail"] | None, because: str, rules: tuple[str, ...]) -> None:  # fmt: skip
    """Add one run: copy what was kept of it into the trial, and say what it counts as.

    \b
    Example:
      triage trial add night 03-forced --item forced --arm '0.31 at 0.95' --log vllm.log --log gpu-memory.csv --client 1x64
    """
    from pathlib import Path

    from triage.report.trial import added
    from triage.trials.drafting import add as add_run
    from triage.trials.manifest import RunFile, read_manifest

    if outcome and not because:
        raise click.UsageError("--outcome needs --because: what was seen that the logs cannot say")
    environment = _environment(env_file, rules) if env_file else {}
    with refusing():
        manifest = read_manifest(Path(folder))
        check_names([item], [one.id for one in manifest.items], "--item")
        check_names([arm], [one.name for one in manifest.arms], "--arm")
        file = RunFile(item=item, arm=arm, outcome=outcome or "", because=because, instruments=instruments, environment=environment,
                       client=_client(client))  # fmt: skip
        add_run(Path(folder), manifest, name, file, [Path(log) for log in logs])
    found = read_folder(folder, knowledge(rules), "UTC", None, None)
    emit(added(found, name))
    ended(found)


def _environment(file: str, rules: tuple[str, ...]) -> dict[str, str]:
    """What an environment says of the engine and of what watches it; nothing that may be a secret."""
    from pathlib import Path

    from triage.history.capture import environ
    from triage.trials.instruments import watching

    try:
        text = Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"--env-file {file}: {error.strerror}") from error
    return environ(text) | watching(text, knowledge(rules).instruments)


def _client(text: str | None) -> Any:
    from triage.trials.manifest import Client

    if text is None:
        return None
    requests, by, prompts = text.partition("x")
    if not requests.isdecimal() or (by and not prompts.isdecimal()) or len(text) > 16:
        raise click.BadParameter(f"{text!r}: write 64, or 1x64 for one request that carries 64 prompts", param_hint="--client")
    return Client(requests=int(requests), prompts_each=int(prompts or 1))


for _command in (show, verdict, memory):
    trial.add_command(_command)
