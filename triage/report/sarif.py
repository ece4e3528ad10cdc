"""Findings as SARIF 2.1.0 (OASIS), so that code-scanning pages and editors show each incident at its root line."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from triage.knowledge.load import Knowledge
from triage.model import Event, Findings, Verdict
from triage.report import words
from triage.report.inert import as_json
from triage.report.postmortem.say import Say

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RELATED_SHOWN = 8


def as_sarif(findings: Findings, known: Knowledge, say: Say, *, version: str = "") -> str:
    """One run; one result an incident: faults are errors, what is no fault is a note. What could not be read is a notification."""
    say.meet(findings)
    classes = sorted({v.fault_class for v in findings.verdicts})
    driver = {"name": "triage", "version": version or "0", "rules": [_rule(name, known) for name in classes]}
    told = [_notification(p, say) for p in findings.problems]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not findings.partial, "toolExecutionNotifications": told}],
        "results": [_result(v, classes, say) for v in findings.verdicts],
    }
    return as_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, known: Knowledge) -> dict[str, Any]:
    rule = known.classes.get(name)
    if rule is None:
        return {"id": name, "shortDescription": {"text": "Something died or stopped answering and the evidence does not say why"}}
    return {
        "id": name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": " ".join(rule.meaning.split())},
        "help": {"text": "\n".join(rule.next) or rule.title},
        "defaultConfiguration": {"level": "error" if rule.fault else "note"},
    }


def _result(verdict: Verdict, classes: list[str], say: Say) -> dict[str, Any]:
    cited = verdict.root or (verdict.best_lines[0] if verdict.best_lines else None)
    return {
        "ruleId": verdict.fault_class,
        "ruleIndex": classes.index(verdict.fault_class),
        "level": "error" if verdict.fault else "note",
        "message": {"text": message(verdict, say)},
        "locations": [_location(cited, say)] if cited is not None else [],
        "relatedLocations": [{"id": n, **_location(event, say)} for n, event in enumerate(verdict.consequences[:RELATED_SHOWN], 1)],
        "partialFingerprints": {"triageIncident/v1": verdict.incident.id},
    }


def message(verdict: Verdict, say: Say) -> str:
    """One incident in a sentence: class, when, how long it took to die, dump, first probe, and the line that says why."""
    of = verdict.incident
    parts = [f"{verdict.fault_class} at {words.full(of.onset or of.dead)}"]
    parts += [f"died after {words.span(of.time_to_death)}"] if of.time_to_death else []
    parts += [f"dump {of.dump_state}"] + ([f"first failing probe {words.outage_words(of.outage)}"] if of.outage else [])
    told = f"{', '.join(parts)} (incident {of.id})."
    if verdict.root:
        return f"{told} {say(verdict.root.text)}"
    model = words.by_model(verdict)
    return f"{told} The class was {model}: no line proves it." if model else f"{told} Nothing that was read says why."


def _location(event: Event, say: Say) -> dict[str, Any]:
    region = {"region": {"startLine": event.place.line, "snippet": {"text": say(event.text)}}} if event.place.line else {}
    file = quote(say(event.place.file, 1000).lstrip("/"), safe="/._-~")
    return {"physicalLocation": {"artifactLocation": {"uri": file}, **region}, "message": {"text": say(f"{event.rule}: {event.text}")}}


def _notification(problem: Any, say: Say) -> dict[str, Any]:
    return {"level": "error" if problem.lost else "note", "message": {"text": say.about(f"{problem.file}: {problem.what}")}}
