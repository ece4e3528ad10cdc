"""Drafts a rule file for a cluster of unknown incidents: pattern from the mask, a sample, and a near miss from the healthy part of the log."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import orjson

from triage.model import Event
from triage.report import words
from triage.report.redact import Redactor
from triage.verdict.best_lines import message
from triage.verdict.normalise import MASK_VERSION, masked, pattern_for
from triage.verdict.normalise import words as words_of
from triage.verdict.unknown import Cluster

LONGEST_NAME = 48
LONGEST_TITLE = 100
LONGEST_SAMPLE = 600
HEALTHY_KINDS = ("ready", "milestone", "progress")  # lines of a boot that never hold a key, unlike those that list its arguments
_REDACTED = re.compile(r"<secret>|…|\b(?:HOST|USER|EMAIL|MAC)\d+\b")
_ADDRESS = re.compile(r"\bIP\d+\b")
_COMMON = frozenset({"error", "exception", "runtimeerror", "the", "for", "and", "was", "with", "num", "str"})


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A rule file for one cluster: its class, its text, and the file that holds it; or why there is none."""

    name: str = ""
    text: str = ""
    file: str = ""
    refused: str = ""


def drafts(clusters: Sequence[Cluster], redactor: Redactor | None = None) -> list[Draft]:
    """One draft for each cluster, in their order; no two have one name. A `redactor` that knows the findings also knows their hosts and users."""
    redactor = redactor or Redactor()
    taken: set[str] = set()
    made = []
    for cluster in clusters:
        draft = _draft(cluster, clusters, taken, redactor)
        taken.add(draft.name)
        made.append(draft)
    return made


def write(made: Iterable[Draft], folder: Path) -> list[Draft]:
    """Writes `faults/<class>.toml` for each draft that has a text; a file that is there already is kept. Raises OSError."""
    out = []
    for draft in made:
        file = folder / "faults" / f"{draft.name}.toml"
        if not draft.text:
            out.append(draft)
        elif file.exists():
            out.append(msgspec.structs.replace(draft, refused=f"{file} is there already and was kept"))
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(draft.text, encoding="utf-8")
            out.append(msgspec.structs.replace(draft, file=str(file)))
    return out


def _draft(cluster: Cluster, every: Iterable[Cluster], taken: set[str], redactor: Redactor) -> Draft:
    line = cluster.example
    if line is None:
        return Draft(refused="no line was found to make a rule of")
    if line.kind != "trouble":
        return Draft(refused=f"its only line is known: {line.rule} says that something died, not why")
    if line.data.get("known"):
        known = line.data["known"]
        return Draft(refused=f"{known} knows the line; `triage explain ID --why-not {known.partition('/')[0]}` says why it did not count")
    pattern = _pattern(message(line), redactor)
    if not pattern:
        return Draft(refused="too little of the line is fixed text")
    if any(re.search(pattern, message(quiet)) for of in every for verdict in of.members for quiet in verdict.quiet_lines):
        return Draft(refused="such a line also stands where the engine went on, so it is not the cause")
    sample = _sample(line, pattern, redactor)
    if not re.search(pattern, sample):
        return Draft(refused="what tells of it is a user's words or a secret")
    name = _name(masked(_shown(message(line), redactor)), taken)
    return Draft(name=name, text=_text(cluster, name, pattern, sample, redactor))


def _pattern(text: str, redactor: Redactor) -> str:
    """A pattern that `text` itself matches and that holds nothing redacted: of all of it, or of the longest part between what was redacted."""
    shown = _shown(text, redactor)
    parts = sorted(_REDACTED.split(shown), key=len, reverse=True)
    return next((pattern for part in (shown, *parts) if (pattern := pattern_for(part)) and re.search(pattern, text)), "")


def _name(mask: str, taken: set[str]) -> str:
    """`draft-` and the first telling words of a line."""
    said = re.findall(r"[a-z]{3,}", re.sub(r"<\w+>", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", mask)).lower())
    name = "draft"
    for word in [w for w in said if w not in _COMMON] or said or ["line"]:
        if len(name) + len(word) + 1 > LONGEST_NAME or name.count("-") == 4:
            break
        name += f"-{word}"
    return next(free for free in (name, *(f"{name}-{n}" for n in range(2, 10_000))) if free not in taken)


def _text(cluster: Cluster, name: str, pattern: str, sample: str, redactor: Redactor) -> str:
    near, whence = _near_miss(cluster, pattern, sample, redactor)
    count = words.number(len(cluster.members), "incident")
    days = list(dict.fromkeys(words.minute(at.earliest)[:10] for at in (cluster.first, cluster.last) if at))
    when = " to ".join(days) or "at unknown times"
    family = cluster.family if cluster.family != "-" else "boot" if _all_at_boot(cluster) else "-"
    values = {
        "class": name,
        "family": family,
        "title": _shown(cluster.mask, redactor)[:LONGEST_TITLE],
        "meaning": f"Drafted from {count} that no rule named ({when}). Say here what happened, once you know.",
        "decides": "Of the lines that look like trouble this one says most, nearest to the end. Whether it is the cause nobody has checked.",
    }
    head = "\n".join(f"{key} = {_quoted(value)}" for key, value in values.items())
    return f"""# Drafted by `triage unknown` (masks of version {MASK_VERSION}). Read it before you trust it, then: triage rules check DIR
{head}
not_to_be_confused_with = ["an echo of an earlier fault: read what stands above the line, on every rank"]
next = ["Read the lines around it: triage explain {cluster.members[0].incident.id} PATH"]

[[signature]]
id = {_quoted(f"{name}/line")}
role = "root"
summary = "the line that these incidents have in common"
pattern = {_quoted(pattern)}
samples = [
  {_quoted(sample)},
]
near_misses = [
  {_quoted(near)},  # {whence}
]
"""


def _sample(line: Event, pattern: str, redactor: Redactor) -> str:
    """The real line, redacted, cut behind what the pattern needs."""
    text = _shown(line.text, redactor)
    found = re.search(pattern, text)
    return words.clean(text[: max(found.end(), LONGEST_SAMPLE)] if found else text)


def _near_miss(cluster: Cluster, pattern: str, sample: str, redactor: Redactor) -> tuple[str, str]:
    """The line most like the sample that the pattern does not match and from which the engine went on, and where it was taken from."""
    wanted = words_of(masked(sample))
    lines = {words.clean(_shown(e.text, redactor))[:LONGEST_SAMPLE]: e for e in _healthy(cluster)}
    lines = {text: event for text, event in lines.items() if text.strip() and not re.search(pattern, text)}
    if lines:
        best = max(sorted(lines), key=lambda text: len(wanted & words_of(masked(text))))
        return best, f"from the healthy part of {redactor.text(Path(lines[best].place.file).name)}"
    found = re.search(pattern, sample)
    middle = (found.start() + found.end()) // 2 if found else len(sample) // 2
    return sample[:middle].rstrip(), "the sample cut short: no line of a healthy part was kept"


def _healthy(cluster: Cluster) -> Iterator[Event]:
    for verdict in cluster.members:
        yield from verdict.quiet_lines
    for verdict in cluster.members:
        boot = verdict.incident.boot
        yield from (e for e in boot.events if e.kind in HEALTHY_KINDS) if boot else ()


def _all_at_boot(cluster: Cluster) -> bool:
    return all(v.incident.boot is not None and not any(e.serves for e in v.incident.boot.events) for v in cluster.members)


def _quoted(text: str) -> str:
    """`text` as a string in TOML: literal where it has backslashes or quotes, for people read it; else with the escapes JSON shares with it."""
    literal = text.isprintable() and ("\\" in text or '"' in text) and "'''" not in text and not text.endswith("'")
    return f"'''{text}'''" if literal else orjson.dumps(text).decode()


def _shown(text: str, redactor: Redactor) -> str:
    """`text` redacted, its addresses no one's but still addresses, so that a pattern for it also finds the real ones."""
    return _ADDRESS.sub("0.0.0.0", redactor.text(text))
