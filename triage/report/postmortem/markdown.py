"""Writes a postmortem as one Markdown file that pastes cleanly into GitHub, Jira and Confluence; what people must write is left as headed blanks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from triage.report.postmortem.given import Mitigation, Trial
from triage.report.postmortem.html import BLANKS
from triage.report.postmortem.ladder import ladder
from triage.report.postmortem.parts import Card, Cited, Lane, Pairs, Postmortem
from triage.report.postmortem.plots import plots_of
from triage.report.postmortem.say import Say
from triage.report.postmortem.svg import Plot

IN_FULL = 100
"""Of more incidents than this the cards are left out: issue trackers refuse texts that long, and the appendix lists every one."""
IDS_SHOWN = 40
_MARKUP = re.compile(r"[\\*\[\]<>~#!&`]|(?<![^\W_])_|_(?![^\W_])")
_LINKED = re.compile(r"(\S*(?:://|@|\bwww\.|#\d|\bGH-\d)\S*)", re.IGNORECASE)
_LEADING = re.compile(r"^(\s*)([-+=|]|\d+[.)](?=\s))")


def as_markdown(
    of: Postmortem, say: Say, *, mitigations: Sequence[Mitigation] | None = None, trials: Sequence[Trial] | None = None, redacting: bool = True
) -> str:
    """The whole postmortem. Tables are GitHub's; lines of logs stand in fences that nothing in them can end."""
    drawn = plots_of(of, mitigations or (), say)
    ladders = [plot for number, trial in enumerate(trials or (), 1) if (plot := ladder(trial, number, say))]
    parts = [
        *_head(of), *_classes(of), *_plots([p for p in drawn.values() if p is not None]), *_timeline(of), *_blank("Trigger"), *_each_class(of),
        *_records("Mitigations", of.mitigations, "No mitigation is on record for this time."),
        *_records("Trials", of.trials, "No trial is on record."), *_plots(ladders), *_epochs(of), *_limits(of, redacting=redacting),
        *_blank("Lessons"), *_blank("Where we got lucky"), *_blank("Actions"), *_appendix(of),
        "", f"Made {of.made} UTC by triage, rules {inline(of.rules)}.",
    ]  # fmt: skip
    return "\n".join(parts)


def inline(text: str) -> str:
    """Text of the evidence as inline code: no mark-up, no mention, no link can come of it. In a table a pipe after a backslash would end the cell."""
    shown = " ".join(text.split()).replace("`", "'").replace("\\|", "\\ |")
    return f"`{shown}`" if shown else ""


def plain(text: str) -> str:
    """Text that may quote the evidence, as words: what would be mark-up is escaped, and a word that would become a link or a mention is code."""
    pieces = _LINKED.split(" ".join(text.split()))
    return "".join(inline(piece) if number % 2 else _MARKUP.sub(r"\\\g<0>", piece) for number, piece in enumerate(pieces))


def prose(text: str) -> str:
    """A sentence of ours or of the rules with its `code`, as a line of its own or after a bullet."""
    pieces = " ".join(text.split()).split("`")
    if len(pieces) % 2 == 0:
        pieces = [*pieces[:-2], "'".join(pieces[-2:])]
    said = "".join(inline(piece) if number % 2 else _spaced(piece) for number, piece in enumerate(pieces))
    return _LEADING.sub(r"\1\\\2", said)


def _spaced(piece: str) -> str:
    """`plain`, with the blanks that parted it from the code around it."""
    return f"{' ' * piece.startswith(' ')}{plain(piece)}{' ' * (piece.endswith(' ') and bool(piece.strip()))}"


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines in a code block whose fence is longer than any run of backticks in them."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A GitHub table; cells are Markdown already, but for their pipes."""
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)]


def _cell(markdown: str) -> str:
    return markdown.replace("|", "\\|") or " "


def _head(of: Postmortem) -> Iterator[str]:
    yield f"# {plain(of.title) if of.title else 'Postmortem'}"
    yield from ("", f"**{plain(of.sentence)}**", "", plain(of.window), "", "## Impact", "")
    yield from table([name for name, _ in of.figures], [[value for _, value in of.figures]])


def _classes(of: Postmortem) -> Iterator[str]:
    yield from ("", "## Classes", "")
    head = ("class", "family", "n", "time to death", "dump", "first probe", "down", "seen")
    rows = [(lane.name, lane.family, f"{lane.count:,}", lane.death, lane.dump, lane.probe, lane.down, lane.seen) for lane in of.lanes]
    yield from table(head, [[plain(cell) for cell in row] for row in rows])
    yield ""
    yield from (f"- {prose(line)}" for line in (*of.definitions, *of.hints))


def _plots(drawn: Sequence[Plot]) -> Iterator[str]:
    """A plot's sentence and its figures stand for it: a picture cannot be pasted."""
    for plot in drawn:
        yield from ("", f"### {plain(plot.title)}", "", prose(plot.says), "")
        if len(plot.head) <= 8:
            yield from table(plot.head, [[plain(cell) for cell in row] for row in plot.rows])


def _timeline(of: Postmortem) -> Iterator[str]:
    yield from ("", "## Timeline", "", "All times are UTC.", "")
    yield from table(("when", "what", "incident"), [(line.when, plain(line.what), inline(line.id)) for line in of.timeline])


def _blank(name: str) -> Iterator[str]:
    yield from ("", f"## {name}", "", f"_{dict(BLANKS)[name]}_")


def _each_class(of: Postmortem) -> Iterator[str]:
    for lane in of.lanes:
        if lane.count:
            yield from ("", f"## {lane.name}", "", f"{prose(lane.title)}. {prose(lane.meaning)}", "")
            yield from (f"- {name}: {inline(value)}" for name, value in lane.struck)
            yield from _next(lane)
            more = f" and {len(lane.ids) - IDS_SHOWN:,} more" if len(lane.ids) > IDS_SHOWN else ""
            yield from ("", f"Incidents: {', '.join(inline(name) for name in lane.ids[:IDS_SHOWN])}{more}")


def _next(lane: Lane) -> Iterator[str]:
    if lane.next:
        yield from ("", "What to do next:", "")
        yield from (f"{number}. {prose(line)}" for number, line in enumerate(lane.next, 1))


def _records(title: str, records: Sequence[Pairs] | None, nothing: str) -> Iterator[str]:
    if records is None:
        return
    yield from ("", f"## {title}", "")
    if not records:
        yield nothing
        return
    yield from table([name for name, _ in records[0]], [[plain(value) for _, value in record] for record in records])


def _epochs(of: Postmortem) -> Iterator[str]:
    yield from ("", "## Configuration epochs", "")
    if not of.epochs:
        yield "No boot was seen, so nothing can be said of the configuration."
        return
    rows = []
    for epoch in of.epochs:
        changes = "settings not observed" if not epoch.observed else ", ".join(map(inline, epoch.changes)) or "first seen"
        rows.append((epoch.name, inline(epoch.engine), epoch.when, str(epoch.boots), str(epoch.incidents), changes))
    yield from table(("epoch", "engine", "from", "boots", "incidents", "what changed"), rows)


def _limits(of: Postmortem, *, redacting: bool) -> Iterator[str]:
    yield from ("", "## What cannot be said", "")
    yield from (f"- {prose(line)}" for line in of.limits)
    if not of.limits:
        yield "- Nothing that was read limits this report: no gap, no unreadable file, no assumed clock."
    if of.redacted:
        yield f"- Taken out before this was written: {', '.join(f'{name} {count}' for name, count in of.redacted)}."
    if not redacting:
        yield "- **Written with --no-redact: it may hold secrets, prompts and addresses.**"


def _appendix(of: Postmortem) -> Iterator[str]:
    yield from ("", "## Appendix: every incident", "")
    head = ("incident", "when (UTC)", "class", "died after", "dump", "probe", "down")
    yield from table(head, [(inline(c.id), c.when, plain(c.fault_class), c.death, c.dump, c.probe, c.down) for c in of.cards])
    if len(of.cards) > IN_FULL:
        yield from ("", f"More than {IN_FULL} incidents: the evidence of each is in the page (`--format html`) and in `triage explain ID`.")
        return
    for card in of.cards:
        yield from _card(card)


def _card(card: Card) -> Iterator[str]:
    yield from ("", f"### {inline(card.id)} {plain(card.fault_class)}, {card.when}", "")
    yield from (f"- {name}: {prose(value)}" for name, value in (*card.facts, *((f"fork {fork}", answer) for fork, answer in card.forks), *card.notes))
    if card.evidence:
        yield from ("", *fenced([line for cited in card.evidence for line in _cited(cited)]))


def _cited(line: Cited) -> tuple[str, str]:
    return f"{line.role}  {line.where} [{line.rule}]", f"    {line.text}"
