"""`triage mitigation check`: three questions about a mitigation, to be asked before it is switched on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triage.cli.ledger_place import ledger_option, one_of
from triage.cli.options import finish, gathered, input_options, knowledge, warn
from triage.cli.values import check_names
from triage.cli.writing import emit

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge
    from triage.ledger.answers import Answer, Case
    from triage.ledger.entry import Entry
    from triage.pipeline import Evidence

VOID = 4
INCONCLUSIVE = 5


@click.command()
@input_options
@click.option("--class", "fault_class", metavar="CLASS", help="Without a NAME: the class that the change is against.")
@click.option("--change", "changes", multiple=True, metavar="CHANGE", help="Without a NAME: NAME=value, or --change=--flag=value.")
@click.option("--mechanism", "mechanisms", multiple=True, metavar="M", help="A mechanism of the rules, or a condition: 'nccl < 2.28.3'.")
@click.option("--cost", default="", help="What it is said to cost: 'decode 39.4 -> 29.9 tok/s'.")
@click.option("--gate", metavar="CONDITION", help="A gate of your own: 'enable = batch_tokens <= THRESHOLD'.")
@click.option("--true-frames", multiple=True, metavar="FUNCTION", help="Functions (or file.py:line) that run only where the gate is true.")
@click.option("--false-frames", multiple=True, metavar="FUNCTION", help="The same for where it is false.")
@click.option("--environ", type=click.File("rb"), metavar="FILE", help="/proc/PID/environ of the engine in its last boot.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")
@ledger_option
def check(paths: tuple[str, ...], form: str, journal: str | None, environ: Any, **given: Any) -> None:
    """Ask of a mitigation, before it is switched on: can it work, where is the fault, what does it cost?

    The first of PATH is the NAME of a registered mitigation, or the TOML file of one; with --change and --class none is needed.
    Each answer is `holds`, `fails` or `cannot be observed`, with the lines that it rests on.

    \b
    Examples:
      triage mitigation check piecewise-graphs logs/
      triage mitigation check entries/piecewise-graphs.toml logs/
      triage mitigation check --class cublas-fault --change VLLM_MULTI_STREAM_GEMM_TOKEN_THRESHOLD=0 logs/
      triage mitigation check --class collective-hang --change nccl=2.28.9 --mechanism 'nccl < 2.28.3' logs/
      triage mitigation check --class cublas-fault --change MY_LIMIT=0 --gate 'enable = batch_tokens <= THRESHOLD' \\
          --true-frames run_streams --false-frames run_serial logs/

    \b
    Exit codes: 0 nothing speaks against it, 4 an answer is `fails`, 5 the first two cannot be observed,
    2 nothing readable or wrong usage, 3 part of the input could not be read.
    """
    from triage.knowledge.predicates import PredicateError
    from triage.knowledge.sides import ConditionError
    from triage.ledger.mechanism import UnknownMechanismError

    known = knowledge(given["rules"])
    entry, logs = _entry(paths, journal, given)
    check_names([entry.fault_class], known.classes, "--class")
    evidence = gathered(logs, known, **given)
    warn(evidence)
    case = _case(entry, evidence, known, environ, given)
    try:
        answers = _answers(case, evidence, known, given)
    except (PredicateError, ConditionError, UnknownMechanismError) as error:
        raise click.UsageError(str(error)) from error
    emit(_rendered(case, answers, form), None)
    _leave(answers)
    finish(evidence)


def _entry(paths: tuple[str, ...], journal: str | None, given: dict[str, Any]) -> tuple[Entry, tuple[str, ...]]:
    """The mitigation that is asked about, and the logs."""
    import msgspec

    from triage.cli.ledger_place import journal_path
    from triage.ledger.entry import EntryError, Gate

    try:
        if given["changes"]:
            entry, logs = _unregistered(given), paths
        elif paths[0].endswith(".toml"):
            entry, logs = _from_file(paths[0]), paths[1:]
        else:
            entry, logs = one_of(journal_path(journal), paths[0]).entry, paths[1:]
    except EntryError as error:
        raise click.UsageError(str(error)) from error
    if not logs:
        raise click.UsageError("name the logs to look at after the mitigation: triage mitigation check NAME PATH...")
    if given["gate"]:
        entry = msgspec.structs.replace(entry, gate=Gate(enable=given["gate"], true_frames=given["true_frames"], false_frames=given["false_frames"]))
    elif given["true_frames"] or given["false_frames"]:
        raise click.UsageError("--true-frames and --false-frames are the sides of a --gate: give that, too")
    if given["mechanisms"]:
        entry = msgspec.structs.replace(entry, mechanisms=given["mechanisms"])
    return entry, logs


def _unregistered(given: dict[str, Any]) -> Entry:
    from triage.ledger.wording import entry_of

    if not given["fault_class"]:
        raise click.UsageError("--change needs --class: which class is it against?")
    told = {"name": "not-registered", "class": given["fault_class"], "changes": list(given["changes"]), "cost": given["cost"]}
    return entry_of({**told, "mechanisms": list(given["mechanisms"])})


def _from_file(path: str) -> Entry:
    from pathlib import Path

    from triage.ledger.wording import entry_from

    return entry_from(Path(path))


def _case(entry: Entry, evidence: Evidence, known: Knowledge, environ: Any, given: dict[str, Any]) -> Case:
    from triage.history.capture import environ as kept_of
    from triage.ledger.answers import case_of
    from triage.pipeline import judged

    findings = judged(evidence, known, since=given["since"], until=given["until"])
    last = findings.boots[-1].id if findings.boots else ""
    return case_of(entry, findings, {last: kept_of(environ.read())} if environ else None)


def _answers(case: Case, evidence: Evidence, known: Knowledge, given: dict[str, Any]) -> list[Answer]:
    from triage.ledger.cost import cost_answer
    from triage.ledger.gates import gate_answer
    from triage.ledger.mechanism import mechanism_answer

    answers = [mechanism_answer(case, known), gate_answer(case, known)]
    return [*answers, cost_answer(case, _paces(evidence, known, given))]


def _paces(evidence: Evidence, known: Knowledge, given: dict[str, Any]) -> dict[str, list[Any]]:
    """The throughput lines of each engine's log; none of a pipe, whose bytes came once."""
    from triage.cli.options import tell
    from triage.knowledge.table import RuleTable
    from triage.model import Problem
    from triage.parsers.options import Options
    from triage.parsers.throughput import paces
    from triage.sources.find import Source
    from triage.sources.paths import is_pipe

    table, options = RuleTable(known), Options(tz=given["tz"], year=given["year"])
    found = {}
    for info in (reading.info for reading in evidence.readings if reading.info.kind == "engine"):
        if any(is_pipe(file) for file in info.files):
            tell([Problem(info.name, "what it costs cannot be measured from a pipe, which gives its lines once: save it to a file", lost=False)])
            continue
        found[info.name] = list(paces(Source(info.name, info.files), table, options, []))
    return found


def _rendered(case: Case, answers: list[Answer], form: str) -> str:
    from triage.report.mitigation_check import check_document, check_text

    if form == "text":
        return check_text(case, answers)
    import orjson

    return orjson.dumps(check_document(case, answers), option=orjson.OPT_INDENT_2).decode()


def _leave(answers: list[Answer]) -> None:
    """The exit code that says what came of it; nothing where nothing speaks against the mitigation."""
    verdicts = [answer.verdict for answer in answers]
    if "fails" in verdicts:
        raise SystemExit(VOID)
    if verdicts[:2] == ["cannot be observed"] * 2:
        raise SystemExit(INCONCLUSIVE)


