"""`triage rules`: list, show, check and test what triage knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from triage.cli.options import KINDS, NOTHING_READ, PARTLY_READ, knowledge, rules_option, tell
from triage.cli.values import YEARS, ProbeFormat, Zone, check_names
from triage.cli.writing import emit

if TYPE_CHECKING:
    from collections.abc import Callable

FLAWED = 1
FIRST_LINES = 3

form_option = click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to print it.")


@click.group(short_help="List, show, check and test the rules.")
def rules() -> None:
    """List, show, check and test the rules that triage recognises lines by.

    \b
    Examples:
      triage rules list --class cublas-fault
      triage rules show device-oom
      triage rules check my-rules/
      triage rules test vllm.log
    """


@rules.command("list")
@rules_option
@click.option("--class", "groups", multiple=True, metavar="CLASS", help="Only rules of this class or file (echoes, vllm, probes, xid ...).")
@click.option("--kind", "kinds", multiple=True, help="Only rules of this role or kind: root, consequence, death, progress ...")
@click.option("--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True, help="How to print it.")
def list_rules(rules: tuple[str, ...], groups: tuple[str, ...], kinds: tuple[str, ...], form: str) -> None:
    """List every rule: its class, its role or kind, and what it recognises.

    \b
    Examples:
      triage rules list
      triage rules list --class collective-hang --class vllm
      triage rules list --kind root --format json | jq -r '.listed[].id'
    """
    from triage.report.catalogue import entries
    from triage.report.rules import rule_list, rule_list_json

    known = knowledge(rules)
    every = list(entries(known))
    check_names(groups, {e.group for e in every}, "--class")
    check_names(kinds, {e.kind for e in every}, "--kind")
    chosen = [e for e in every if (not groups or e.group in groups) and (not kinds or e.kind in kinds)]
    if form == "json":
        emit(rule_list_json(chosen, known.version), None)
    else:
        emit(rule_list(chosen, style="github" if form == "markdown" else "simple"), None)


@rules.command("show")
@rules_option
@click.argument("name", metavar="CLASS|RULE")
def show_rule(name: str, rules: tuple[str, ...]) -> None:
    """Show the page of a class or of one rule: meaning, border, what to do next, signatures, samples.

    \b
    Examples:
      triage rules show cublas-fault
      triage rules show cublas-fault/status
      triage rules show "Xid 79"
    """
    from triage.report.catalogue import entries
    from triage.report.rule_page import class_page, rule_page
    from triage.report.rules import fitted_page

    known = knowledge(rules)
    fault = next((fault for of, fault in known.classes.items() if of.lower() == name.lower()), None)
    if fault is not None:
        _show(class_page(fault, known).rstrip("\n"), fitted_page)
        return
    every = list(entries(known))
    entry = next((e for e in every if e.id.lower() == name.lower()), None)
    if entry is None:
        _unknown(name, [*known.classes, *(e.id for e in every)])
    else:
        _show(rule_page(entry, known).rstrip("\n"), fitted_page)


@rules.command("check")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path())
@rules_option
@click.option("--healthy", multiple=True, type=click.Path(exists=True), help="A log in which nothing went wrong: no rule may see a fault in it.")
@form_option
def check_rules(folder: str | None, rules: tuple[str, ...], healthy: tuple[str, ...], form: str) -> None:
    """Check rules: schema, samples and near misses, captures, names, rivals, healthy lines, slow patterns.

    DIR is a folder of rules: a few that are added to ours, or a whole set that stands instead of ours. Without it, ours are checked.

    \b
    Examples:
      triage rules check
      triage rules check my-rules/
      triage rules check my-rules/ --healthy last-week/vllm.log

    \b
    Exit codes: 0 all is well, 1 something is wrong, 2 no such folder.
    """
    from pathlib import Path

    from triage.knowledge.lint import check
    from triage.knowledge.load import RuleError
    from triage.report.rules import check_json, check_text, fitted_text

    try:
        checked = check(Path(folder) if folder else None, [Path(one) for one in rules], _healthy(healthy))
    except RuleError as error:
        raise _refused(error) from error
    if form == "json":
        emit(check_json(checked), None)
    else:
        _show(check_text(checked), fitted_text)
    if checked.flaws:
        raise SystemExit(FLAWED)


@rules.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="LOG...")
@rules_option
@click.option("--kind", type=click.Choice([kind for kind in KINDS if kind != "flight_recorder"]), help="What the input is, where sniffing is wrong.")
@click.option("--tz", type=Zone(), default="UTC", show_default=True, help="Zone of stamps that name none: Europe/Berlin, +02:00.")
@click.option("--year", type=click.IntRange(*YEARS), help="Year of stamps that name none (default: by the file's time).")
@click.option("--probe-format", type=ProbeFormat(), help="Regex for your own probe log; groups: time, status, exit, error, target, ok, duration.")
@click.option("--all", "everything", is_flag=True, help="Show every line that a rule matches, progress and configuration, too.")
@form_option
def test_rules(paths: tuple[str, ...], rules: tuple[str, ...], everything: bool, form: str, **given: Any) -> None:
    """Show which rules match which lines of a log, and which lines look like trouble and match nothing.

    Of a probe log the lines that triage does not understand are counted and shown.

    \b
    Examples:
      triage rules test vllm.log
      triage rules test vllm.log --rules my-rules/
      docker logs -t vllm 2>&1 | triage rules test -
    """
    from triage.knowledge.table import RuleTable
    from triage.report.inert import as_json
    from triage.report.matching import matching_document, matching_text
    from triage.report.rules import fitted_text

    table = RuleTable(knowledge(rules))
    found = _matchings(paths, table, everything, given)
    if form == "json":
        emit(as_json(matching_document(found, table.knowledge.version)), None)
    else:
        _show(matching_text(found, table, everything=everything), fitted_text)
    if any(problem.lost for one in found for problem in one.problems):
        raise SystemExit(PARTLY_READ)


def _matchings(paths: tuple[str, ...], table: Any, everything: bool, given: dict[str, Any]) -> list[Any]:
    """What the rules say of each log in `paths`, problems told on stderr; exits with 2 where there is none."""
    from triage.knowledge.load import RuleError
    from triage.parsers.matching import MOST_SHOWN, matching
    from triage.parsers.options import Options
    from triage.parsers.sorting import nothing_in, sort_files
    from triage.sources.find import find

    options = Options(tz=given["tz"], year=given["year"], probe_format=given["probe_format"])
    sources, problems = find(paths, kind=given["kind"])
    logs, _, skipped = sort_files(sources, paths, given["kind"])
    if not logs:
        raise _refused(nothing_in(paths, (*problems, *skipped)))
    try:
        found = [matching(source, kind, table, options, most=MOST_SHOWN if everything else FIRST_LINES) for source, kind in logs]
    except (RuleError, ValueError) as error:
        raise _refused(error) from error
    tell((*problems, *skipped, *(problem for one in found for problem in one.problems)))
    return found


def _show(text: str, fit: Callable[[str], str]) -> None:
    """Prints `text`, fitted where it goes to a terminal; a file or another program gets its lines whole."""
    import sys

    emit(fit(text) if sys.stdout.isatty() else text, None)


def _healthy(paths: tuple[str, ...]) -> list[tuple[str, str]]:
    """The lines of the healthy logs, each with its place: those that were named, and in a checkout those of fixtures/healthy."""
    from triage.knowledge.load import builtin_rules
    from triage.parsers.matching import texts
    from triage.sources.find import find

    ours = builtin_rules().parent / "fixtures" / "healthy"
    logs = [*paths, *(str(log) for log in sorted(ours.glob("*.log")))]
    return [line for source in find(logs)[0] for line in texts(source)] if logs else []


def _unknown(name: str, known: list[str]) -> None:
    import difflib

    near = difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; `triage rules list` has them all"
    raise _refused(f"no class and no rule is called {name!r}{hint}")


def _refused(why: object) -> SystemExit:
    """Says on stderr why nothing can be done; the exit to raise."""
    click.echo(f"triage: {why}", err=True)
    return SystemExit(NOTHING_READ)
