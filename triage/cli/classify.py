"""`triage classify`: what happened, counted by class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from triage.cli.ledger_place import ledger_option
from triage.cli.options import finish, gathered, input_options, knowledge, read, warn
from triage.cli.recording import record_options, recorded
from triage.cli.values import OutputFile, check_names
from triage.cli.writing import emit, refuse_input

if TYPE_CHECKING:
    from triage.knowledge.load import Knowledge

FORMATS = ("table", "markdown", "csv", "json", "jsonl", "sarif", "junit")
FOR_CI = ("sarif", "junit")
ELSEWHERE = {
    "json": "json has forks, root, consequences and what is missing anyway",
    "jsonl": "jsonl has forks, root, consequences and what is missing anyway",
    "csv": "csv has one row an incident",
    "sarif": "sarif has the root line and what followed of each incident",
    "junit": "junit names the root line of each incident",
}
BY = ("day", "week", "host", "engine", "boot", "version")


@click.command()
@input_options
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="How to print the answer.")
@click.option("--output", "-o", metavar="FILE", type=OutputFile(), help="Write to FILE instead of stdout.")
@click.option("--by", type=click.Choice(BY), default=None, help="Count separately by this; csv and jsonl then give the counts.")
@click.option("--class", "only", multiple=True, metavar="CLASS", help="Only incidents of this class; may be given several times.")
@click.option("--explain", is_flag=True, help="After the table (or its Markdown), explain every incident.")
@click.option("--since-event", type=click.Choice(["onset", "progress", "ready", "first-failed-probe"]), default="onset", show_default=True,
              help="Where the time to death starts.")  # fmt: skip
@click.option("--fail-on", multiple=True, metavar="CLASS|any", help="Exit with 1 when an incident of this class was found (with --new: is new).")
@click.option("--model", metavar="FILE",
              help="Let a model of `triage model train` name what no rule named; `default`: the one beside the history.")  # fmt: skip
@record_options
@ledger_option
def classify(paths: tuple[str, ...], form: str, output: str | None, by: str | None, only: tuple[str, ...], explain: bool,
             fail_on: tuple[str, ...], model: str | None, record: bool, new: bool, **given: Any) -> None:  # fmt: skip
    """Say which crashes happened, how often, how long they took to die, and how that is known.

    PATH is a folder, a file (also .gz .zst .xz .bz2), a glob, an address (s3:// gs:// https:// ...), or - for stdin.
    Rotations of one log are joined.

    \b
    Examples:
      triage classify logs/
      docker logs -t vllm 2>&1 | triage classify -
      triage classify /var/log/pods/prod_vllm-0_*/ --since 7d --by day
      triage classify 's3://logs/vllm/*/2026-11-*' --since 7d
      triage classify logs/ --format json | jq '.incidents[].class'
      docker logs -t --since 15m vllm 2>&1 | triage classify - --source vllm@gpu7 --new --quiet    # from cron

    \b
    Exit codes: 0 ran, 1 --fail-on matched, 2 nothing readable or wrong usage, 3 part of the input could not be read.
    """
    if explain and form not in ("table", "markdown"):
        raise click.UsageError(f"--explain is text, {form} is for programs: leave one out ({ELSEWHERE[form]})")
    if by and form in FOR_CI:
        raise click.UsageError(f"--by counts, {form} tells incidents: leave one out")
    known = _checked(given["rules"], only, fail_on)
    hear = _hearing(model, given["store"], known)
    refuse_input(output, paths)

    def rendered(findings: Any) -> str:
        refuse_input(output, (file for source in findings.sources for file in source.files))
        return _for_ci(findings, form, known, only) if form in FOR_CI else _rendered(findings, form, by or "", known if explain else None)

    def show(findings: Any) -> None:
        findings = _only(hear(findings), only)
        if given["quiet"]:
            _emit_news([(v, "") for v in findings.verdicts if v.fault], output)
        else:
            emit(rendered(findings), output)

    options = {name: given.pop(name) for name in ("store", "wait", "source", "prom")}
    journal = given.pop("journal")
    if record or new or options["prom"]:
        verdicts, seen = _recorded(
            paths, known, show, rendered, hear, new=new, only=only, form=form, output=output, options=options, journal=journal, given=given,
            heard=model is not None,
        )  # fmt: skip
    else:
        asked = {key: value for key, value in given.items() if key != "quiet"}
        findings = seen = read(paths, known=known, lines_of_all=model is not None, **asked)
        show(findings)
        verdicts = _only(hear(findings), only).verdicts
    if fail_on and any((f == "any" and v.fault) or f == v.fault_class for v in verdicts for f in fail_on):
        raise SystemExit(1)
    finish(seen)


def _checked(rules: tuple[str, ...], only: tuple[str, ...], fail_on: tuple[str, ...]) -> Knowledge:
    """The rules; refuses a class that they do not know."""
    known = knowledge(rules)
    check_names(only, known.classes, "--class")
    check_names(fail_on, {*known.classes, "any"}, "--fail-on")
    return known


def _hearing(model: str | None, store: str | None, known: Knowledge) -> Callable[[Any], Any]:
    """What adds a model's word to findings; nothing where there is no model."""
    if model is None:
        return lambda findings: findings
    from triage.cli.model import loaded
    from triage.learn.opinions import with_opinions

    asked = loaded(model, store, known)
    return lambda findings: with_opinions(findings, asked, known)


def _recorded(paths: tuple[str, ...], known: Knowledge, show: Any, rendered: Any, hear: Any, *, new: bool, only: tuple[str, ...], form: str,
              output: str | None, options: dict[str, Any], journal: str | None, given: dict[str, Any], heard: bool) -> tuple[Any, Any]:  # fmt: skip
    """Read, record and show; the verdicts that --fail-on looks at, and what was read."""
    from triage.cli.refutations import held_against
    from triage.pipeline import narrowed_to

    kept: dict[str, Any] = {"verdicts": (), "refuted": []}

    def evidence() -> Any:
        kept["read"] = gathered(paths, known, **given)
        warn(kept["read"], quiet=given["quiet"])
        return kept["read"]

    def tell(news: Any, findings: Any) -> Any:
        shown = hear(_of_run(kept["read"], known.version, [entry.verdict for entry in news])).verdicts
        pairs = [(e, v) for e, v in zip(news, shown, strict=True) if not only or v.fault_class in only]
        told = [entry for entry, _ in pairs]
        kept["verdicts"] = tuple(verdict for _, verdict in pairs) if new else _only(hear(findings), only).verdicts
        if not new:
            show(narrowed_to(findings, kept["read"], given["since"], given["until"]))
        elif given["quiet"] and form == "table":
            _emit_news([(v, e.told) for e, v in pairs if v.fault or e.told], output, kept["refuted"])
        elif told or not given["quiet"]:
            emit(rendered(_of_run(kept["read"], known.version, kept["verdicts"])), output)
        return told

    def held(history: Any) -> Any:
        kept["refuted"], metrics = held_against(history, journal, options["store"], note=new)
        if not (given["quiet"] and form == "table"):
            click.echo("".join(f"triage: {line}\n" for line in kept["refuted"]), err=True, nl=False)
        return metrics

    recorded(evidence, known, tell, new=new, since_event=given["since_event"], lines_of_all=heard, held=held, **options)
    return kept["verdicts"], kept["read"]


def _of_run(evidence: Any, rules: str, verdicts: Sequence[Any]) -> Any:
    """Findings that say what was read, and some verdicts."""
    from triage.model import Findings

    return Findings(rules=rules, sources=tuple(r.info for r in evidence.readings), problems=evidence.problems, verdicts=tuple(verdicts))


def _emit_news(told: list[Any], output: str | None, refuted: Sequence[str] = ()) -> None:
    if told or refuted:
        from triage.report.news import news

        emit("\n".join(([news(told, where="triage history show")] if told else []) + [*refuted]), output)


def _only(findings: Any, classes: tuple[str, ...]) -> Any:
    import msgspec

    if not classes:
        return findings
    verdicts = tuple(v for v in findings.verdicts if v.fault_class in classes)
    shown = {v.incident.id for v in verdicts}
    return msgspec.structs.replace(findings, verdicts=verdicts, hints=tuple(h for h in findings.hints if not shown.isdisjoint(h.incidents)))


def _rendered(findings: Any, form: str, by: str, explained: Knowledge | None) -> str:
    """`explained`: the rules that explanations are taken from; None without explanations."""
    if form in ("json", "jsonl", "csv") or explained is not None:
        from triage.report.numbers import numbered

        findings = numbered(findings, counts=form == "json")
    return _for_programs(findings, form, by) if form in ("json", "jsonl", "csv") else _text(findings, form, by, explained)


def _for_programs(findings: Any, form: str, by: str) -> str:
    from triage.report import document

    if form == "json":
        return document.as_json(findings, by)
    if form == "jsonl":
        return document.counts_as_jsonl(findings, by) if by else document.as_jsonl(findings)
    return document.counts_as_csv(findings, by) if by else document.as_csv(findings)


def _text(findings: Any, form: str, by: str, explained: Knowledge | None) -> str:
    from triage.report import table

    text = table.text_table(findings, by, style="github" if form == "markdown" else "simple")
    return text if explained is None else text + _explanations(findings, explained)


def _for_ci(findings: Any, form: str, known: Knowledge, only: Sequence[str]) -> str:
    """What goes to a CI system leaves the machine: it is redacted. `triage report` can leave that out."""
    from triage import __version__
    from triage.report import ci
    from triage.report.numbers import numbered

    return ci.written(numbered(findings), form, known, version=__version__, only=only)


def _explanations(findings: Any, known: Knowledge) -> str:
    from triage.report.explain import explain

    return "".join(f"\n\n{explain(verdict, known, joined=findings.hints)}" for verdict in findings.verdicts)
