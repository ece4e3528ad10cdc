"""What stands in a bundle: for each incident its verdict, excerpts, boot and dumps; a draft of an issue; and a page that says what is what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import orjson

from triage.knowledge.load import Knowledge
from triage.model import Event, Findings, Instant, Place, Verdict
from triage.report import document, words
from triage.report.bundle import excerpts, ranks
from triage.report.bundle.excerpts import Shown, Window
from triage.report.bundle.issue import drafts
from triage.report.bundle.manifest import SCHEMA, Manifest, with_manifest
from triage.report.bundle.told import Teller
from triage.report.redact import Redactor

AROUND_PROBES = 3  # lines before and after a failed probe
MOST_PROBES = 200  # failed probes of an outage that are shown with their lines
MOST_BOOT_LINES = 400
README = """This is the evidence of {incidents}, packed by triage {version} with the rules {rules}.

issue.md                     a draft of an issue, to be read and completed by a person
incidents/ID/incident.json   the verdict: class, forks, root, consequences, times (schema triage/1)
incidents/ID/excerpt-N.log   lines of a log around those that are cited (marked >), with their numbers
incidents/ID/boot.json       what the engine told at boot, and what was captured of its environment
incidents/ID/boot.log        the lines that it told it in
incidents/ID/dump/           what the ranks' flight recorders held, as JSON: `triage dump DIR` reads it
manifest.json                the SHA-256 of each file, and what was taken out

{redaction}
`triage bundle verify FILE` says whether anything was changed since; it does not say who packed it.
"""
REDACTED = """Keys, tokens, prompts and token ids were taken out (<secret>, …). People, hosts and addresses have names that stand for
them (USER1, HOST1, IP1): the same one everywhere in here. What no rule knows as private is still in it: read it before you send it.
"""
UNREDACTED = "Nothing was taken out: it was packed with --no-redact. Do not send it to anyone who may not read the logs themselves.\n"
Files = dict[str, bytes]


class Part(NamedTuple):
    """What is shown of one file, and whether lines around the cited ones could be read."""

    lines: list[Shown]
    around: bool


def contents(
    findings: Findings,
    chosen: Sequence[Verdict],
    knowledge: Knowledge,
    redactor: Redactor,
    *,
    version: str,
    captured: Mapping[str, Mapping[str, str]] | None = None,
    fresh: bool = True,
    rank_from: str | None = None,
) -> tuple[Files, Manifest]:
    """The files of a bundle of the incidents `chosen` among `findings`, with their manifest, which is one of the files.

    `captured` has what `triage boots capture` kept of a boot, by its id. `fresh`: the logs were read just now; where they were not, a file
    is shown only as far as the lines that are cited still stand in their places.
    """
    notes: list[str] = []
    chosen = sorted(chosen, key=_in_time)
    shown = _excerpts(chosen, fresh)
    tell = Teller(redactor, findings)
    redactor.meet(line.text for parts in shown.values() for part in parts.values() for line in part.lines if not line.unseen)
    settings = _settings(chosen, captured or {}, redactor)
    files: Files = {}
    for verdict in chosen:
        made = {**_of_incident(verdict, findings, tell), **_of_excerpts(shown[verdict.incident.id], verdict, tell, notes)}
        made |= {**_of_boot(verdict, settings, tell), **ranks.rewritten(verdict, tell, notes, rank_from)}
        files |= {f"incidents/{verdict.incident.id}/{name}": content for name, content in made.items()}
    files["issue.md"] = drafts(chosen, knowledge, tell, settings, findings.verdicts).encode()
    redaction = REDACTED if redactor.on else UNREDACTED
    told = words.number(len(chosen), "incident")
    files["README.txt"] = README.format(incidents=told, version=version, rules=findings.rules or "?", redaction=redaction).encode()
    manifest = Manifest(
        schema=SCHEMA, triage=version, rules=findings.rules, redacted=redactor.on, taken_out=dict(sorted(redactor.counts.items())),
        incidents=tuple(_listed(verdict) for verdict in chosen), notes=tuple(dict.fromkeys(notes)),
    )  # fmt: skip
    return with_manifest(files, manifest), manifest


def _in_time(verdict: Verdict) -> tuple[float, str]:
    """By time, so that a bundle does not depend on the order in which incidents were named."""
    at = verdict.incident.onset or verdict.incident.dead
    return (at.earliest if at else float("inf"), verdict.incident.id)


def _listed(verdict: Verdict) -> dict[str, Any]:
    at = verdict.incident.onset or verdict.incident.dead
    return {"id": verdict.incident.id, "class": verdict.fault_class, "onset": document.instant(at)}


def _of_incident(verdict: Verdict, findings: Findings, tell: Teller) -> Files:
    joined = [document.hint(hint) for hint in findings.hints if verdict.incident.id in hint.incidents]
    return {"incident.json": _json(tell.document({"schema": document.SCHEMA, **document.incident(verdict), "in_common": joined}))}


def _excerpts(chosen: Sequence[Verdict], fresh: bool) -> dict[str, dict[str, Part]]:
    """By incident and file, the lines around what is cited; each file is read once for all incidents."""
    wanted: dict[str, set[int]] = defaultdict(set)
    for verdict in chosen:
        for place in (*(event.place for event in _cited(verdict)), *_probed(verdict, fresh)):
            wanted[place.file].add(place.offset)
    seen = {file: excerpts.windows(file, offsets) for file, offsets in wanted.items()}
    return {verdict.incident.id: _parts(verdict, seen, fresh) for verdict in chosen}


def _cited(verdict: Verdict) -> list[Event]:
    told = (verdict.root, verdict.facts.step_line, *verdict.consequences, *verdict.best_lines)
    return [event for event in told if event is not None]


def _probed(verdict: Verdict, fresh: bool) -> Sequence[Place]:
    """Where the failed probes stand; a probe's line cannot be held against what was recorded of it, so only in logs that were just read."""
    return verdict.incident.outage.places[:MOST_PROBES] if verdict.incident.outage and fresh else ()


def _parts(verdict: Verdict, seen: Mapping[str, Mapping[int, Window]], fresh: bool) -> dict[str, Part]:
    cited: dict[str, list[Event]] = defaultdict(list)
    for event in _cited(verdict):
        cited[event.place.file].append(event)
    parts = {file: _part(events, seen[file]) for file, events in cited.items()}
    probed: dict[str, list[Window]] = defaultdict(list)
    for place in _probed(verdict, fresh):
        if place.offset in seen[place.file] and place.file not in parts:
            probed[place.file].append(seen[place.file][place.offset].narrowed(AROUND_PROBES))
    return {**parts, **{file: Part(excerpts.merged(found), True) for file, found in probed.items()}}


def _part(events: Sequence[Event], seen: Mapping[int, Window]) -> Part:
    """The lines around those events that stand where they were found, for a log may have been rotated since; of others their own lines."""
    there = {e.place.offset for e in events if e.place.offset in seen and seen[e.place.offset].cited.text.startswith(e.text)}
    gone = [event for event in events if event.place.offset not in there]
    lines = excerpts.merged(seen[offset] for offset in sorted(there)) + _kept(gone)
    lost = any(event.origin != "flight_recorder" for event in gone)  # what dumps say stands in no line
    return Part(sorted(lines, key=lambda line: (line.number, line.offset)), not lost)


def _kept(events: Iterable[Event]) -> list[Shown]:
    once = {(event.place.offset, event.text): event for event in events}
    ordered = sorted(once.values(), key=lambda event: event.place.offset)
    return [Shown(event.place.line, _stamp(event.at), event.text, True, event.place.offset) for event in ordered]


def _stamp(at: Instant | None) -> str:
    return words.iso(at.earliest) if at else ""


def _of_excerpts(parts: Mapping[str, Part], verdict: Verdict, tell: Teller, notes: list[str]) -> Files:
    made: Files = {}
    for number, (file, part) in enumerate(parts.items(), 1):
        unseen = {at for at, line in enumerate(part.lines) if line.unseen}
        redacted = tell.redactor.lines([line.text for line in part.lines], unseen=unseen)
        shown = [msgspec.structs.replace(line, text=text) for line, text in zip(part.lines, redacted, strict=True)]
        if not part.around:
            gone = "some cited lines are here without those around them, which are not there any more"
            notes.append(f"{verdict.incident.id}: of {tell.path(file)} {gone}")
        made[f"excerpt-{number}.log"] = f"# {tell.path(file)}\n{excerpts.written(shown)}".encode()
    return made


def _settings(chosen: Iterable[Verdict], captured: Mapping[str, Mapping[str, str]], redactor: Redactor) -> dict[str, dict[str, str]]:
    """The configuration of each boot by its id, redacted: what was captured, and over it what its own lines say."""
    boots = {verdict.incident.boot.id: verdict.incident.boot for verdict in chosen if verdict.incident.boot}
    return {name: redactor.settings({**captured.get(name, {}), **boot.config}) for name, boot in boots.items()}


def _of_boot(verdict: Verdict, settings: Mapping[str, Mapping[str, str]], tell: Teller) -> Files:
    boot = verdict.incident.boot
    if boot is None:
        return {}
    told = {**tell.document(document.boot(boot)), "config": dict(sorted(settings[boot.id].items()))}
    return {"boot.json": _json(told), "boot.log": "".join(f"{line}\n" for line in _boot_lines(boot.events, tell)).encode()}


def _boot_lines(events: Iterable[Event], tell: Teller) -> Iterator[str]:
    """The lines that tell of the configuration, each text once, however many ranks say it."""
    first: dict[str, Event] = {}
    for event in events:
        if event.kind in ("boot", "config", "recorder", "milestone", "ready") and len(first) < MOST_BOOT_LINES:
            first.setdefault(event.text, event)
    redacted = tell.redactor.lines(list(first))
    yield from (f"{_stamp(event.at) or '-'} {text}" for event, text in zip(first.values(), redacted, strict=True))


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
