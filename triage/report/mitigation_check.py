"""What `triage mitigation check` prints: three questions with their answers, each with the lines that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from triage.ledger.answers import Answer, Case
from triage.model import Event
from triage.report.fitting import columns, wrapped
from triage.report.numbers import numbered_lines
from triage.report.redact import redacted
from triage.report.words import clean, number, where

SCHEMA = "triage/mitigation-check/1"
LINE_WIDTH = 160
SHOWN_AFTER = 60  # characters from where an answer is about a line
MARKS = {"holds": "HOLDS", "fails": "FAILS", "cannot be observed": "CANNOT BE OBSERVED"}


def check_text(case: Case, answers: Sequence[Answer], *, rests: str = "") -> str:
    """The answers as text, as wide as the terminal. `rests`: what the whole is based on, in a few words."""
    lines = _numbered(answers)
    return "\n".join(wrapped(line, columns()) for line in _text(case, answers, lines, rests))


def check_document(case: Case, answers: Sequence[Answer]) -> dict[str, Any]:
    """The answers as a JSON document."""
    lines = _numbered(answers)
    entry = case.entry
    return {
        "schema": SCHEMA,
        "name": entry.name,
        "class": entry.fault_class,
        "changes": [redacted(change) for change in entry.changes],
        "boots": len(case.boots),
        "incidents": [fault.verdict.incident.id for fault in case.faults],
        "answers": [_answer(answer, lines) for answer in answers],
    }


def _answer(answer: Answer, lines: Mapping[int, Event]) -> dict[str, Any]:
    cited = [lines[id(line)] for line in answer.lines]
    return {
        "question": answer.question,
        "verdict": answer.verdict,
        "says": [redacted(clean(sentence)) for sentence in answer.says],
        "lines": [
            {"file": e.place.file, "line": e.place.line or None, "text": redacted(clean(e.text)), "frames": list(e.frames)} for e in cited
        ],
    }


def _text(case: Case, answers: Sequence[Answer], lines: Mapping[int, Event], rests: str) -> Iterator[str]:
    entry = case.entry
    yield clean(f"{entry.name}: {redacted('; '.join(entry.changes))}, against {entry.fault_class}")
    yield f"  {number(len(case.boots), 'boot')}, {number(len(case.faults), 'incident')} of {entry.fault_class}{rests}"
    for place, answer in enumerate(answers, 1):
        yield ""
        yield f"{place}. {answer.question}"
        first, *more = answer.says
        yield f"  {MARKS[answer.verdict]}: {clean(redacted(first))}"
        yield from (f"  - {clean(redacted(sentence))}" for sentence in more)
        for line in answer.lines:
            yield from _cited(lines[id(line)], answer.about)


def _cited(event: Event, about: Sequence[str]) -> Iterator[str]:
    rank = f" (rank {event.rank})" if event.rank is not None else ""
    yield f"    {where(event.place) if event.place.line else clean(event.place.file)}{rank}"
    yield f"      {_excerpt(event, about, columns() - 6)}"
    yield from (f"      at {clean(_short(frame))}" for frame in event.frames)


def _excerpt(event: Event, about: Sequence[str], width: int) -> str:
    """One line of the log in one line of the answer: its beginning, or the part that the answer is about; of a step only its figures."""
    text = clean(redacted(event.text.strip()))
    if event.kind == "step":
        told = [f"{name} {value}" for name, value in event.data.items() if name in ("tokens", "chunk", "requests", "step")]
        return clean(f"{text} {', '.join(told)}", max(LINE_WIDTH, width))
    found = next((at for word in about if (at := text.find(word)) >= 0), -1)
    if len(text) <= width or found + SHOWN_AFTER <= width:
        return clean(text, width)
    start = max(0, min(found - 2, len(text) - width + 2))
    return clean("… " + text[start:], width)


def _short(frame: str) -> str:
    """A frame without the folder that packages are installed in."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in frame:
            return "…/" + frame.partition(folder)[2]
    return frame


def _numbered(answers: Sequence[Answer]) -> dict[int, Event]:
    every = [line for answer in answers for line in answer.lines]
    return {id(line): numbered for line, numbered in zip(every, numbered_lines(every), strict=True)}
