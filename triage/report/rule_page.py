"""The page of a class or of one rule, in Markdown, always under the same headings; and the index of all classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from triage.knowledge.load import Knowledge
from triage.knowledge.schema import FaultClass
from triage.report.catalogue import KIND_WORDS, SYMBOL_WORDS, Entry, entries, when_words
from triage.report.words import clean, number

HEADINGS = (
    "What it means",
    "What decides",
    "Not to be confused with",
    "Signatures",
    "Safety",
    "What to do next",
    "References",
    "Samples and near misses",
)
NOTHING = "Nothing is said of this."
_BLANKS = re.compile(r"\n{3,}")


def class_page(fault: FaultClass, knowledge: Knowledge) -> str:
    """The page of a class, the Xids that belong to it among its signatures."""
    listed = [entry for entry in entries(knowledge) if entry.group == fault.id]
    return _page(
        f"{fault.id}: {fault.title}",
        [f"Family `{fault.family}`. " + ("A fault." if fault.fault else "Not a fault: nothing is broken.")],
        _sections(listed, meaning=fault.meaning, decides=fault.decides, fault=fault),
    )


def rule_page(entry: Entry, knowledge: Knowledge) -> str:
    """The page of one rule; what its class says stands on it, too."""
    fault = knowledge.classes.get(entry.group)
    word = SYMBOL_WORDS.get(entry.kind) if entry.group == "probes" else KIND_WORDS.get(entry.kind)
    decides = f"The rule is of kind `{entry.kind}`: a line that it matches {word}."
    if entry.group == "probes":
        decides = f"The first text that matches decides; this one gives the symbol `{entry.kind}`: {word}."
    of = f"Of the class `{fault.id}`: {fault.title}." if fault else f"Of `{entry.group}`: it belongs to no class."
    meaning = f"{_sentence(entry.summary)} {entry.meaning}".strip()
    return _page(f"{entry.id}: {entry.summary}", [of], _sections([entry], meaning=meaning, decides=decides, fault=fault))


def index_page(knowledge: Knowledge) -> str:
    """The index of all classes, family by family, with a link to each page."""
    families = sorted({fault.family for fault in knowledge.classes.values()}, key=lambda family: (family == "-", family))
    lines = ["# The classes", ""]
    lines += ["One page a class, written from `rules/` by `make docs`; `triage rules show CLASS` prints the same.", ""]
    lines += ["| class | family | what it is | signatures |", "|---|---|---|---|"]
    for family in families:
        for fault in sorted((f for f in knowledge.classes.values() if f.family == family), key=lambda f: f.id):
            lines.append(f"| [`{fault.id}`]({fault.id}.md) | {fault.family} | {_cell(fault.title)} | {len(fault.signatures)} |")
    beside = {
        "rule": "for echoes of a fault and the noise of ending",
        "line": "of engines' lives",
        "probe text": "of probing clients",
        "Xid number": "of the kernel's",
    }
    life = sum(len(engine.lines) for engine in knowledge.engines.values())
    counts = (len(knowledge.echoes), life, len(knowledge.probes.texts), len(knowledge.xids.xids))
    told = ", ".join(f"{number(count, noun)} {of}" for count, (noun, of) in zip(counts, beside.items(), strict=True))
    lines += ["", f"Beside them, of no class: {told}. `triage rules list` has them all."]
    return "\n".join(lines) + "\n"


def _page(title: str, under: Sequence[str], sections: Sequence[Iterable[str]]) -> str:
    lines = [f"# {title}", "", *under]
    for heading, section in zip(HEADINGS, sections, strict=True):
        lines += ["", f"## {heading}", "", *(list(section) or [NOTHING])]
    return _BLANKS.sub("\n\n", "\n".join(_shown(line) for line in lines)).rstrip("\n") + "\n"


def _shown(text: str) -> str:
    return "\n".join(clean(line) for line in text.split("\n")).rstrip()


def _sections(listed: Sequence[Entry], *, meaning: str, decides: str, fault: FaultClass | None) -> list[Iterable[str]]:
    return [
        [_paragraph(meaning)],
        [_paragraph(decides)],
        [f"- {line}" for line in fault.not_to_be_confused_with] if fault else [],
        _signatures(listed),
        [f"- `{entry.id}`: {_paragraph(entry.safety)}" for entry in listed if entry.safety],
        [f"{count}. {line}" for count, line in enumerate(fault.next, 1)] if fault else [],
        [f"- <{link}>" for link in fault.references] if fault else [],
        _samples(listed),
    ]


def _signatures(listed: Sequence[Entry]) -> Iterator[str]:
    for entry in listed:
        if len(listed) > 1:
            yield f"### {entry.id}"
            yield ""
        yield " ".join((_sentence(entry.summary), *([entry.meaning] if entry.meaning else []), *_facts(entry)))
        if entry.pattern:
            yield from ("", *_fenced([entry.pattern]), "")


def _facts(entry: Entry) -> Iterator[str]:
    yield f"Kind `{entry.kind}`{''.join(f', {mark}' for mark in entry.marks)}; looked for in {' and '.join(entry.sources)} logs."
    if when_words(entry.when):
        yield f"Counts only {when_words(entry.when)}."
    if entry.explains:
        yield f"Explains {_explained(entry.explains)}."


def _explained(names: Sequence[str]) -> str:
    """What follows from a root; beside the star stands what may also come shortly before it."""
    listed = ", ".join(f"`{name}`" for name in names if name != "*")
    if "*" not in names:
        return f"{listed} that comes after it"
    return "everything that comes after it" + (f", and {listed} of the same process that comes shortly before it" if listed else "")


def _samples(listed: Sequence[Entry]) -> Iterator[str]:
    for entry in (entry for entry in listed if entry.samples or entry.near_misses):
        if len(listed) > 1:
            yield f"### {entry.id}"
            yield ""
        yield "Matches:"
        yield from ("", *_fenced(entry.samples), "", "Does not match:", "", *_fenced(entry.near_misses), "")


def _fenced(lines: Sequence[str]) -> list[str]:
    fence = "````" if any("```" in line for line in lines) else "```"
    return [f"{fence}text", *lines, fence]


def _sentence(text: str) -> str:
    """A summary as a sentence: the first letter large, a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _paragraph(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
