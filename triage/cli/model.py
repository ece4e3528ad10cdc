"""`triage model`: learn from labelled incidents, measure what was learnt, and ask it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from triage.cli.options import NOTHING_READ, finish, knowledge, rules_option, tell
from triage.cli.recording import one_of, opened, store_option
from triage.cli.values import OutputFile
from triage.cli.writing import emit

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.learn.labelled import Labelled
    from triage.learn.model_file import Model

model_option = click.option("--model", "file", metavar="FILE", help="The model (default: model.triage beside the history).")
from_option = click.option("--from", "table", metavar="DIR|TSV", type=click.Path(exists=True),
                           help="Labelled logs instead of the history: a table of `path` and `class`, or a folder with a labels.tsv.")  # fmt: skip


@click.group()
def model() -> None:
    """Learn from labelled incidents, and name what the rules left unclassified, where that is sure enough.

    Training needs the extra `learn`; asking a model does not. What the rules name by a root teaches, and so does what people say with
    `triage history relabel`.

    \b
    Examples:
      triage model suggest
      triage history relabel 3fa2b1c0 dependency-lost --reason 'the cache pool was restarted'
      triage model train
      triage classify logs/ --model default
    """


@model.command()
@from_option
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Where to write the model (default: model.triage beside the history).")
@rules_option
@store_option
def train(table: str | None, output: str | None, rules: tuple[str, ...], store: str | None) -> None:
    """Train a model from the history's labelled incidents (or from labelled logs) and say what it learnt.

    \b
    Examples:
      triage model train
      triage model train --from labelled-logs/ -o site.triage
    """
    import time

    from triage.learn import report
    from triage.learn.model_file import ModelError, as_bytes, read_model
    from triage.learn.train import TooFewError, trained
    from triage.report.writing import write_whole

    known = knowledge(rules)
    found, source = _labelled(table, store, known)
    path = Path(output or _default(store))
    try:
        made = trained(found.examples, known, source=source, at=time.time())
        content = as_bytes(made.card, made.classifier)
        digest = read_model(path, content).digest  # what could not be read again is not written
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(str(path), content)
    except (TooFewError, ModelError) as error:
        _give_up(str(error))
    except ModuleNotFoundError:
        _give_up("training needs scikit-learn: pip install 'crash-triage[learn]'")
    except OSError as error:
        _give_up(f"{path}: {error.strerror or error}: give another place with --output")
    emit(f"{report.card_text(made.card, digest)}\nwrote {path}", None)
    _finish(found)


@model.command()
@from_option
@click.option("--model", "file", metavar="FILE", help="Ask this model about the labelled incidents; without it, held-out folds are learnt and asked.")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
@rules_option
@store_option
def evaluate(table: str | None, file: str | None, form: str, rules: tuple[str, ...], store: str | None) -> None:
    """Measure what can be learnt from labelled incidents: precision, recall and calibration on what was not learnt from.

    Incidents are held out that came later, and on other hosts, than those that are learnt from. With --model, that model is asked about
    them all: give it labelled logs that it has not seen.

    \b
    Examples:
      triage model evaluate
      triage model evaluate --from labelled-logs/ --model site.triage
    """
    from triage.learn import report
    from triage.learn.calibration import Held, calibrated, measured
    from triage.learn.examples import background
    from triage.learn.train import enough, supports, told_of

    known = knowledge(rules)
    found, source = _labelled(table, store, known)
    if file is not None:
        asked = _model(file, store, known)
        calibration = asked.card.calibration
        held = [Held(e, asked.classifier.answer(e), e.label in asked.card.classes) for e in found.examples]
        classes, which = asked.named, f"asked of model {asked.digest}"
        _tell_what_it_learnt_from(asked, found)
    else:
        try:
            calibration, held = calibrated(found.examples, background(known))
            classes, which = enough(supports(found.examples)), report.HELD_OUT
        except ModuleNotFoundError:
            _give_up("holding incidents out needs scikit-learn: pip install 'crash-triage[learn]' (or give a --model to ask)")
    if not held:
        _give_up(f"{source}: {told_of(found.examples)}: {report.TOO_FEW} (what comes within an hour on one host is one episode)")
    figures = measured(held, calibration, classes)
    if form == "json":
        import msgspec

        from triage.report.inert import as_json

        told = {"schema": "triage/model-evaluation/1", "source": source, "asked": which, "figures": msgspec.to_builtins(figures),
                "precision": figures.precision, "recall": figures.recall, "calibration": msgspec.to_builtins(calibration)}  # fmt: skip
        emit(as_json(told), None)
    else:
        emit(report.evaluated(held, calibration, figures, classes, "github" if form == "markdown" else "simple", which), None)
    _finish(found)


@model.command()
@model_option
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print it.")
@rules_option
@store_option
def show(file: str | None, form: str, rules: tuple[str, ...], store: str | None) -> None:
    """Show what a model was trained from, what it learnt of each class, and how well it did on held-out incidents."""
    from triage.learn import report
    from triage.learn.train import document

    asked = _model(file, store, knowledge(rules))
    if form == "json":
        from triage.report.inert import as_json

        emit(as_json({"schema": "triage/model/1", "model": asked.digest, **document(asked.card)}), None)
    else:
        emit(report.card_text(asked.card, asked.digest), None)


@model.command()
@click.argument("incident")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@model_option
@rules_option
@store_option
def explain(incident: str, paths: tuple[str, ...], file: str | None, rules: tuple[str, ...], store: str | None) -> None:
    """Show what a model says of one incident, what in it spoke for that, and what was lacking where it says nothing.

    INCIDENT is an id, or its first digits, of the history; with PATHs, of what `triage classify` finds there.

    \b
    Examples:
      triage model explain 3fa2b1c0
      triage model explain 3fa2b1c0 logs/ --model site.triage
    """
    from triage.learn import report
    from triage.learn.examples import example

    known = knowledge(rules)
    asked = _model(file, store, known)
    if paths:
        verdicts = [v for v in _read(paths, known) if incident and v.incident.id.startswith(incident)]
        if len(verdicts) != 1:
            _give_up(f"{'no incident' if not verdicts else 'several incidents'} {incident!r} in what was read")
        shown = example(verdicts[0], verdicts[0].fault_class)
    else:
        with opened(store) as kept:
            entry = one_of(kept, incident)
        shown = example(entry.verdict, entry.fault_class, judged=entry.judged)
    emit(report.explained(shown, asked), None)


@model.command()
@model_option
@click.option("--most", type=click.IntRange(1, 200), default=10, show_default=True, help="How many to show.")
@rules_option
@store_option
def suggest(file: str | None, most: int, rules: tuple[str, ...], store: str | None) -> None:
    """List the unclassified incidents of the history whose label would teach most, one of each kind.

    \b
    Examples:
      triage model suggest
      triage history relabel 3fa2b1c0 dependency-lost --reason 'the cache pool was restarted'
    """
    from triage.learn import report
    from triage.learn.labelled import unlabelled
    from triage.learn.suggest import suggestions

    path = Path(file or _default(store))
    asked = _model(file, store, knowledge(rules)) if file is not None or path.exists() else None
    with opened(store) as kept:
        open_ones = unlabelled(kept)
    emit(report.suggested(suggestions(open_ones, asked, most), len(open_ones)), None)


def loaded(file: str, store: str | None, known: Knowledge) -> Model:
    """The model that `--model` names, `default` for the one beside the history; says on stderr what limits it, exits with 2 where it is none."""
    return _model(None if file == "default" else file, store, known)


def _model(file: str | None, store: str | None, known: Knowledge) -> Model:
    from triage.learn.model_file import ModelError, load_model
    from triage.learn.opinions import mismatches
    from triage.report.words import clean

    try:
        found = load_model(Path(file or _default(store)))
    except ModelError as error:
        _give_up(clean(str(error)))
    for limit in mismatches(found, known):
        click.echo(f"triage: model {found.digest}: {clean(limit)}", err=True)
    return found


def _tell_what_it_learnt_from(asked: Model, found: Labelled) -> None:
    """A file keeps the ids of some incidents that it learnt from: where they are asked about, figures are no proof."""
    learnt = {e.incident for e in asked.card.exemplars} & {e.id for e in found.examples}
    if learnt:
        flattered = f"model {asked.digest} has learnt from at least {len(learnt)} of these incidents: its figures on them flatter it"
        click.echo(f"triage: {flattered}", err=True)


def _default(store: str | None) -> Path:
    from triage.learn.model_file import default_model

    return Path(store).with_name("model.triage") if store else default_model()


def _labelled(table: str | None, store: str | None, known: Knowledge) -> tuple[Labelled, str]:
    from triage.cli.recording import path_of
    from triage.learn.labelled import LabelError, from_store, from_table

    if table is None:
        with opened(store) as kept:
            return from_store(kept), f"the history {path_of(store)}"
    try:
        found = from_table(Path(table), known)
    except LabelError as error:
        _give_up(str(error))
    tell(found.problems)
    return found, table


def _read(paths: tuple[str, ...], known: Knowledge) -> Any:
    from triage.parsers.sorting import NothingToReadError
    from triage.pipeline import gather, judged

    try:
        return judged(gather(paths, known), known, lines_of_all=True).verdicts
    except NothingToReadError as error:
        _give_up(str(error))


def _finish(found: Labelled) -> None:
    from triage.model import Findings

    finish(Findings(rules="", problems=tuple(found.problems)))


def _give_up(why: str) -> NoReturn:
    click.echo(f"triage: {why}", err=True)
    raise SystemExit(NOTHING_READ)
