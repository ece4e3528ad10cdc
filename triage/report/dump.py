"""What `triage dump` prints of one hang: a sentence, the suspects, the groups that are stuck; as text, Markdown or `triage-dump/1`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from triage.model import Suspect
from triage.parsers.flight_recorder.records import RankDumps
from triage.report import words
from triage.report.fitting import text_columns
from triage.verdict.dumps import Findings
from triage.verdict.dumps.records import NO_RANK, StuckGroup
from triage.verdict.dumps.words import ranks, spans

SCHEMA = "triage-dump/1"
GROUPS_SHOWN = 6
PROBLEMS_SHOWN = 12
SUSPECTS_SHOWN = 12
STRENGTHS = {"proven": "proven", "likely": "likely", "cannot-tell": "cannot tell"}


def document(dumps: RankDumps, found: Findings) -> dict[str, Any]:
    """The hang as JSON values: the keys of `triage-dump/1`, and beside them where it lies, since when, and notes."""
    return {
        "directory": dumps.directory,
        "version": versions(dumps),
        "since": words.iso(started / 1e9) if (started := since(found)) else None,
        "timeout": timeout(found),
        "ranks": {
            "present": list(found.ranks),
            "missing": list(found.missing),
            "empty": list(found.empty),
            "unreadable": [{"file": p.file, "why": p.what} for p in dumps.unreadable],
        },
        "groups": [_group(group) for group in found.groups],
        "suspects": [_suspect(suspect) for suspect in found.suspects],
        "notes": list(found.notes),
    }


def _group(group: StuckGroup) -> dict[str, Any]:
    return {
        "name": group.name,
        "members": list(group.members),
        "operation": group.operation,
        "sequence": group.sequence,
        "size": group.size,
        "waiting": list(group.waiting),
        "missing": list(group.missing),
        "since": words.iso(group.created / 1e9) if group.created else None,
    }


def _suspect(suspect: Suspect) -> dict[str, Any]:
    rank = None if suspect.rank == NO_RANK else suspect.rank
    return {"rank": rank, "strength": suspect.strength, "reason": suspect.reason, "evidence": list(suspect.evidence)}


def text(dumps: RankDumps, found: Findings, *, style: str = "simple", more: Sequence[str] = ()) -> str:
    """The hang for people; `style` is a tabulate format (`simple`, `github`), `more` are parts that the caller adds before the notes."""
    parts = [verdict(found) if style == "github" else _wrapped(verdict(found), "  "), "", *_lines(facts(dumps, found), style)]
    if found.suspects:
        parts += ["", *_suspects(found.suspects, style)]
    if found.groups:
        parts += ["", _groups(found.groups, style)]
    parts += [line for part in more for line in ("", part)]
    if below := list(_below(dumps, found)):
        parts += ["", *(line for note in below for line in _lines(note, style, bullet=True))]
    return "\n".join(parts)


def verdict(found: Findings) -> str:
    """The answer in one sentence."""
    named = [s for s in found.suspects if s.strength != "cannot-tell"]
    if not found.ranks:
        return "No dump could be read."
    if named:
        proven = all(s.strength == "proven" for s in named)
        who = ranks(s.rank for s in named).capitalize()
        who = who if " and " in who else " and ".join(who.rsplit(", ", 1))
        return f"{who} held up the others ({'proven' if proven else 'likely'})."
    return "Who did it cannot be told from these dumps." if found.suspects else "No rank is stuck, and none differs from the others."


def facts(dumps: RankDumps, found: Findings) -> str:
    """What was read: ranks, versions, since when."""
    total = len({*found.ranks, *found.missing})
    library = " ".join(sorted({r.library for r in dumps.recordings if r.library}))
    told = [f"{words.clean(dumps.directory)}: {len(found.ranks)} of {total} ranks", f"recorder {versions(dumps) or '-'}"]
    if library:
        told.append(f"communication library {words.clean(library, 40)}")
    if started := since(found):
        told.append(f"waiting since {words.iso(started / 1e9)[:19].replace('T', ' ')} UTC")
    if limit := timeout(found):
        told.append(f"timeout {words.length(limit)}")
    return ", ".join(told)


def versions(dumps: RankDumps) -> str:
    """Versions of the recorders, `2.9` or `2.9, 2.10`."""
    return ", ".join(f"{major}.{minor}" for major, minor in sorted({r.version for r in dumps.recordings}))


def since(found: Findings) -> int:
    """When the first of the stuck operations was enqueued, in ns since the epoch; 0 where that is not known."""
    return min((group.created for group in found.groups if group.created), default=0)


def timeout(found: Findings) -> float | None:
    """The shortest timeout of the stuck operations, in seconds."""
    told = [group.timeout_ms for group in found.groups if group.timeout_ms]
    return min(told) / 1000 if told else None


def _suspects(suspects: Sequence[Suspect], style: str) -> Iterable[str]:
    """One paragraph a suspect: rank, strength, reason, and its evidence below."""
    for suspect in suspects[:SUSPECTS_SHOWN]:
        who = "no rank" if suspect.rank == NO_RANK else f"rank {suspect.rank}"
        head = f"{who} ({STRENGTHS[suspect.strength]}): {words.clean(suspect.reason)}"
        yield from _lines(f"**{who}**{head[len(who) :]}" if style == "github" else head, style)
        for line in suspect.evidence:
            yield f"- {_cell(line, style)}" if style == "github" else _wrapped(f"  - {words.clean(line)}", "    ")
    if len(suspects) > SUSPECTS_SHOWN:
        yield f"... and {words.number(len(suspects) - SUSPECTS_SHOWN, 'more suspect')} (--format json has all)"


def _groups(groups: Sequence[StuckGroup], style: str) -> str:
    from tabulate import tabulate

    room = text_columns() - 16  # beside the sequence numbers and the gaps
    limits = None if style == "github" else [room * 30 // 100, room * 33 // 100, None, room * 18 // 100, room * 18 // 100]
    rows = [(g.name, f"{g.operation or '?'} {g.size}".strip(), str(g.sequence), spans(g.waiting), spans(g.missing) or "-") for g in groups]
    cells = [[_cell(cell, style) for cell in row] for row in rows[:GROUPS_SHOWN]]
    headings = ("group", "operation", "seq", "waiting", "missing")
    table = tabulate(cells, headings, tablefmt=style, disable_numparse=True, maxcolwidths=limits, colalign=("left", "left", "right", "left", "left"))
    hidden = len(groups) - GROUPS_SHOWN
    return table + (f"\n\n... and {words.number(hidden, 'more place')} where ranks wait (--format json has all)" if hidden > 0 else "")


def _below(dumps: RankDumps, found: Findings) -> Iterable[str]:
    """What limits the answer: empty recorders, notes, and files that could not be read."""
    if found.empty:
        yield f"nothing recorded by {ranks(found.empty)}"
    yield from found.notes
    for problem in dumps.unreadable[:PROBLEMS_SHOWN]:
        yield f"{problem.file}: {problem.what}"
    if len(dumps.unreadable) > PROBLEMS_SHOWN:
        yield f"... and {words.number(len(dumps.unreadable) - PROBLEMS_SHOWN, 'more file')} with problems"


def _cell(value: str, style: str) -> str:
    shown = words.clean(value)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|") if style == "github" else shown


def _lines(value: str, style: str, *, bullet: bool = False) -> list[str]:
    if style == "github":
        return [("- " if bullet else "") + _cell(value, style), *([] if bullet else [""])]
    return [_wrapped(words.clean(value), "  ")]


def _wrapped(value: str, indent: str) -> str:
    return textwrap.fill(value, text_columns(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)

